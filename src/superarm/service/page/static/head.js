// The head of a bandit: its name, what it is made of, its numbers, and the buttons.

import { decideNow, openDecide } from "./deciding.js";
import { el, nameOf, say, shown } from "./dom.js";
import { count, moment, number } from "./words.js";

const TILES = [
  ["rounds", "rounds", (b) => count(b.rounds)],
  ["decisions", "decisions", (b) => count(b.decisions)],
  ["open", "open", (b) => count(b.open)],
  ["told", "told", (b) => count(b.told)],
  ["expired", "expired", (b) => count(b.expired)],
  ["evaluations", "evaluations", (b) => count(b.evaluations)],
  ["each", "per decision", (b) => (b.decisions ? number(b.evaluations / b.decisions) : "–")],
];

const STATES = { live: "Live", paused: "Paused", lost: "Trying again…" };

const button = (label, more) => el("button", { type: "button", ...more }, label);

export function banditHead({ id, refresh, pause }) {
  let bandit = null;
  const title = el("h1", { tabindex: -1 });
  const facts = el("p", { class: "muted facts" });
  const live = button(STATES.live, {
    class: "state",
    "aria-pressed": "true",
    title: "Pause or go on (p)",
    onclick: pause,
    disabled: true, // until something is watched
  });
  const rules = button("With rules…", { onclick: () => bandit && openDecide(bandit, refresh) });
  const decide = button("Decide", { class: "primary", onclick: () => decideNow(id, {}, refresh) });
  const head = el(
    "header",
    { class: "head" },
    el("div", { class: "what" }, title, facts),
    el("div", { class: "actions" }, live, rules, decide),
  );
  const tile = ([name, label]) => el("div", { class: `tile ${name}` }, el("dt", null, label), el("dd", null, "–"));
  const tiles = el("dl", { class: "tiles" }, TILES.map(tile));

  return {
    parts: [head, tiles],
    title,
    buttons: { live, rules, decide },
    update(given) {
      bandit = given;
      title.replaceChildren(nameOf(bandit.name));
      document.title = `${shown(bandit.name)} · superarm`;
      facts.replaceChildren(`${factsOf(bandit)} · id `, el("code", null, bandit.id));
      facts.title = `Created ${moment(bandit.created)}`;
      TILES.forEach(([, , form], place) => say(tiles.children[place].lastChild, form(bandit)));
    },
    showState(state) {
      live.disabled = false;
      live.className = `state ${state}`;
      live.setAttribute("aria-pressed", String(state !== "paused"));
      say(live, STATES[state]);
    },
  };
}

function factsOf({ k, n_arms, spec }) {
  const named = (part, otherwise) => (typeof part === "string" ? part : (part?.kind ?? part?.name ?? otherwise));
  const parts = [
    `${count(k)} of ${count(n_arms)} arms`,
    `${named(spec?.reward, "linear")} reward`,
    `${named(spec?.oracle, "automatic")} oracle`,
    `${named(spec?.belief, "beta")} belief`,
  ];
  return parts.join(" · ");
}
