// What a person can do instead of a program: decide, with rules or without, and tell what came of it.

import { decide, Problem, tell } from "./api.js";
import { el, nameOf, shown } from "./dom.js";
import { field, note, openForm } from "./panels.js";
import { lines, plural } from "./words.js";

// An arm may be called "constructor".
export const outcomeOf = ({ outcomes }, arm) => (outcomes && Object.hasOwn(outcomes, arm) ? outcomes[arm] : undefined);

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
    send: async () => tell(decision.id, given(open, inputs)),
    done,
  });
}

function given(arms, inputs) {
  const known = arms.map((arm, place) => [arm, asOutcome(inputs[place])]).filter(([, value]) => value !== null);
  if (known.length) return Object.fromEntries(known);
  throw new Problem(
    { detail: "No outcome is given", fix: "Give that of one arm at least; the others may follow later." },
    0,
  );
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
