// The data of one bandit, kept up to date while the bandit is shown.

/** @import { Bandit, Decision, History, Lift, LogEvent, Verdict } from "../types" */
/** @import { Connection } from "./watch.js" */

import * as api from "./api.js";
import { useEffect, useMemo, useReducer } from "./html.js";
import { watch } from "./watch.js";

export const DECISIONS_PER_PAGE = 30;
const HISTORY_POINTS = 200;
// Beliefs that count outcomes, which a verdict needs. It also needs an additive reward.
const JUDGED =
  "learned_beta beta shared_seed single_seed logistic gaussian flat_gaussian mean ucb kl_ucb".split(
    " ",
  );
const MOST_ARMS_JUDGED = 20_000; // a verdict on more arms would keep decisions waiting
const HISTORY_EVERY_MS = 3000; // the history of a long log is expensive for the server
const AGAIN_AFTER_MS = 2000;
const AWAY = [0, 429, 502, 503, 504]; // statuses of a server that may answer later
const DELETED = "urn:superarm:bandit-deleted";

export class Feed {
  view = { top: 20, query: "", status: "", limit: DECISIONS_PER_PAGE };
  /** @type {Bandit | null} */
  bandit = null;
  /** @type {Decision[]} */
  decisions = [];
  isCut = false; // older decisions are left out
  /** @type {History} */
  history = { points: [], estimate_is: "" };
  /** @type {Verdict | null} */
  verdict = null;
  /** @type {Lift | null} */
  lift = null;
  /** @type {Connection | null} */
  connection = null;

  #firstRound = Infinity;
  #historyAt = -Infinity;
  #historyShown = -Infinity;
  #judgedAt = -Infinity;
  #judgedShown = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #historyTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #judgedTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #firstTimer;
  /** @type {Promise<void> | null} */
  #running = null;
  #isStale = false;
  #isOver = false;
  /** @type {ReturnType<typeof watch> | null} */
  #watcher = null;

  /**
   * @param {string} id
   * @param {{
   *   onchange: () => void,
   *   onevents: (events: LogEvent[]) => void,
   *   onproblem: (error: any) => void,
   *   onrecovery: () => void,
   * }} callbacks
   */
  constructor(id, callbacks) {
    this.id = id;
    this.callbacks = callbacks;
  }

  /**
   * Whether a decision was made after the page was opened.
   * @param {Decision} decision
   */
  isNew = ({ round }) => round > this.#firstRound;

  /** @param {Partial<Feed["view"]>} changes */
  show(changes) {
    Object.assign(this.view, changes);
    return this.refresh();
  }

  // One reload at a time, and another reload if something happened meanwhile.
  refresh = () => {
    this.#isStale = this.#running !== null;
    this.#running ??= this.#load()
      .catch((error) => {
        if (this.#isOver) return;
        this.callbacks.onproblem(error);
        // Nothing is watched before the first reload that succeeds.
        if (this.bandit !== null || !AWAY.includes(error.status)) return;
        clearTimeout(this.#firstTimer);
        this.#firstTimer = setTimeout(this.refresh, AGAIN_AFTER_MS);
      })
      .finally(() => {
        this.#running = null;
        if (this.#isStale && !this.#isOver) this.refresh();
      });
    return this.#running;
  };

  toggle = () => this.#watcher?.toggle();

  stop() {
    this.#isOver = true;
    clearTimeout(this.#historyTimer);
    clearTimeout(this.#judgedTimer);
    clearTimeout(this.#firstTimer);
    this.#watcher?.stop();
  }

  async #load() {
    const { top, query, status, limit } = this.view;
    const [bandit, { decisions, next }] = await Promise.all([
      api.bandit(this.id, top, query),
      api.decisions(this.id, status, limit),
      this.#loadHistory(),
    ]);
    if (this.#isOver) return;
    if (this.bandit === null) this.#firstRound = bandit.rounds;
    this.bandit = bandit;
    this.decisions = decisions;
    this.isCut = next !== null && decisions.length < limit;
    this.#watcher ??= watch(this.id, bandit.events, {
      onevents: (events) => this.#arrived(events),
      onstate: (state, error) => {
        if (error?.body?.type === DELETED) {
          this.stop();
          this.callbacks.onproblem(error);
          return;
        }
        const wasAway = this.connection === "hanging" || this.connection === "lost";
        if (wasAway && state === "live") {
          this.callbacks.onrecovery();
          this.refresh(); // what failed meanwhile
        }
        this.connection = state;
        this.callbacks.onchange();
      },
    });
    this.callbacks.onchange();
    await this.#judge();
  }

  // The verdict and the lift: as rarely as the history.
  async #judge() {
    const wait = this.#judgedAt + HISTORY_EVERY_MS - performance.now();
    if (this.bandit === null) return;
    if (wait > 0) {
      this.#judgedTimer ??= setTimeout(() => {
        this.#judgedTimer = undefined;
        this.#judge().catch(() => {}); // the next reload tries again
      }, wait);
      return;
    }
    const askedAt = (this.#judgedAt = performance.now());
    const { n_arms, k, retired, spec } = this.bandit;
    const { oracle, reward } = spec;
    const isAdditive = oracle.kind === "top_k" || (reward.name === "linear" && !reward.weights);
    const { kind, context, discount = 1 } = spec.belief;
    const isSteady = !context && discount === 1; // means that change have no verdict
    const isCounted = JUDGED.includes(kind) && isSteady && isAdditive;
    const isJudged = isCounted && k < n_arms - retired.length;
    const judged = await Promise.all([
      isJudged && n_arms <= MOST_ARMS_JUDGED ? api.verdict(this.id) : null,
      spec.holdout ? api.lift(this.id) : null,
    ]);
    if (this.#isOver || askedAt < this.#judgedShown) return;
    this.#judgedShown = askedAt;
    [this.verdict, this.lift] = judged;
    this.callbacks.onchange();
  }

  // At once if the last time is long ago, and otherwise as soon as it is.
  async #loadHistory() {
    const wait = this.#historyAt + HISTORY_EVERY_MS - performance.now();
    if (wait > 0) {
      this.#historyTimer ??= setTimeout(() => {
        this.#historyTimer = undefined;
        this.#loadHistory().catch(() => {}); // the next reload tries again
      }, wait);
      return;
    }
    const askedAt = (this.#historyAt = performance.now());
    const history = await api.history(this.id, HISTORY_POINTS);
    if (this.#isOver || askedAt < this.#historyShown) return; // a later answer came before it
    this.#historyShown = askedAt;
    this.history = history;
    this.callbacks.onchange();
  }

  /** @param {LogEvent[]} events */
  async #arrived(events) {
    this.callbacks.onevents(events);
    await this.refresh();
    return this.bandit?.events ?? 0;
  }
}

/**
 * A feed for as long as the component is shown. The component is drawn again on every change.
 * @param {string} id
 * @param {Omit<Feed["callbacks"], "onchange">} callbacks
 */
export function useFeed(id, callbacks) {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const feed = useMemo(() => new Feed(id, { ...callbacks, onchange: () => redraw(null) }), [id]);
  useEffect(() => {
    feed.refresh();
    return () => feed.stop();
  }, [feed]);
  return feed;
}
