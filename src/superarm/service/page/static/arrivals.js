// What is said aloud of events as they arrive.

import { shown } from "./dom.js";
import { number, plural } from "./words.js";

const MOST = 8;
const names = (list) => list.slice(0, MOST).map(shown).join(", ");
const outcomes = (told) =>
  Object.entries(told)
    .slice(0, MOST)
    .map(([arm, x]) => `${shown(arm)} ${number(x)}`)
    .join(", ");

const WORDS = {
  created: () => "Created",
  decided: ({ decisions }) =>
    `Decided: ${names(decisions[0].arms)}${decisions.length > 1 ? ` and ${decisions.length - 1} more` : ""}`,
  told: (event) => `Told: ${outcomes(event.outcomes)}`,
  expired: ({ decisions }) => `Expired: ${plural(decisions.length, "decision")}`,
  arms_added: ({ arms }) => `Added: ${names(arms)}`,
  arms_retired: ({ arms }) => `Retired: ${names(arms)}`,
  arms_restored: ({ arms }) => `Restored: ${names(arms)}`,
};

const wordsOf = (event) => WORDS[event.kind]?.(event) ?? event.kind;

export const wordsOfAll = (events) =>
  events.length === 1 ? wordsOf(events[0]) : `${plural(events.length, "event")}, the last: ${wordsOf(events.at(-1))}`;
