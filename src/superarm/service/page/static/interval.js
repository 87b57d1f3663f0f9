// A picture of one arm: an interval, its mean, and a sampled value.
// Positions are percentages, so the picture fits boxes of any width.

/** @import { ArmFigures } from "../types" */
/** @typedef {{ low: number, high: number, marks: number[] }} Domain */

import { number, ticks } from "./format.js";
import { html } from "./html.js";

const MARKS = 4;
const LEAST_HIGH = 0.01; // a domain must not be empty when all values are 0

/**
 * The axis for some arms: from 0 (or less) to a round number above all values.
 * @param {ArmFigures[]} rows
 * @returns {Domain}
 */
export function domainOf(rows) {
  const ends = rows
    .flatMap((row) => [row.low, row.high, row.mean, row.value])
    .filter((x) => isNumber(x));
  const marks = ticks(Math.min(0, ...ends), Math.max(...ends, LEAST_HIGH), MARKS);
  return { low: marks[0], high: /** @type {number} */ (marks.at(-1)), marks };
}

/**
 * @param {number | null | undefined} x
 * @returns {x is number}
 */
export const isNumber = (x) => Number.isFinite(x);

/**
 * @param {number} x
 * @param {Domain} domain
 */
function position(x, { low, high }) {
  const inside = Math.min(Math.max(x, low), high);
  return `${(100 * (inside - low)) / (high - low)}%`;
}

/**
 * The row that contains the picture says the same in words.
 * @param {{ arm: ArmFigures, domain: Domain, isOut?: boolean }} props
 */
export function Interval({ arm: { mean, low, high, value }, domain, isOut = false }) {
  /** @param {number} x */
  const at = (x) => position(x, domain);
  // A sampled value is drawn above the interval, so that it does not hide the mean.
  const y = isNumber(value) ? "64%" : "50%";
  return html`<svg class=${isOut ? "interval out" : "interval in"} aria-hidden="true">
    ${domain.marks.map(
      (mark) => html`<line class="grid" x1=${at(mark)} x2=${at(mark)} y1="0" y2="100%" />`,
    )}
    ${
      isNumber(low) &&
      isNumber(high) &&
      html`<line class="range" x1=${at(low)} x2=${at(high)} y1=${y} y2=${y} />`
    }
    ${isNumber(mean) && html`<circle class="mean" cx=${at(mean)} cy=${y} r="4.5" />`}
    ${
      isNumber(value) &&
      html`<svg x=${at(value)} y="29%" overflow="visible">
        <path class="sampled" d="M0 -5.5 5.5 0 0 5.5 -5.5 0z" />
      </svg>`
    }
  </svg>`;
}

/**
 * The numbers under a column of pictures. Every second mark, because columns are narrow.
 * @param {{ domain: Domain }} props
 */
export const Scale = ({ domain }) =>
  html`<div class="arm scale-row">
    <span></span>
    <svg class="scale" aria-hidden="true">
      ${domain.marks
        .filter((_, place) => place % 2 === 0)
        .map(
          (mark) =>
            html`<text x=${position(mark, domain)} y="70%" text-anchor="middle"
              >${number(mark)}</text
            >`,
        )}
    </svg>
  </div>`;

/** @param {{ sampled?: boolean }} props */
export const Legend = ({ sampled = false }) =>
  html`<p class="key muted">
    <span class="swatch range"></span>95% interval <span class="swatch mean"></span>mean
    ${sampled && html`<span class="swatch sampled"></span>sampled`}
  </p>`;
