// One row of a picture: an interval, its mean and a sampled value. Places are per cent, so it is as wide as its box.

import { el, svg } from "./dom.js";
import { number, ticks } from "./words.js";

// From 0 (or below) to a round number that holds all ends.
export function domainOf(rows) {
  const ends = rows.flatMap((row) => [row.low, row.high, row.mean, row.value]).filter(Number.isFinite);
  const marks = ticks(Math.min(0, ...ends), Math.max(...ends, 0.01), 4);
  return { low: marks[0], high: marks.at(-1), marks };
}

const placeOf = (x, { low, high }) => `${(100 * (x - low)) / (high - low)}%`;
const at = (x, domain) => placeOf(Math.min(Math.max(x, domain.low), domain.high), domain);

// A picture of one arm; what it shows is said in the words of the row it stands in.
export function intervalOf({ mean, low, high, value }, domain, kind = "in") {
  const grid = domain.marks.map((mark) =>
    svg("line", { class: "grid", x1: at(mark, domain), x2: at(mark, domain), y1: 0, y2: "100%" }),
  );
  const known = Number.isFinite(low) && Number.isFinite(high);
  const isDrawn = Number.isFinite(value);
  const y = isDrawn ? "64%" : "50%"; // a sampled value stands above, so as not to hide the mean
  return svg(
    "svg",
    { class: `interval ${kind}`, "aria-hidden": "true" },
    grid,
    known && svg("line", { class: "range", x1: at(low, domain), x2: at(high, domain), y1: y, y2: y }),
    Number.isFinite(mean) && svg("circle", { class: "mean", cx: at(mean, domain), cy: y, r: 4.5 }),
    isDrawn &&
      svg(
        "svg",
        { x: at(value, domain), y: "29%", overflow: "visible" },
        svg("path", { class: "sampled", d: "M0 -5.5 5.5 0 0 5.5 -5.5 0z" }),
      ),
  );
}

// The numbers under a column of rows: every other one, for narrow columns.
export function scaleOf(domain) {
  return svg(
    "svg",
    { class: "scale", "aria-hidden": "true" },
    domain.marks.map(
      (mark, place) =>
        place % 2 === 0 && svg("text", { x: at(mark, domain), y: "70%", "text-anchor": "middle" }, number(mark)),
    ),
  );
}

export const keyOfPicture = (sampled) =>
  el(
    "p",
    { class: "key muted" },
    el("span", { class: "swatch range" }),
    "95% interval",
    el("span", { class: "swatch mean" }),
    "mean",
    sampled && [el("span", { class: "swatch sampled" }), "sampled"],
  );
