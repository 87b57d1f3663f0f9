// Buttons and fields.

/** @import { ComponentChildren } from "preact" */

import { Problem } from "./api.js";
import { html } from "./html.js";

/** @typedef {{ children?: ComponentChildren, [attribute: string]: any }} Attributes */

/** A button that does not submit a form. @param {Attributes} props */
export const Button = (props) => html`<button type="button" ...${props} />`;

/**
 * A choice outside a form.
 * @param {{
 *   label: string,
 *   options: [string | number, string][],
 *   onchoose: (value: string) => void,
 * }} props
 */
export const Select = ({ label, options, onchoose }) => html`<select aria-label=${label}
    onchange=${(/** @type {any} */ event) => onchoose(event.currentTarget.value)}>
    ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
  </select>`;

/**
 * A search outside a form.
 * @param {{ label: string, oninput: (text: string) => void, [attribute: string]: any }} props
 */
export const Search = ({ label, oninput, ...more }) => html`<input type="search" aria-label=${label}
    autocomplete="off"
    oninput=${(/** @type {any} */ event) => oninput(event.currentTarget.value.trim())}
    ...${more} />`;

/**
 * A label, its control, and a hint. Other attributes are those of the control.
 * @param {{ name: string, label: string, hint?: string | null, as?: string } & Attributes} props
 */
export function Field({ name, label, hint, as = "input", children, ...control }) {
  const id = `field-${name}`;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <${as} id=${id} name=${name} aria-describedby=${hint ? `${id}-hint` : null} ...${control}>
      ${children}
    <//>
    ${hint && html`<small id=${`${id}-hint`}>${hint}</small>`}
  </div>`;
}

/** @param {Attributes} props */
export const TextArea = (props) => html`<${Field} as="textarea" spellcheck=${false} ...${props} />`;

/** @param {Attributes} props */
export const NumberField = (props) =>
  html`<${Field} type="number" min="0" step="any" ...${props} />`;

/**
 * The numbers of a line, with commas or spaces between them.
 * @param {string} text
 */
export function numbersOf(text) {
  const numbers = text
    .split(/[\s,;]+/)
    .filter((part) => part !== "")
    .map(Number);
  if (!numbers.some(Number.isNaN)) return numbers;
  const fix = "Write numbers with commas, such as 3, 0.5.";
  throw new Problem({ detail: "Only numbers are understood", got: text, fix });
}

/**
 * The value of a field of a form, by its name.
 * @param {HTMLFormElement} form
 * @param {string} name
 */
export const valueOf = (form, name) => String(new FormData(form).get(name) ?? "").trim();
