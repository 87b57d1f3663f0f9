// The latest decisions of a bandit, with their outcomes.

/** @import { Bandit, Decision } from "../types" */
/** @import { Feed } from "./feed.js" */

import { Button, Select } from "./controls.js";
import { DECISIONS_PER_PAGE } from "./feed.js";
import { useKeptFocus } from "./focus.js";
import { outcomeOf, TellForm } from "./forms.js";
import { clock, count, moment, number } from "./format.js";
import { html, useRef } from "./html.js";
import { Name } from "./names.js";
import { usePage } from "./panels.js";

const MOST_CHIPS = 12;

/** Statuses of the API, and the words that people see. */
const STATUSES = { open: "open", told: "complete", expired: "expired" };
const FILTERS = [["", "all"], ...Object.entries(STATUSES)];

/** @param {{ feed: Feed, explain: (id: string) => void }} props */
export function Decisions({ feed, explain }) {
  const { decisions, view, bandit } = feed;
  const list = useRef(/** @type {HTMLOListElement | null} */ (null));
  useKeptFocus(list);
  /** @param {string} status */
  const filter = (status) => feed.show({ status, limit: DECISIONS_PER_PAGE });
  const showMore = () => feed.show({ limit: view.limit + DECISIONS_PER_PAGE });

  return html`<section class="card" aria-labelledby="decisions-title">
    <header>
      <h2 id="decisions-title">Decisions</h2>
      <${Select} label="Which decisions" options=${FILTERS} onchoose=${filter} />
    </header>
    <ol ref=${list} class="decisions" role="list" tabindex="-1" aria-label="Newest decisions first">
      ${decisions.map(
        (decision) =>
          html`<${Row} key=${decision.id} feed=${feed} decision=${decision} explain=${explain} />`,
      )}
    </ol>
    ${bandit && decisions.length === 0 && html`<p class="empty">${emptyText(view.status, bandit)}</p>`}
    ${
      decisions.length >= view.limit &&
      html`<${Button} class="quiet" onclick=${showMore}>Show more<//>`
    }
    ${
      feed.isCut &&
      html`<p class="empty">Older decisions are not listed: the list would be too long.</p>`
    }
  </section>`;
}

/**
 * @param {string} status
 * @param {Bandit} bandit
 */
function emptyText(status, { merged }) {
  if (status) return `No decision is ${STATUSES[/** @type {keyof typeof STATUSES} */ (status)]}.`;
  const how = "Press Decide (d), or POST to this bandit’s /decisions.";
  return merged > 0
    ? `Decisions from the edge are not listed, and there are no others yet. ${how}`
    : `No decisions yet. ${how} Decisions appear here as they arrive.`;
}

/** @param {{ feed: Feed, decision: Decision, explain: (id: string) => void }} props */
function Row({ feed, decision, explain }) {
  const { open } = usePage();
  const { id, time, round, status, arms } = decision;
  const openTell = () =>
    open("Tell outcomes", html`<${TellForm} decision=${decision} done=${feed.refresh} />`);
  const nMore = arms.length - MOST_CHIPS;
  return html`<li class=${feed.isNew(decision) ? "decision arrived" : "decision"} data-key=${id}>
    <div class="line">
      <time datetime=${new Date(time * 1000).toISOString()} title=${moment(time)}>
        ${clock(time)}
      </time>
      <span class=${`status ${status}`}>${STATUSES[status]}</span>
      ${decision.holdout && html`<span class="status held">hold-out</span>`}
      <span class="muted round">round ${count(round)}</span>
      <code class="muted id">${id}</code>
      <span class="space"></span>
      <${Button} class="small" aria-label=${`Tell outcomes of decision ${id}`}
        hidden=${status !== "open"} onclick=${openTell}>Tell…<//>
      <${Button} class="quiet small" aria-label=${`Explain decision ${id}`}
        onclick=${() => explain(id)}>Explain<//>
    </div>
    <ol class=${decision.ranked ? "chips ranked" : "chips"} role="list">
      ${arms
        .slice(0, MOST_CHIPS)
        .map((arm) => html`<${Chip} arm=${arm} outcome=${outcomeOf(decision, arm)} />`)}
      ${nMore > 0 && html`<li class="muted">and ${nMore} more</li>`}
    </ol>
  </li>`;
}

/** @param {{ arm: string, outcome: number | undefined }} props */
function Chip({ arm, outcome }) {
  if (outcome === undefined) return html`<li class="chip"><${Name} name=${arm} /></li>`;
  return html`<li class=${outcome >= 0.5 ? "chip good" : "chip poor"}>
    <${Name} name=${arm} />
    <span class="outcome"><span class="hidden">outcome </span>${number(outcome)}</span>
  </li>`;
}
