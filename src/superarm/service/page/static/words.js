// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => (n === null || n === undefined ? "–" : n < 1e6 ? whole.format(n) : compact.format(n));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// Three significant digits, without an exponent where that is short.
export function number(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(1).replace("e+", "e");
  if (size >= 1000) return whole.format(x);
  return String(Number(x.toPrecision(3)));
}

// A mean or an outcome: three decimals, so that columns of them line up, or four where those say little.
export function share(x) {
  if (x === null || x === undefined) return "–";
  if (Math.abs(x) >= 10) return number(x);
  return x !== 0 && Math.abs(x) < 0.0995 ? x.toFixed(4) : x.toFixed(3);
}

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
export const moment = (seconds) =>
  new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });

// Round numbers from at or below `low` to at or above `high`, about `wanted` of them.
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return ticks(low - 0.5, low + 0.5, wanted);
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
}

export const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
