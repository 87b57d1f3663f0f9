// One bandit: its name, numbers and buttons, the chart, its decisions and its arms.

/** @import { Bandit } from "../types" */
/** @import { Feed } from "./feed.js" */

import { decide } from "./api.js";
import { Arms } from "./arms.js";
import { inWords } from "./arrivals.js";
import { HistoryChart } from "./chart.js";
import { Button } from "./controls.js";
import { Decisions } from "./decisions.js";
import { useFeed } from "./feed.js";
import { DecideForm, DeleteForm, TellForm } from "./forms.js";
import { count, moment, number } from "./format.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Name, visible } from "./names.js";
import { ProblemBox, usePage } from "./panels.js";
import { useShortcuts } from "./shortcuts.js";
import { LiftLine, VerdictLine } from "./verdict.js";

/**
 * Numbers that may never be other than 0 are not shown.
 * @type {[string, string, (bandit: Bandit) => string, ((bandit: Bandit) => boolean)?][]}
 */
const TILES = [
  ["rounds", "rounds", (bandit) => count(bandit.rounds)],
  ["decisions", "decisions", (bandit) => count(bandit.decisions)],
  ["open", "open", (bandit) => count(bandit.open)],
  ["told", "complete", (bandit) => count(bandit.told)],
  ["expired", "expired", (bandit) => count(bandit.expired), mayExpire],
  ["merged", "from the edge", (bandit) => count(bandit.merged), ({ merged }) => merged > 0],
  ["evaluations", "evaluations", (bandit) => count(bandit.evaluations), mayEvaluate],
  [
    "each",
    "per decision",
    ({ evaluations, decisions }) => (decisions ? number(evaluations / decisions) : "–"),
    mayEvaluate,
  ],
];

/** @param {Bandit} bandit */
function mayExpire({ spec, expired }) {
  return Boolean(spec.expiry) || expired > 0;
}

/** @param {Bandit} bandit */
function mayEvaluate({ spec, evaluations }) {
  return spec.oracle.kind !== "top_k" || evaluations > 0;
}

const GONE = [404, 410]; // there is no such bandit, or no more

const CONNECTIONS = {
  live: "Live",
  paused: "Paused",
  hanging: "Server hangs…",
  lost: "Trying again…",
};

/**
 * @param {{
 *   id: string,
 *   takesFocus: boolean,
 *   explain: (decision: string) => void,
 *   ondelete: () => void,
 * }} props
 */
export function BanditView({ id, takesFocus, explain, ondelete }) {
  const { announce, note, onproblem, open } = usePage();
  const [missing, setMissing] = useState(/** @type {Error | null} */ (null));
  const title = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  const search = useRef(/** @type {HTMLInputElement | null} */ (null));
  const feed = useFeed(id, {
    onevents: (events) => announce(inWords(events)),
    onproblem: (error) => (GONE.includes(error.status) ? setMissing(error) : onproblem(error)),
    onrecovery: () => note("The server answers again."),
  });
  const actions = useActions(feed, explain);
  useShortcuts({ ...actions, "/": () => search.current?.focus() });
  const isLoaded = feed.bandit !== null;
  const openDelete = () =>
    open("Delete bandit", html`<${DeleteForm} bandit=${feed.bandit} done=${ondelete} />`);
  useEffect(() => {
    if (isLoaded && takesFocus) title.current?.focus();
  }, [isLoaded]);
  useEffect(() => {
    if (feed.bandit) document.title = `${visible(feed.bandit.name)} · superarm`;
  }, [feed.bandit?.name]);

  if (missing) {
    return html`<article class="welcome">
      <${ProblemBox} error=${missing} />
      <p><a href="#/">All bandits</a></p>
    </article>`;
  }
  return html`<article class="bandit" aria-busy=${isLoaded ? null : "true"}>
    <a class="back" href="#/">‹ All bandits</a>
    <header class="head">
      <div class="what">
        <h1 ref=${title} tabindex="-1">
          ${feed.bandit && html`<${Name} name=${feed.bandit.name} />`}
        </h1>
        ${feed.bandit && html`<${Facts} bandit=${feed.bandit} />`}
      </div>
      <div class="actions">
        <${Button} class=${`state ${feed.connection ?? ""}`}
          aria-pressed=${String(feed.connection !== "paused")} title="Pause or resume (p)"
          disabled=${feed.connection === null} onclick=${actions.p}>
          ${CONNECTIONS[feed.connection ?? "live"]}
        <//>
        <${Button} class="quiet" disabled=${!isLoaded} onclick=${openDelete}>Delete…<//>
        <${Button} disabled=${!isLoaded} onclick=${actions.r}>With constraints…<//>
        <${Button} class="primary" disabled=${!isLoaded} onclick=${actions.d}>Decide<//>
      </div>
    </header>
    <dl class="tiles">
      ${TILES.filter(([, , , may]) => !may || (feed.bandit && may(feed.bandit))).map(
        ([name, label, value]) =>
          html`<div class=${`tile ${name}`}>
            <dt>${label}</dt>
            <dd>${feed.bandit ? value(feed.bandit) : "–"}</dd>
          </div>`,
      )}
    </dl>
    ${
      feed.verdict &&
      html`<${VerdictLine} verdict=${feed.verdict}
        nComplete=${feed.bandit ? feed.bandit.told + feed.bandit.merged : 0} />`
    }
    ${feed.lift && html`<${LiftLine} lift=${feed.lift} />`}
    <div class="columns">
      <div>
        <${HistoryChart} history=${feed.history}
          hasEvaluations=${feed.bandit ? mayEvaluate(feed.bandit) : false}
          nMerged=${feed.bandit?.merged ?? 0} />
        <${Decisions} feed=${feed} explain=${explain} />
      </div>
      <${Arms} feed=${feed} search=${search} />
    </div>
  </article>`;
}

/**
 * What buttons and shortcuts do, by the key of the shortcut.
 * @param {Feed} feed
 * @param {(decision: string) => void} explain
 */
function useActions(feed, explain) {
  const { open, note } = usePage();
  const withForm = () => {
    if (feed.bandit === null) return;
    const form = html`<${DecideForm} bandit=${feed.bandit} done=${feed.refresh} />`;
    open(feed.bandit.spec.belief.context ? "Decide in a context" : "Decide with constraints", form);
  };
  return {
    d: () => {
      // Without a context the server would refuse.
      if (feed.bandit?.spec.belief.context) withForm();
      else decide(feed.id, {}).catch(note).finally(feed.refresh);
    },
    r: withForm,
    t: () => {
      const decision = feed.decisions.find(({ status }) => status === "open");
      if (decision)
        open("Tell outcomes", html`<${TellForm} decision=${decision} done=${feed.refresh} />`);
      else note("None of the decisions shown is open. Press d to decide.");
    },
    e: () => {
      if (feed.decisions.length) explain(feed.decisions[0].id);
      else note("There is no decision to explain yet. Press d to decide.");
    },
    p: feed.toggle,
  };
}

/** @param {{ bandit: Bandit }} props */
function Facts({ bandit: { id, k, n_arms, spec, created } }) {
  const parts = [
    `${count(k)} of ${count(n_arms)} arms`,
    `${spec.reward.name} reward`,
    `${spec.oracle.kind} oracle`,
    `${spec.belief.kind} belief`,
  ];
  return html`<p class="muted facts" title=${`Created ${moment(created)}`}>
    ${parts.join(" · ")} · id <code>${id}</code>
  </p>`;
}
