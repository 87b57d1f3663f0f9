// Decisions as they arrive, and the outcomes told about them.

import { openTell, outcomeOf } from "./deciding.js";
import { el, keyed, nameOf, say } from "./dom.js";
import { clock, moment, number } from "./words.js";

const MOST_CHIPS = 12;
const PAGE = 30;
const STATUSES = ["open", "told", "expired"];

export function decisionsPanel({ id, refresh, explain, isNew }) {
  const view = { status: "", limit: PAGE };
  const filter = el(
    "select",
    { "aria-label": "Which decisions" },
    el("option", { value: "" }, "all"),
    STATUSES.map((status) => el("option", { value: status }, status)),
  );
  const list = el("ol", {
    class: "decisions",
    role: "list",
    tabindex: -1,
    "aria-label": "Decisions, the newest first",
  });
  const empty = el("p", { class: "empty" });
  const more = el(
    "button",
    { type: "button", class: "quiet", onclick: () => ((view.limit += PAGE), refresh()) },
    "Show more",
  );
  filter.addEventListener("change", () => {
    Object.assign(view, { status: filter.value, limit: PAGE });
    refresh();
  });
  const root = el(
    "section",
    { class: "card", "aria-labelledby": "decisions-title" },
    el("header", null, el("h2", { id: "decisions-title" }, "Decisions"), filter),
    list,
    empty,
    more,
  );
  let shownNow = [];

  function update(decisions) {
    shownNow = decisions;
    keyed(
      list,
      decisions,
      (one) => one.id,
      (one) => makeRow(one, { explain, refresh }, isNew(one)),
      updateRow,
    );
    empty.hidden = decisions.length > 0;
    more.hidden = decisions.length < view.limit;
    say(
      empty,
      view.status
        ? `No decision is ${view.status}.`
        : "No decisions yet. Press Decide (d), or POST to this bandit’s /decisions: they appear here as they come.",
    );
  }
  return { root, view, update, newest: (status) => shownNow.find((one) => !status || one.status === status) };
}

function makeRow(decision, { explain, refresh }, isNew) {
  const { id, time, round } = decision;
  const chips = el("ul", { class: "chips", role: "list" });
  const tellButton = el(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `Tell outcomes of decision ${id}`,
      onclick: () => openTell(row.decision, refresh),
    },
    "Tell…",
  );
  const row = el(
    "li",
    { class: isNew ? "decision arrived" : "decision" },
    el(
      "div",
      { class: "line" },
      el("time", { datetime: new Date(time * 1000).toISOString(), title: moment(time) }, clock(time)),
      el("span", { class: "status" }),
      el("span", { class: "muted round" }, `round ${round}`),
      el("code", { class: "muted id" }, id),
      el("span", { class: "space" }),
      tellButton,
      el(
        "button",
        { type: "button", class: "quiet small", "aria-label": `Explain decision ${id}`, onclick: () => explain(id) },
        "Explain",
      ),
    ),
    chips,
  );
  return row;
}

function updateRow(row, decision) {
  const now = JSON.stringify([decision.status, decision.outcomes]);
  row.decision = decision;
  if (row.dataset.now === now) return;
  row.dataset.now = now;
  const [line, chips] = row.children;
  const status = line.querySelector(".status");
  status.className = `status ${decision.status}`;
  say(status, decision.status);
  const tellButton = line.querySelector("button");
  if (decision.status !== "open" && document.activeElement === tellButton)
    line.querySelector("button + button").focus();
  tellButton.hidden = decision.status !== "open";
  const rest = decision.arms.length - MOST_CHIPS;
  chips.replaceChildren(
    ...decision.arms.slice(0, MOST_CHIPS).map((arm) => chip(arm, outcomeOf(decision, arm))),
    ...(rest > 0 ? [el("li", { class: "muted" }, `and ${rest} more`)] : []),
  );
}

function chip(arm, outcome) {
  const told = outcome !== undefined && outcome !== null;
  const kind = !told ? "chip" : outcome >= 0.5 ? "chip good" : "chip poor";
  return el(
    "li",
    { class: kind },
    nameOf(arm),
    told && el("span", { class: "outcome" }, el("span", { class: "hidden" }, "outcome "), number(outcome)),
  );
}
