// The list of bandits at the side.

/** @import { Bandit } from "../types" */

import { bandits } from "./api.js";
import { Button, Search } from "./controls.js";
import { count, plural } from "./format.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Name } from "./names.js";
import { usePage } from "./panels.js";
import { banditAddress } from "./route.js";
import { useShortcuts } from "./shortcuts.js";

const EVERY_MS = 5000;
const SEARCH_AFTER_MS = 250;

/**
 * Loads up to `nPages` pages of bandits, now and every few seconds while the tab is visible.
 * @param {number} version a new number loads the list at once
 * @param {number} nPages
 * @param {string} query a text in the names
 */
function useBandits(version, nPages, query) {
  const { onanswer, onproblem } = usePage();
  const [list, setList] = useState({
    known: /** @type {Bandit[] | null} */ (null),
    hasMore: false,
  });
  useEffect(() => {
    let isOver = false;
    const load = async () => {
      /** @type {Bandit[]} */
      const known = [];
      /** @type {string | null | undefined} */
      let next;
      for (let page = 0; page < nPages && next !== null; page += 1) {
        const answer = await bandits(query, next);
        known.push(...answer.bandits);
        next = answer.next ?? null;
      }
      onanswer();
      if (!isOver) setList({ known, hasMore: next !== null });
    };
    const refresh = () => load().catch((error) => isOver || onproblem(error));
    refresh();
    const timer = setInterval(() => document.hidden || refresh(), EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [version, nPages, query]);
  return list;
}

/** @param {{ current: string | null, version: number, oncreate: () => void }} props */
export function Bandits({ current, version, oncreate }) {
  const [wanted, setWanted] = useState("");
  const [nPages, setPages] = useState(1);
  const timer = useRef(0);
  const { known, hasMore } = useBandits(version, nPages, wanted);
  const rows = known ?? [];
  // The server searches: it knows all bandits, and the page only the first ones.
  /** @param {string} query */
  const onsearch = (query) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setWanted(query), SEARCH_AFTER_MS);
  };
  const showMore = () => setPages(nPages + 1);
  /** @param {number} step */
  const go = (step) => {
    const place = rows.findIndex(({ id }) => id === current) + step;
    const next = rows[Math.min(Math.max(place, 0), rows.length - 1)];
    if (next) location.hash = banditAddress(next.id);
  };
  useShortcuts({ j: () => go(1), k: () => go(-1) });

  const isEmpty = known?.length === 0 && !wanted;
  return html`<nav class=${isEmpty ? "bandits none" : "bandits"} aria-label="Bandits"
    tabindex="-1">
    <div class="tools">
      <${Search} label="Search bandits by name" name="bandits" placeholder="Search bandits"
        maxlength="200" oninput=${onsearch} />
      <${Button} class="primary" onclick=${oncreate}>New<//>
    </div>
    <ul role="list" aria-label="Bandits">
      ${rows.map(
        (bandit) =>
          html`<li key=${bandit.id}>
            <a href=${banditAddress(bandit.id)}
              aria-current=${bandit.id === current ? "page" : null}>
              <${Name} name=${bandit.name} /><small class="muted">${summaryOf(bandit)}</small>
            </a>
          </li>`,
      )}
    </ul>
    ${hasMore && html`<${Button} class="quiet" onclick=${showMore}>Show more<//>`}
    ${known && rows.length === 0 && html`<p class="empty">No bandit has this name.</p>`}
  </nav>`;
}

/** @param {Bandit} bandit */
function summaryOf({ k, n_arms, decisions, open }) {
  const words = [`${count(k)} of ${count(n_arms)}`, plural(decisions, "decision")];
  if (open) words.push(`${count(open)} open`);
  return words.join(" · ");
}
