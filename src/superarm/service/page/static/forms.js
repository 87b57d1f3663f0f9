// Dialogs in which a person does what programs do over HTTP: decide, tell outcomes, add arms.

/** @import { Bandit, Decision } from "../types" */

import { addArms, decide, deleteBandit, key, Problem, tell } from "./api.js";
import { Button, Field, numbersOf, TextArea, valueOf } from "./controls.js";
import { lines, plural } from "./format.js";
import { html, useRef } from "./html.js";
import { Name, visible } from "./names.js";
import { Form, ProblemBox, usePage } from "./panels.js";

/**
 * The outcome of an arm, if it is known. hasOwn, because an arm may be called "constructor".
 * @param {Decision} decision
 * @param {string} arm
 */
export const outcomeOf = ({ outcomes }, arm) =>
  outcomes && Object.hasOwn(outcomes, arm) ? outcomes[arm] : undefined;

/** @param {{ decision: Decision, done: () => void }} props */
export function TellForm({ decision, done }) {
  const rows = useRef(/** @type {HTMLDivElement | null} */ (null));
  const open = decision.arms.filter((arm) => outcomeOf(decision, arm) === undefined);
  const inputs = () => [...(rows.current?.querySelectorAll("input") ?? [])];

  /** @type {(places: number[], value: number) => void} */
  const fill = (places, value) =>
    places.forEach((place) => (inputs()[place].value = String(value)));

  /** @type {(label: string, places: number[], value: number, name?: string) => unknown} */
  const quick = (label, places, value, name) =>
    html`<${Button} class="small" aria-label=${name ?? label} onclick=${() => fill(places, value)}>
      ${label}
    <//>`;

  const all = [...open.keys()];
  return html`<${Form} submit="Tell" send=${() => tell(decision.id, given(open, inputs()))}
    done=${done}>
    <p class="muted">
      The outcome of each arm, from 0 to 1. Leave a field empty if its outcome is not known yet. You
      can tell it later.
    </p>
    <div class="outcome-row">
      <span class="muted">Decision ${decision.id}</span><span></span>
      ${quick("all 0", all, 0)} ${quick("all 1", all, 1)}
    </div>
    <div class="outcomes" ref=${rows}>
      ${open.map(
        (arm, place) =>
          html`<div class="outcome-row">
            <${Name} name=${arm} />
            <input type="number" name=${`outcome-${place}`} min="0" max="1" step="any"
              inputmode="decimal" placeholder="not yet" data-focus=${place === 0 ? "" : null}
              aria-label=${`Outcome of ${visible(arm)}, from 0 to 1`} />
            ${quick("0", [place], 0, `Outcome 0 for ${visible(arm)}`)}
            ${quick("1", [place], 1, `Outcome 1 for ${visible(arm)}`)}
          </div>`,
      )}
    </div>
  <//>`;
}

/**
 * @param {string[]} arms
 * @param {HTMLInputElement[]} inputs
 */
function given(arms, inputs) {
  const known = arms
    .map((arm, place) => /** @type {const} */ ([arm, asOutcome(inputs[place])]))
    .filter(([, value]) => value !== null);
  if (known.length) return Object.fromEntries(known);
  throw new Problem({
    detail: "No outcome is given",
    fix: "Give the outcome of at least one arm. You can tell the others later.",
  });
}

/**
 * Text that is no number is sent as it is, and the server says what it expects.
 * @param {HTMLInputElement} input
 */
function asOutcome(input) {
  if (input.validity.badInput) return "not a number";
  return input.value.trim() === "" ? null : Number(input.value);
}

/** @param {{ bandit: Bandit, done: () => void }} props */
export function DecideForm({ bandit, done }) {
  const { note } = usePage();
  const nNumbers = bandit.spec.belief.context;
  /** @param {HTMLFormElement} form */
  const send = (form) => decide(bandit.id, constraintsOf(form));
  /** @param {Awaited<ReturnType<typeof decide>>} answer */
  const decided = (answer) => {
    note(`Decided: ${plural(answer.decisions?.length ?? 1, "new decision")}.`);
    done();
  };
  return html`<${Form} submit="Decide" send=${send} done=${decided}>
    ${
      nNumbers &&
      html`<${Field} name="context" label="Context of this round"
        hint=${`${plural(nNumbers, "number")}, with commas.`} autocomplete="off" required
        data-focus />`
    }
    <div class="pair">
      <${Field} name="n" label="Decisions" hint="All are drawn from the same knowledge."
        type="number" min="1" defaultValue="1" data-focus=${nNumbers ? null : ""} />
      <${Field} name="k" label="Arms per decision (k)" hint=${`The default is ${bandit.k}.`}
        type="number" min="1" placeholder=${bandit.k} />
    </div>
    <${TextArea} name="must" label="Arms that must be in" rows="3" hint="One name per line." />
    <${TextArea} name="must_not" label="Arms that must not be in" rows="3"
      hint="One name per line." />
  <//>`;
}

/** @param {HTMLFormElement} form */
function constraintsOf(form) {
  const [n, k] = [valueOf(form, "n"), valueOf(form, "k")];
  const context = valueOf(form, "context");
  const [must, mustNot] = [lines(valueOf(form, "must")), lines(valueOf(form, "must_not"))];
  // JSON.stringify leaves out members that are undefined.
  return {
    n: Number(n) === 1 ? undefined : Number(n),
    k: k === "" ? undefined : Number(k),
    must: must.length ? must : undefined,
    must_not: mustNot.length ? mustNot : undefined,
    context: context === "" ? undefined : numbersOf(context),
  };
}

/** @param {{ id: string, nFeatures?: number, done: () => void }} props */
export function AddArmsForm({ id, nFeatures, done }) {
  const { note } = usePage();
  /** @param {HTMLFormElement} form */
  const send = async (form) => {
    const names = lines(valueOf(form, "names"));
    const features = lines(valueOf(form, "features")).map(numbersOf);
    await addArms(id, names, features.length ? features : undefined);
    return names;
  };
  /** @param {string[]} names */
  const added = (names) => {
    note(`Added ${plural(names.length, "arm")}.`);
    done();
  };
  return html`<${Form} submit="Add" send=${send} done=${added}>
    <${TextArea} name="names" label="Names, one per line"
      hint="A retired arm is restored with everything that is known about it." rows="6" required
      data-focus />
    ${
      nFeatures &&
      html`<${TextArea} name="features" label="Features, one line per arm" rows="4"
        hint=${`${plural(nFeatures, "number")} per line. Without any, the arms are average ones.`} />`
    }
  <//>`;
}

/** @param {{ bandit: Bandit, done: () => void }} props */
export function DeleteForm({ bandit, done }) {
  const { note } = usePage();
  const deleted = () => {
    note(`Deleted ${visible(bandit.name)}.`);
    done();
  };
  return html`<${Form} submit="Delete" send=${() => deleteBandit(bandit)} done=${deleted}>
    <p>
      <${Name} name=${bandit.name} /> has ${plural(bandit.decisions, "decision")}. They are deleted
      with their outcomes and the log. This cannot be undone.
    </p>
  <//>`;
}

/** @param {{ error?: Error | null, done: () => void }} props */
export function KeyForm({ error, done }) {
  /** @param {HTMLFormElement} form */
  const send = async (form) => key.set(valueOf(form, "api-key"));
  return html`<${Form} submit="Use this key" send=${send} done=${done}>
    ${error && html`<${ProblemBox} error=${error} />`}
    <${Field} name="api-key" label="Key"
      hint="Stored in this tab only, until you close it. Leave empty to forget the key."
      type="password" autocomplete="off" defaultValue=${key.get()} data-focus />
  <//>`;
}
