// The arms of a bandit: the best by posterior mean, search, retirement.

/** @import { ArmState, Bandit } from "../types" */
/** @import { Feed } from "./feed.js" */
/** @import { Domain } from "./interval.js" */

import { addArms, retire } from "./api.js";
import { Button, Search, Select } from "./controls.js";
import { useKeptFocus } from "./focus.js";
import { AddArmsForm } from "./forms.js";
import { count, plural, range, share } from "./format.js";
import { html, useRef, useState } from "./html.js";
import { domainOf, Interval, isNumber, Legend, Scale } from "./interval.js";
import { Name, visible } from "./names.js";
import { usePage } from "./panels.js";

const SEARCH_AFTER_MS = 250;
const MOST_RETIRED = 50;
const NUMBERS_OF_ARMS = [20, 50];

/** @type {Record<string, { label: string, compare: (a: ArmState, b: ArmState) => number }>} */
const ORDERS = {
  mean: {
    label: "highest mean",
    compare: descending((arm) => arm.mean ?? -Infinity),
  },
  high: {
    label: "highest upper end",
    compare: descending((arm) => arm.high ?? -Infinity),
  },
  width: {
    label: "least certain",
    compare: descending((arm) => (arm.high ?? 0) - (arm.low ?? 0)),
  },
  name: { label: "name", compare: (a, b) => a.arm.localeCompare(b.arm) },
};

/** @type {[string, string][]} */
const ORDER_OPTIONS = Object.entries(ORDERS).map(([name, { label }]) => [name, label]);

/** @param {(arm: ArmState) => number} by */
function descending(by) {
  return (/** @type {ArmState} */ a, /** @type {ArmState} */ b) => by(b) - by(a) || 0;
}

/** @param {{ feed: Feed, search: { current: HTMLInputElement | null } }} props */
export function Arms({ feed, search }) {
  const { open } = usePage();
  const [order, setOrder] = useState("mean");
  const timer = useRef(0);
  const list = useRef(/** @type {HTMLUListElement | null} */ (null));
  useKeptFocus(list);

  const { bandit, id, refresh } = feed;
  const rows = [...(bandit?.posterior ?? [])].sort(ORDERS[order].compare);
  const retired = bandit?.retired ?? [];
  const domain = domainOf(rows);

  /** @param {string} query */
  const onsearch = (query) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => feed.show({ query }), SEARCH_AFTER_MS);
  };
  const openAdd = () => {
    const nFeatures = bandit?.spec.features;
    open("Add arms", html`<${AddArmsForm} id=${id} nFeatures=${nFeatures} done=${refresh} />`);
  };

  return html`<section class="card" aria-labelledby="arms-title">
    <header>
      <h2 id="arms-title">Arms</h2>
      <${Button} class="quiet" onclick=${openAdd}>Add arms…<//>
    </header>
    <div class="tools">
      <${Search}
        label="Search arms by name"
        name="arms"
        placeholder="Search arms  /"
        maxlength="200"
        ref=${search}
        oninput=${onsearch}
      />
      <${Select} label="Order of the arms" options=${ORDER_OPTIONS} onchoose=${setOrder} />
      <${Select}
        label="How many arms"
        options=${NUMBERS_OF_ARMS.map((n) => [n, `best ${n}`])}
        onchoose=${(/** @type {string} */ n) => feed.show({ top: Number(n) })}
      />
    </div>
    <ul class="arms" role="list" ref=${list}>
      ${rows.map(
        (row) => html`<${ArmRow} key=${row.arm} feed=${feed} row=${row} domain=${domain} />`,
      )}
    </ul>
    ${rows.length > 0 && html`<${Scale} domain=${domain} />`}
    <${Legend} />
    <p class="muted">${bandit && summaryOf(bandit, rows, feed.view.query)}</p>
    ${retired.length > 0 && html`<${Retired} feed=${feed} names=${retired} />`}
  </section>`;
}

/**
 * @param {Bandit} bandit
 * @param {ArmState[]} rows
 * @param {string} query
 */
function summaryOf(bandit, rows, query) {
  if (rows.length === 0 && query)
    return `No arm has “${query}” in its name. Clear the search to see all arms.`;
  if (rows.length === 0) return "This belief has no means to show.";
  // The means of such a belief depend on the round.
  const at = bandit.spec.belief.context ? " Means at the average context so far." : "";
  if (query) return `${plural(rows.length, "arm")} found by name, of ${count(bandit.n_arms)}.${at}`;
  return rows.length < bandit.n_arms
    ? `The best ${count(rows.length)} of ${count(bandit.n_arms)} by mean.${at}`
    : `All ${plural(rows.length, "arm")}.${at}`;
}

/** @param {{ feed: Feed, row: ArmState, domain: Domain }} props */
function ArmRow({ feed, row, domain }) {
  const interval = isNumber(row.low) ? `95% interval ${range(row.low, row.high)}` : "";
  return html`<li
    class=${row.retired ? "arm is-retired" : "arm"}
    title=${interval}
    data-key=${row.arm}
  >
    <${Name} name=${row.arm} />
    <span class="picture"><${Interval} arm=${row} domain=${domain} isOut=${row.retired} /></span>
    <span class="figure">
      ${share(row.mean)}<span class="hidden">${interval && `, ${interval}`}</span>
    </span>
    <${RetireButton} feed=${feed} arm=${row.arm} isRetired=${row.retired} />
  </li>`;
}

/** @param {{ feed: Feed, names: string[] }} props */
const Retired = ({ feed, names }) =>
  html`<details>
    <summary>${count(names.length)} retired</summary>
    <ul class="retired" role="list">
      ${names.slice(0, MOST_RETIRED).map(
        (name) =>
          html`<li key=${name}>
              <${Name} name=${name} /><${RetireButton} feed=${feed} arm=${name} isRetired />
            </li>`,
      )}
    </ul>
  </details>`;

/** @param {{ feed: Feed, arm: string, isRetired?: boolean }} props */
function RetireButton({ feed, arm, isRetired = false }) {
  const { note } = usePage();
  const label = isRetired ? "Restore" : "Retire";

  /** @param {() => Promise<unknown>} change */
  const tryTo = (change) => change().catch(note).finally(feed.refresh);
  const restore = () =>
    tryTo(async () => {
      await addArms(feed.id, [arm]);
      note(`Restored ${visible(arm)}.`);
    });
  const stopPicking = () =>
    tryTo(async () => {
      await retire(feed.id, arm);
      const undo = { label: "Undo", run: restore };
      note(`Retired ${visible(arm)}. It is not picked any more.`, undo);
    });

  const onclick = isRetired ? restore : stopPicking;
  return html`<${Button}
    class="quiet small"
    aria-label=${`${label} ${visible(arm)}`}
    onclick=${onclick}
    >${label}<//
  >`;
}
