// A form for a new bandit: the three things that every bandit has, and the rest for those who want it.

import { create, Problem } from "./api.js";
import { el } from "./dom.js";
import { field, openForm } from "./panels.js";
import { count, lines } from "./words.js";

const BELIEFS = [
  ["", "Beta posterior (beta)"],
  ["discounted", "Beta that forgets slowly (discounted)"],
  ["sliding", "Beta of the last outcomes (sliding)"],
  ["gaussian", "Gaussian posterior (gaussian)"],
  ["ucb", "Upper confidence bounds (ucb)"],
  ["kl_ucb", "KL upper confidence bounds (kl_ucb)"],
];
const REWARDS = [
  ["", "Sum of the arms (linear)"],
  ["any_success", "At least one success (any_success)"],
];
const ORACLES = [
  ["", "What fits the reward"],
  ["top_k", "Largest values, for sums (top_k)"],
  ["singletons", "Every arm alone (singletons)"],
  ["lazy_singletons", "The same, with few evaluations (lazy_singletons)"],
  ["greedy", "One after the other (greedy)"],
  ["lazy_greedy", "The same, with few evaluations (lazy_greedy)"],
  ["local_search", "Swaps until none helps (local_search)"],
];

const choice = (name, options) =>
  el(
    "select",
    { name },
    options.map(([value, label]) => el("option", { value }, label)),
  );
const numeric = (name, more) => el("input", { type: "number", name, step: "any", ...more });

export function openCreate(done) {
  const name = el("input", {
    name: "name",
    required: true,
    autofocus: true,
    autocomplete: "off",
    placeholder: "front page",
  });
  const arms = el("textarea", {
    name: "arms",
    rows: 6,
    required: true,
    spellcheck: "false",
    placeholder: "budget\nstorm\nrecipe",
  });
  const k = numeric("k", { min: 1, step: 1, value: 2 });
  const armsHint = "One name a line. A single number makes that many arms, called 0, 1, 2, …";
  const [belief, reward, oracle] = [choice("belief", BELIEFS), choice("reward", REWARDS), choice("oracle", ORACLES)];
  const [a, b] = [numeric("prior_a", { min: 0, placeholder: 1 }), numeric("prior_b", { min: 0, placeholder: 1 })];
  const [after, rounds] = [
    numeric("after_s", { min: 0, placeholder: "never" }),
    numeric("after_rounds", { min: 1, step: 1, placeholder: "never" }),
  ];
  const missing = numeric("missing", { min: 0, max: 1, placeholder: "nothing" });
  const seed = numeric("seed", { min: 0, step: 1, placeholder: "random" });
  const more = el("textarea", {
    name: "more",
    rows: 2,
    spellcheck: "false",
    placeholder: '{"oracle": {"kind": "group_testing", "delta": 0.25}}',
  });
  const armsField = field("Arms", arms, armsHint);
  arms.addEventListener("input", () => {
    const given = asArms(arms.value);
    armsField.lastChild.textContent =
      arms.value.trim() === "" ? armsHint : `${count(typeof given === "number" ? given : given.length)} arms`;
  });
  return openForm("New bandit", {
    fields: [
      field("Name", name),
      armsField,
      field("Arms in each decision (k)", k),
      el(
        "details",
        null,
        el("summary", null, "More: reward, oracle, belief, expiry, seed"),
        field("Reward of a set", reward),
        field("Oracle that picks the set", oracle),
        field("Belief about the arms", belief),
        el("div", { class: "pair" }, field("Prior successes", a), field("Prior failures", b)),
        el(
          "div",
          { class: "pair" },
          field("Decisions expire after (seconds)", after),
          field("or after (rounds)", rounds),
        ),
        el(
          "div",
          { class: "pair" },
          field("An arm not told about counts as", missing),
          field("Seed", seed, "The same seed and calls, the same decisions."),
        ),
        field("Anything else, as JSON", more, "Goes over the fields above: parameters, or rewards of your own."),
      ),
    ],
    submit: "Create",
    send: async () =>
      create(
        bodyOf(
          {
            name: name.value,
            arms: asArms(arms.value),
            k: asNumber(k),
            belief: belief.value || undefined,
            reward: reward.value || undefined,
            oracle: oracle.value || undefined,
            prior: a.value || b.value ? [asNumber(a) ?? 1, asNumber(b) ?? 1] : undefined,
            seed: asNumber(seed),
          },
          { after_s: asNumber(after), after_rounds: asNumber(rounds), missing: asNumber(missing) },
          asObject(more.value),
        ),
      ),
    done,
  });
}

function bodyOf(body, expiry, more) {
  const isGiven = Object.values(expiry).some((value) => value !== undefined);
  return { ...body, ...(isGiven ? { expiry } : {}), ...more };
}

function asObject(text) {
  if (text.trim() === "") return {};
  try {
    const found = JSON.parse(text);
    if (found && typeof found === "object" && !Array.isArray(found)) return found;
  } catch {
    // falls through to the same words
  }
  throw new Problem(
    { detail: "Anything else must be a JSON object", got: text, fix: 'Write it like {"keep": 100}.' },
    0,
  );
}

const asNumber = (input) => (input.value === "" ? undefined : Number(input.value));
const asArms = (text) => (/^\s*\d{1,9}\s*$/.test(text) ? Number(text) : lines(text));
