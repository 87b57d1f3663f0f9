// The form for a new bandit. Beliefs, oracles and rewards come from the catalog of the server.

/** @import { Bandit, Parameter, Part, Parts } from "../types" */

import { create, parts, Problem } from "./api.js";
import { Field, NumberField, numbersOf, TextArea, valueOf } from "./controls.js";
import { count, lines } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { Form, ProblemBox } from "./panels.js";

const ARMS_HINT = "One name per line. A single number makes that many arms, named 0, 1, 2, …";
const FEATURES_HINT =
  "One line per arm, in their order: what is known of the arm, as numbers with commas.";
// Which parts are chosen at first. An empty name leaves the choice to the server.
const DEFAULTS = { reward: "linear", oracle: "", belief: "" };
/**
 * What the server chooses: the option, and its hint.
 * @type {Record<string, string[]>}
 */
const AUTOMATIC = {
  oracle: ["Automatic", "The server chooses one that fits the reward."],
  belief: [
    "Automatic: Thompson sampling, learned prior",
    "Learns from all arms how good arms are, for few rounds and for many.",
  ],
};

/** @param {{ done: (made: Bandit) => void }} props */
export function CreateForm({ done }) {
  const [known, setKnown] = useState(/** @type {Parts | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [chosen, setChosen] = useState(DEFAULTS);
  const [armsHint, setArmsHint] = useState(ARMS_HINT);
  useEffect(() => void parts().then(setKnown, setError), []);

  /** @param {{ currentTarget: HTMLTextAreaElement }} event */
  const countArms = ({ currentTarget: { value } }) => {
    const arms = armsOf(value);
    const n = typeof arms === "number" ? arms : arms.length;
    setArmsHint(value.trim() === "" ? ARMS_HINT : `${count(n)} arms`);
  };

  /** @type {(kind: keyof typeof DEFAULTS, label: string, list: Part[] | undefined) => unknown} */
  const partFields = (kind, label, list) =>
    html`<${PartFields} kind=${kind} label=${label} list=${list ?? []}
      oracles=${known?.oracles ?? []} chosen=${chosen[kind]}
      onchoose=${(/** @type {string} */ name) => setChosen({ ...chosen, [kind]: name })} />`;

  /** @param {HTMLFormElement} form */
  const send = async (form) => create(bodyOf(form, known, chosen));
  return html`<${Form} submit="Create" send=${send} done=${done}>
    <${Field} name="name" label="Name" placeholder="front page" autocomplete="off" required
      data-focus />
    <${TextArea} name="arms" label="Arms" hint=${armsHint} rows="6"
      placeholder=${"budget\nstorm\nrecipe"} oninput=${countArms} required />
    <${Field} name="k" label="Arms per decision (k)" type="number" min="1" step="1"
      defaultValue="2" />
    <details>
      <summary>More: reward, oracle, belief, expiry, seed, hold-out</summary>
      ${error && html`<${ProblemBox} error=${error} />`}
      ${partFields("reward", "Reward of a set", known?.rewards)}
      ${partFields("oracle", "Oracle that picks the set", known?.oracles)}
      ${partFields("belief", "Belief about the arms", known?.beliefs)}
      ${
        hasFeatures(known, chosen.belief) &&
        html`<${TextArea} name="features" label="Features of the arms" hint=${FEATURES_HINT} rows="4"
          placeholder=${"3, 0.5\n9, 0.1\n4, 0.3"} />`
      }
      <div class="pair">
        <${NumberField} name="after_s" label="Decisions expire after (seconds)"
          placeholder="never" />
        <${NumberField} name="after_rounds" label="or after (rounds)" placeholder="never" />
      </div>
      <div class="pair">
        <${NumberField} name="missing" label="Outcome of arms missing at expiry" placeholder="none"
          max="1" />
        <${NumberField} name="seed" label="Seed" placeholder="random"
          hint="The same seed and calls give the same decisions." />
      </div>
      <${NumberField} name="holdout" label="Hold-out (share of decisions)" placeholder="none" max="1"
        hint="These decisions get a random set. The page shows what the policy gains over them." />
      <${TextArea} name="more" label="Anything else, as JSON"
        hint="Has priority over the fields above." rows="2" placeholder=${'{"keep": 100}'} />
    </details>
  <//>`;
}

/**
 * A choice among parts, and one field for each parameter of the chosen part.
 * @param {{
 *   kind: string, label: string, list: Part[], oracles: Part[], chosen: string,
 *   onchoose: (name: string) => void,
 * }} props
 */
function PartFields({ kind, label, list, oracles, chosen, onchoose }) {
  const part = list.find((one) => one.name === chosen);
  /** @param {{ currentTarget: HTMLSelectElement }} event */
  const onchange = ({ currentTarget }) => onchoose(currentTarget.value);
  return html`<${Field} as="select" name=${kind} label=${label}
      hint=${part?.sentence ?? AUTOMATIC[kind]?.[1]} onchange=${onchange}>
      ${AUTOMATIC[kind] && html`<option value="">${AUTOMATIC[kind][0]}</option>`}
      ${list.map(
        ({ name, label }) =>
          html`<option value=${name} selected=${name === chosen}>
            ${label === name ? name : `${label} (${name})`}
          </option>`,
      )}
    <//>
    ${
      part &&
      html`<div class="parameters">
        ${part.parameters.map(
          (parameter) =>
            html`<${ParameterField} key=${`${chosen}-${parameter.name}`}
              id=${`${kind}-${parameter.name}`} parameter=${parameter} oracles=${oracles} />`,
        )}
      </div>`
    }`;
}

/** @param {{ id: string, parameter: Parameter, oracles: Part[] }} props */
function ParameterField({ id, parameter, oracles }) {
  const { name, kind, sentence, required, least, most } = parameter;
  const common = {
    name: id,
    label: required ? `${name} (required)` : name,
    hint: sentence,
  };
  const choices = choicesOf(parameter, oracles);
  const standard = asPlaceholder(parameter.default);
  if (choices.length && kind !== "int" && kind !== "float") {
    return html`<${Field} as="select" ...${common}>
      <option value="">${standard || (required ? "choose one" : "not given")}</option>
      ${choices.map((choice) => html`<option value=${choice}>${choice}</option>`)}
    <//>`;
  }
  const placeholder = [standard, ...choices.filter((choice) => choice !== standard)].join(", or ");
  if (choices.length || (kind !== "int" && kind !== "float"))
    return html`<${Field} ...${common} placeholder=${placeholder} autocomplete="off" />`;
  const limits = { min: least, max: most, step: kind === "int" ? 1 : "any" };
  return html`<${Field} type="number" ...${common} ...${limits} placeholder=${standard} />`;
}

/**
 * @param {Parameter} parameter
 * @param {Part[]} oracles
 * @returns {string[]}
 */
function choicesOf({ kind, choices }, oracles) {
  if (kind === "oracle") return oracles.map(({ name }) => name);
  return kind === "bool" ? ["true", "false"] : (choices ?? []);
}

/** @param {unknown} value */
const asPlaceholder = (value) =>
  value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : `${value}`;

/**
 * @param {HTMLFormElement} form
 * @param {Parts | null} known
 * @param {typeof DEFAULTS} chosen
 */
function bodyOf(form, known, chosen) {
  const expiry = {
    after_s: numberOf(form, "after_s"),
    after_rounds: numberOf(form, "after_rounds"),
    missing: numberOf(form, "missing"),
  };
  return {
    name: valueOf(form, "name"),
    arms: armsOf(valueOf(form, "arms")),
    k: numberOf(form, "k"),
    reward: described(form, "reward", "name", known?.rewards, chosen.reward),
    oracle: described(form, "oracle", "kind", known?.oracles, chosen.oracle),
    belief: described(form, "belief", "kind", known?.beliefs, chosen.belief),
    features: rowsOf(valueOf(form, "features")),
    seed: numberOf(form, "seed"),
    holdout: numberOf(form, "holdout"),
    expiry: Object.values(expiry).some((value) => value !== undefined) ? expiry : undefined,
    ...objectOf(valueOf(form, "more")),
  };
}

/**
 * Beliefs with contexts are also those with features.
 * @type {(known: Parts | null, chosen: string) => boolean | undefined}
 */
const hasFeatures = (known, chosen) =>
  known?.beliefs
    .find(({ name }) => name === chosen)
    ?.parameters.some(({ name }) => name === "context");

/** @param {string} text */
const rowsOf = (text) => (text === "" ? undefined : lines(text).map(numbersOf));

/**
 * The chosen part with the parameters that are given, or undefined for the server's default.
 * @param {HTMLFormElement} form
 * @param {string} kind
 * @param {"name" | "kind"} nameMember
 * @param {Part[] | undefined} list
 * @param {string} chosen
 */
function described(form, kind, nameMember, list, chosen) {
  const part = list?.find(({ name }) => name === chosen);
  if (!part) return undefined;
  const given = part.parameters
    .map((parameter) => [parameter, valueOf(form, `${kind}-${parameter.name}`)])
    .filter(([, text]) => text !== "")
    .map(([parameter, text]) => valueFor(/** @type {any} */ (parameter), String(text)));
  return { [nameMember]: chosen, ...Object.fromEntries(given) };
}

/**
 * @param {Parameter} parameter
 * @param {string} text
 */
function valueFor({ name, kind, choices }, text) {
  if (kind === "oracle" || kind === "choice" || choices?.includes(text)) return [name, text];
  const isList = kind === "pair" || kind === "vector" || kind === "matrix";
  try {
    return [name, JSON.parse(isList && !text.startsWith("[[") ? `[${unwrapped(text)}]` : text)];
  } catch {
    const fix = isList ? "Write numbers with commas, such as 1, 1." : "Write a number.";
    throw new Problem({ detail: `${name} is not understood`, got: text, fix });
  }
}

/** @param {string} text */
const unwrapped = (text) => text.replace(/^\[|\]$/g, "");

/** @param {string} text */
function objectOf(text) {
  if (text === "") return {};
  try {
    const found = JSON.parse(text);
    if (found && typeof found === "object" && !Array.isArray(found)) return found;
  } catch {
    // The same problem as for JSON that is no object.
  }
  throw new Problem({
    detail: "Anything else must be a JSON object",
    got: text,
    fix: 'Write an object such as {"keep": 100}.',
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function numberOf(form, name) {
  const text = valueOf(form, name);
  return text === "" ? undefined : Number(text);
}

/** @param {string} text */
const armsOf = (text) => (/^\s*\d{1,9}\s*$/.test(text) ? Number(text) : lines(text));
