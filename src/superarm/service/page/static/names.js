// Names of arms and bandits come from outside and can contain anything.

import { html } from "./html.js";

// Control characters, and the marks that reverse the direction of the text around them.
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const REPLACEMENT = "\ufffd";

/**
 * The name as people see it. A name of blanks alone is shown in quotes.
 * @param {string} name
 */
export function visible(name) {
  const isBlank = !/[^\p{C}\p{Z}]/u.test(name);
  return (isBlank ? JSON.stringify(name) : name).replace(INVISIBLE, REPLACEMENT);
}

/**
 * A name, isolated from the text direction around it, with the whole name as tooltip.
 * @param {{ name: string }} props
 */
export const Name = ({ name }) =>
  html`<bdi class="name" title=${visible(name)}>${visible(name)}</bdi>`;
