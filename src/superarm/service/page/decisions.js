// Decisions as they arrive, and the outcomes told about them.

import { decide, tell } from "./api.js";
import { el, keyed, nameOf, say, shown } from "./dom.js";
import { field, note, openForm } from "./panels.js";
import { clock, lines, moment, number, plural } from "./words.js";

const MOST_CHIPS = 12;

export function decisionsPanel({ id, refresh, explain, isNew }) {
  const view = { status: "", limit: 30 };
  const filter = el(
    "select",
    { "aria-label": "Which decisions" },
    [
      ["", "all"],
      ["open", "open"],
      ["told", "told"],
      ["expired", "expired"],
    ].map(([value, label]) => el("option", { value }, label)),
  );
  const list = el("ol", {
    class: "decisions",
    role: "list",
    tabindex: -1,
    "aria-label": "Decisions, the newest first",
  });
  const empty = el("p", { class: "empty" });
  filter.addEventListener("change", () => ((view.status = filter.value), refresh()));
  const root = el(
    "section",
    { class: "card", "aria-labelledby": "decisions-title" },
    el("header", null, el("h2", { id: "decisions-title" }, "Decisions"), filter),
    list,
    empty,
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
      el("span", { class: "muted id", title: id }, `round ${round}`),
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

// An arm may be called "constructor".
const outcomeOf = ({ outcomes }, arm) => (outcomes && Object.hasOwn(outcomes, arm) ? outcomes[arm] : undefined);

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

// An outcome for each arm that has none; those left empty can be told later.
export function openTell(decision, done) {
  const open = decision.arms.filter((arm) => outcomeOf(decision, arm) === undefined);
  const inputs = open.map((arm, place) =>
    el("input", {
      type: "number",
      name: `outcome-${place}`,
      min: 0,
      max: 1,
      step: "any",
      inputmode: "decimal",
      placeholder: "not yet",
      autofocus: place === 0,
      "aria-label": `Outcome of ${shown(arm)}, from 0 to 1`,
    }),
  );
  const set = (which, value) => which.forEach((input) => (input.value = value));
  const quick = (label, which, value, name) =>
    el("button", { type: "button", class: "small", "aria-label": name, onclick: () => set(which, value) }, label);
  openForm("Tell outcomes", {
    fields: [
      el(
        "p",
        { class: "muted" },
        "What each arm did, from 0 to 1. Leave empty what is not known yet: it can be told later.",
      ),
      el(
        "div",
        { class: "outcome-row" },
        el("span", { class: "muted" }, `Decision ${decision.id}`),
        el("span"),
        quick("all 0", inputs, 0),
        quick("all 1", inputs, 1),
      ),
      open.map((arm, place) =>
        el(
          "div",
          { class: "outcome-row" },
          nameOf(arm),
          inputs[place],
          quick("0", [inputs[place]], 0, `Outcome 0 for ${shown(arm)}`),
          quick("1", [inputs[place]], 1, `Outcome 1 for ${shown(arm)}`),
        ),
      ),
    ],
    submit: "Tell",
    send: async () =>
      tell(
        decision.id,
        Object.fromEntries(
          open.map((arm, place) => [arm, asOutcome(inputs[place])]).filter(([, value]) => value !== null),
        ),
      ),
    done,
  });
}

// What is no number is sent as it is: the server says what it expects.
const asOutcome = (input) =>
  input.value.trim() === "" && !input.validity.badInput
    ? null
    : input.validity.badInput
      ? "not a number"
      : Number(input.value);

export async function decideNow(id, body, refresh) {
  try {
    await decide(id, body);
  } catch (error) {
    note(error);
  }
  refresh();
}

export function openDecide(bandit, refresh) {
  const n = el("input", { type: "number", name: "n", min: 1, value: 1, autofocus: true });
  const k = el("input", { type: "number", name: "k", min: 1, placeholder: bandit.k });
  const [must, not] = ["must", "must_not"].map((name) => el("textarea", { name, rows: 3, spellcheck: "false" }));
  openForm("Decide with rules", {
    fields: [
      el(
        "div",
        { class: "pair" },
        field("Decisions", n, "Several are drawn from the same knowledge."),
        field("Arms in each (k)", k, `${bandit.k} unless given.`),
      ),
      field("Arms that must be in", must, "One a line."),
      field("Arms that must not be in", not, "One a line."),
    ],
    submit: "Decide",
    send: async () => decide(bandit.id, rules({ n: n.value, k: k.value, must: must.value, must_not: not.value })),
    done: (answer) => (note(`Decided: ${plural(answer.decisions?.length ?? 1, "new decision")}.`), refresh()),
  });
}

function rules({ n, k, must, must_not }) {
  const body = { n: Number(n) === 1 ? undefined : Number(n), k: k === "" ? undefined : Number(k) };
  if (lines(must).length) body.must = lines(must);
  if (lines(must_not).length) body.must_not = lines(must_not);
  return body;
}
