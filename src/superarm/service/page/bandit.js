// One bandit: its numbers, its arms, its decisions, kept up to date while it is looked at.

import * as api from "./api.js";
import { armsPanel } from "./arms.js";
import { lineChart } from "./chart.js";
import { decideNow, decisionsPanel, openDecide, openTell } from "./decisions.js";
import { el, nameOf, say, shown } from "./dom.js";
import { announce, note } from "./panels.js";
import { watch } from "./watch.js";
import { count, moment, number, plural } from "./words.js";

const TILES = [
  ["rounds", "rounds", (b) => count(b.rounds)],
  ["decisions", "decisions", (b) => count(b.decisions)],
  ["open", "open", (b) => count(b.open)],
  ["told", "told", (b) => count(b.told)],
  ["expired", "expired", (b) => count(b.expired)],
  ["evaluations", "evaluations", (b) => count(b.evaluations)],
  ["each", "per decision", (b) => (b.decisions ? number(b.evaluations / b.decisions) : "–")],
];

export function banditView(id, { explain, onproblem }) {
  const seen = new Set();
  const news = new Set();
  let bandit = null;
  let watcher = null;
  let running = null;
  let again = false;
  let isOver = false;

  const refresh = () => refreshSoon();
  const arms = armsPanel({ id, refresh });
  const decisions = decisionsPanel({ id, refresh, explain, isNew: (one) => news.has(one.id) });
  const chart = lineChart({
    label: { estimate: "estimated reward", evaluations: "evaluations so far" },
    averaged: ["estimate"],
    empty: "The estimated reward of each decision appears here, round by round.",
  });
  const which = el(
    "select",
    { "aria-label": "What the chart shows" },
    el("option", { value: "estimate" }, "Estimated reward"),
    el("option", { value: "evaluations" }, "Evaluations so far"),
  );
  let points = [];
  which.addEventListener("change", () => chart.update(points, which.value));

  const title = el("h1", { tabindex: -1 });
  const facts = el("p", { class: "muted facts" });
  const live = el(
    "button",
    {
      type: "button",
      class: "state",
      "aria-pressed": "true",
      title: "Pause or go on (p)",
      onclick: () => watcher?.toggle(),
    },
    "Live",
  );
  const tiles = el(
    "dl",
    { class: "tiles" },
    TILES.map(([name, label]) => el("div", { class: `tile ${name}` }, el("dt", null, label), el("dd", null, "–"))),
  );
  const decideButton = el(
    "button",
    { type: "button", class: "primary", onclick: () => decideNow(id, {}, refresh) },
    "Decide",
  );
  const rulesButton = el(
    "button",
    { type: "button", onclick: () => bandit && openDecide(bandit, refresh) },
    "With rules…",
  );
  const root = el(
    "article",
    { class: "bandit", "aria-busy": "true" },
    el("a", { class: "back", href: "#/" }, "‹ All bandits"),
    el(
      "header",
      { class: "head" },
      el("div", { class: "what" }, title, facts),
      el("div", { class: "actions" }, live, rulesButton, decideButton),
    ),
    tiles,
    el(
      "div",
      { class: "columns" },
      el(
        "div",
        null,
        el(
          "section",
          { class: "card", "aria-labelledby": "chart-title" },
          el("header", null, el("h2", { id: "chart-title" }, "Over time"), which),
          chart.root,
        ),
        decisions.root,
      ),
      arms.root,
    ),
  );

  async function load() {
    const wanted = [
      api.bandit(id, arms.view.top, arms.view.query),
      api.decisions(id, decisions.view.status, decisions.view.limit),
      api.history(id, 200),
    ];
    const [state, made, past] = await Promise.all(wanted);
    if (isOver) return;
    for (const one of made.decisions) {
      if (bandit && !seen.has(one.id)) news.add(one.id);
      seen.add(one.id);
    }
    bandit = state;
    points = past.points;
    draw(made.decisions);
    watcher ??= watch(id, bandit.events, { onevents: heard, onstate: showState });
  }

  // One request at a time, and one more if something happened meanwhile.
  async function refreshSoon() {
    if (running) {
      again = true;
      return running;
    }
    running = load()
      .catch(onproblem)
      .finally(() => {
        running = null;
        root.removeAttribute("aria-busy");
        if (again && !isOver) {
          again = false;
          refreshSoon();
        }
      });
    return running;
  }

  function draw(made) {
    title.replaceChildren(nameOf(bandit.name));
    document.title = `${shown(bandit.name)} · superarm`;
    say(facts, factsOf(bandit));
    facts.title = `id ${bandit.id}, created ${moment(bandit.created)}`;
    TILES.forEach(([, , form], place) => say(tiles.children[place].lastChild, form(bandit)));
    arms.update(bandit);
    decisions.update(made);
    chart.update(points, which.value);
  }

  function heard(events) {
    announce(
      events.length === 1
        ? wordsOf(events[0])
        : `${plural(events.length, "event")}, the last: ${wordsOf(events.at(-1))}`,
    );
    refresh();
  }

  function showState(state) {
    live.className = `state ${state}`;
    live.setAttribute("aria-pressed", String(state !== "paused"));
    say(live, { live: "Live", paused: "Paused", lost: "Trying again…" }[state]);
  }

  return {
    root,
    title,
    refresh,
    stop() {
      isOver = true;
      watcher?.stop();
    },
    keys: {
      d: () => decideButton.click(),
      r: () => rulesButton.click(),
      t: () => {
        const open = decisions.newest("open");
        return open ? openTell(open, refresh) : note("No decision shown is open: press d to decide.");
      },
      e: () => {
        const newest = decisions.newest();
        return newest ? explain(newest.id) : note("There is no decision to explain yet: press d to decide.");
      },
      p: () => live.click(),
      "/": () => arms.search.focus(),
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

function wordsOf(event) {
  const names = (list) => (list ?? []).slice(0, 8).map(shown).join(", ");
  switch (event.kind) {
    case "decided":
      return `Decided: ${names(event.arms ?? event.decisions?.[0]?.arms)}`;
    case "told":
      return `Told: ${Object.entries(event.outcomes ?? {})
        .slice(0, 8)
        .map(([arm, x]) => `${shown(arm)} ${number(x)}`)
        .join(", ")}`;
    case "expired":
      return "A decision expired";
    case "arms_added":
      return `Added: ${names(event.arms)}`;
    case "arms_retired":
      return `Retired: ${names(event.arms)}`;
    case "arms_restored":
      return `Restored: ${names(event.arms)}`;
    default:
      return String(event.kind);
  }
}
