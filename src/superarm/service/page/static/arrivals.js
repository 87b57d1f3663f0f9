// New events in words, for screen readers.

/** @import { LogEvent } from "../types" */

import { number, plural } from "./format.js";
import { visible } from "./names.js";

const MOST_NAMES = 8;

/** @param {string[]} names */
const listed = (names) => names.slice(0, MOST_NAMES).map(visible).join(", ");

/** @param {Record<string, number>} outcomes */
const withOutcomes = (outcomes) =>
  Object.entries(outcomes)
    .slice(0, MOST_NAMES)
    .map(([arm, outcome]) => `${visible(arm)} ${number(outcome)}`)
    .join(", ");

/** @param {unknown[]} decisions */
const more = (decisions) => (decisions.length > 1 ? ` and ${decisions.length - 1} more` : "");

/** @type {Record<string, (event: any) => string>} */
const WORDS = {
  created: () => "Created",
  decided: ({ decisions }) => `Decided: ${listed(decisions[0].arms)}${more(decisions)}`,
  told: ({ outcomes, told = [{ outcomes }] }) =>
    `Told: ${withOutcomes(told[0].outcomes)}${more(told)}`,
  merged: ({ decisions }) => `Merged: ${plural(decisions.length, "decision")} of the edge`,
  expired: ({ decisions }) => `Expired: ${plural(decisions.length, "decision")}`,
  arms_added: ({ arms }) => `Added: ${listed(arms)}`,
  arms_retired: ({ arms }) => `Retired: ${listed(arms)}`,
  arms_restored: ({ arms }) => `Restored: ${listed(arms)}`,
};

/** @param {LogEvent[]} events */
export function inWords(events) {
  const last = events[events.length - 1];
  const words = WORDS[last.kind]?.(last) ?? last.kind;
  return events.length === 1 ? words : `${plural(events.length, "event")}, the last: ${words}`;
}
