// One bandit: its numbers, its arms, its decisions, kept up to date while it is looked at.

import * as api from "./api.js";
import { armsPanel } from "./arms.js";
import { wordsOfAll } from "./arrivals.js";
import { lineChart } from "./chart.js";
import { openTell } from "./deciding.js";
import { decisionsPanel } from "./decisions.js";
import { el, say } from "./dom.js";
import { banditHead } from "./head.js";
import { announce, note } from "./panels.js";
import { watch } from "./watch.js";

const HISTORY_EVERY_MS = 3000; // the history of a long log takes the server a while

export function banditView(id, { explain, onproblem }) {
  const seen = new Set();
  let bandit = null;
  let watcher = null;
  let running = null;
  let again = false;
  let isOver = false;

  const head = banditHead({ id, refresh, pause: () => watcher?.toggle() });
  const arms = armsPanel({ id, refresh });
  const isNew = ({ id }) => bandit !== null && !seen.has(id);
  const decisions = decisionsPanel({ id, refresh, explain, isNew });
  const past = pastPanel(id, () => isOver);
  const left = el("div", null, past.root, decisions.root);
  const root = el(
    "article",
    { class: "bandit", "aria-busy": "true" },
    el("a", { class: "back", href: "#/" }, "‹ All bandits"),
    head.parts,
    el("div", { class: "columns" }, left, arms.root),
  );

  async function load() {
    const [state, made] = await Promise.all([
      api.bandit(id, arms.view.top, arms.view.query),
      api.decisions(id, decisions.view.status, decisions.view.limit),
      past.refresh(),
    ]);
    if (isOver) return;
    head.update(state);
    arms.update(state);
    decisions.update(made.decisions);
    bandit = state;
    made.decisions.forEach((one) => seen.add(one.id));
    watcher ??= watch(id, bandit.events, { onevents: heard, onstate: head.showState });
  }

  // One at a time, and once more if something happened meanwhile.
  function refresh() {
    again = running !== null;
    running ??= load()
      .catch((error) => isOver || onproblem(error))
      .finally(() => {
        running = null;
        root.removeAttribute("aria-busy");
        if (again && !isOver) refresh();
      });
    return running;
  }

  function heard(events) {
    announce(wordsOfAll(events));
    return refresh().then(() => bandit.events);
  }

  const newest = (status, act, otherwise) => {
    const found = decisions.newest(status);
    return found ? act(found) : note(otherwise);
  };

  return {
    root,
    title: head.title,
    refresh,
    stop() {
      isOver = true;
      watcher?.stop();
    },
    keys: {
      d: () => head.buttons.decide.click(),
      r: () => head.buttons.rules.click(),
      t: () => newest("open", (one) => openTell(one, refresh), "No decision shown is open: press d to decide."),
      e: () => newest("", (one) => explain(one.id), "There is no decision to explain yet: press d to decide."),
      p: () => head.buttons.live.click(),
      "/": () => arms.search.focus(),
    },
  };
}

// The chart and what it shows, asked for again only now and then.
function pastPanel(id, isOver) {
  const chart = lineChart({
    label: { estimate: "estimated reward", evaluations: "evaluations so far" },
    averaged: ["estimate"],
  });
  const which = el(
    "select",
    { "aria-label": "What the chart shows" },
    el("option", { value: "estimate" }, "Estimated reward"),
    el("option", { value: "evaluations" }, "Evaluations so far"),
  );
  const about = el("p", { class: "muted about" });
  const root = el(
    "section",
    { class: "card", "aria-labelledby": "chart-title" },
    el("header", null, el("h2", { id: "chart-title" }, "Over time"), which),
    chart.root,
    about,
  );
  let past = { points: [], estimate_is: "" };
  let asked = -Infinity;
  let timer = null;

  async function ask() {
    timer = null;
    asked = performance.now();
    past = await api.history(id, 200);
    draw();
  }

  async function refresh() {
    const wait = asked + HISTORY_EVERY_MS - performance.now();
    if (wait <= 0) await ask();
    else timer ??= setTimeout(() => isOver() || ask().catch(() => {}), wait);
  }

  function draw() {
    if (isOver()) return;
    say(about, which.value === "estimate" ? aboutEstimate(past) : "Sets whose reward was asked for, in all rounds.");
    chart.update(past.points, which.value);
  }

  which.addEventListener("change", draw);
  return { root, refresh };
}

// Where nothing is drawn, all that the server says of it; otherwise what is seen.
function aboutEstimate({ points, estimate_is }) {
  if (!points.some((point) => Number.isFinite(point.estimate))) return `It is ${estimate_is}.`;
  return `Dots are ${estimate_is.split(";")[0]}. The line is the mean of the last ones.`;
}
