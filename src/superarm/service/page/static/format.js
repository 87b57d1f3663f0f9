// Numbers and times as people read them.

const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 1,
});

/** @typedef {number | null | undefined} MaybeNumber */

/** @param {MaybeNumber} n */
export function count(n) {
  if (n === null || n === undefined) return UNKNOWN;
  return n < 1e6 ? whole.format(n) : compact.format(n);
}

/**
 * @param {number} n
 * @param {string} one
 */
export const plural = (n, one) => `${count(n)} ${n === 1 ? one : `${one}s`}`;

/**
 * Three significant digits, without an exponent where that is short.
 * @param {MaybeNumber} x
 */
export function number(x) {
  if (x === null || x === undefined) return UNKNOWN;
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(1).replace("e+", "e");
  if (size >= 1000) return whole.format(x);
  return String(Number(x.toPrecision(3)));
}

/**
 * A mean or an outcome. Three decimals align in columns. Small values get a fourth decimal.
 * @param {MaybeNumber} x
 */
export function share(x) {
  if (x === null || x === undefined) return UNKNOWN;
  if (Math.abs(x) >= 10) return number(x);
  return x !== 0 && Math.abs(x) < 0.0995 ? x.toFixed(4) : x.toFixed(3);
}

/**
 * A probability. It is not rounded to 0% or 100% unless it is.
 * @param {number} p
 */
export function percent(p) {
  if (p > 0 && p < 0.001) return "below 0.1%";
  if (p < 1 && p > 0.999) return "above 99.9%";
  return `${Number((100 * p).toPrecision(3))}%`;
}

/**
 * What is added to a mean.
 * @param {MaybeNumber} x
 */
export const signed = (x) => (isPositive(x) ? `+${share(x)}` : share(x));

/** @param {MaybeNumber} x */
const isPositive = (x) => typeof x === "number" && x > 0;

/**
 * @param {MaybeNumber} low
 * @param {MaybeNumber} high
 */
export const range = (low, high) => `${share(low)} to ${share(high)}`;

/** @param {number} seconds */
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

/** @param {number} seconds */
export const moment = (seconds) =>
  new Date(seconds * 1000).toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "medium",
  });

/**
 * Round numbers from at or below `low` to at or above `high`, about `wanted` of them.
 * @param {number} low
 * @param {number} high
 * @param {number} wanted
 * @returns {number[]}
 */
export function ticks(low, high, wanted) {
  if (!(high > low)) return ticks(low - 0.5, low + 0.5, wanted);
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const sizes = [1, 2, 2.5, 5, 10].map((factor) => factor * power);
  const step = sizes.find((size) => size >= rough * 0.999) ?? 10 * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  // 12 digits hide the rounding errors of binary fractions.
  return Array.from({ length: last - first + 1 }, (_, place) =>
    Number(((first + place) * step).toPrecision(12)),
  );
}

/**
 * The non-empty lines of a text field.
 * @param {string} text
 */
export const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
