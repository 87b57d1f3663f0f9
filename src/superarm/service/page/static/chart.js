// A line over rounds, with axes. The arrow keys or the pointer read off its points. Where single points say little, as
// outcomes of one decision do, they are dots, and the line is the mean of some of them.

import { el, say, svg } from "./dom.js";
import { clock, count, number, plural, ticks } from "./words.js";

const HEIGHT = 232;
const EDGE = { left: 48, right: 14, top: 12, bottom: 44 };

export function lineChart({ label, averaged }) {
  const picture = svg("svg", { class: "chart", height: HEIGHT, role: "img", tabindex: 0 });
  const readout = el("p", { class: "readout muted", "aria-live": "off" });
  const hint = el("p", { class: "empty" });
  const root = el("div", { class: "chart-box" }, picture, readout, hint);
  let points = [];
  let value = "estimate";
  let chosen = null;
  let marks = null;

  function draw() {
    const width = picture.clientWidth;
    picture.style.display = points.length ? "" : "none";
    readout.hidden = points.length === 0;
    hint.hidden = points.length > 0;
    say(hint, `Here the ${label[value]} is drawn, round by round, once there is something to draw.`);
    if (points.length === 0 || width === 0) return;
    marks = scales(points, value, width);
    picture.replaceChildren(
      ...axes(marks, width),
      ...curve(points, value, marks),
      pointer(points, value, marks, chosen, width),
    );
    picture.setAttribute(
      "aria-label",
      `${label[value]}: ${points.length} points, the last ${number(points.at(-1)[value])} at round ${count(points.at(-1).round)}. Arrow keys read them.`,
    );
    const shownPoint = points[chosen ?? points.length - 1];
    const mean =
      averaged.includes(value) && points.length > 1
        ? `, mean of ${plural(shownPoint.n_averaged, "point")} ${number(shownPoint.line)}`
        : "";
    say(
      readout,
      `Round ${count(shownPoint.round)} at ${clock(shownPoint.time)}: ${label[value]} ${number(shownPoint[value])}${mean}`,
    );
  }

  picture.addEventListener("pointermove", (event) => {
    if (!marks) return;
    const x = event.clientX - picture.getBoundingClientRect().left;
    chosen = points.reduce(
      (best, point, place) =>
        Math.abs(marks.x(point.round) - x) < Math.abs(marks.x(points[best].round) - x) ? place : best,
      0,
    );
    draw();
  });
  picture.addEventListener("pointerleave", () => ((chosen = null), draw()));
  picture.addEventListener("blur", () => ((chosen = null), readout.setAttribute("aria-live", "off"), draw()));
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || points.length === 0) return;
    event.preventDefault();
    readout.setAttribute("aria-live", "polite");
    chosen = Math.min(Math.max((chosen ?? points.length - 1) + step, 0), points.length - 1);
    draw();
  });
  new ResizeObserver(draw).observe(root);

  return {
    root,
    update(given, which = value) {
      value = which;
      const known = given.filter((point) => Number.isFinite(point[which]));
      points = smooth(known, which, averaged.includes(which) ? Math.min(Math.ceil(known.length / 10), 20) : 1);
      chosen = chosen === null ? null : Math.min(chosen, points.length - 1);
      draw();
    },
  };
}

// Each point with the mean of the last few up to it.
function smooth(points, value, window) {
  return points.map((point, place) => {
    const last = points.slice(Math.max(0, place - window + 1), place + 1);
    return { ...point, line: last.reduce((sum, one) => sum + one[value], 0) / last.length, n_averaged: last.length };
  });
}

function scales(points, value, width) {
  const ys = points.map((point) => point[value]);
  const yTicks = ticks(Math.min(0, ...ys), Math.max(...ys), 4);
  const [first, last] = [points[0].round, points.at(-1).round];
  const xTicks = ticks(first, Math.max(last, first + 1), Math.max(4, Math.floor(width / 110))).filter(
    (mark) => mark >= first && mark <= last && Number.isInteger(mark),
  );
  const across = (x, low, high, from, to) => from + ((x - low) / (high - low || 1)) * (to - from);
  return {
    xTicks,
    yTicks,
    x: (round) => across(round, first, last === first ? first + 1 : last, EDGE.left, width - EDGE.right),
    y: (given) => across(given, yTicks[0], yTicks.at(-1), HEIGHT - EDGE.bottom, EDGE.top),
  };
}

function axes({ x, y, xTicks, yTicks }, width) {
  const bottom = HEIGHT - EDGE.bottom;
  return [
    ...yTicks.flatMap((mark) => [
      svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(mark), y2: y(mark) }),
      svg("text", { x: EDGE.left - 8, y: y(mark) + 4, "text-anchor": "end" }, number(mark)),
    ]),
    ...xTicks.flatMap((mark) => [
      svg("line", { class: "tick", x1: x(mark), x2: x(mark), y1: bottom, y2: bottom + 4 }),
      svg("text", { x: x(mark), y: bottom + 18, "text-anchor": "middle" }, count(mark)),
    ]),
    svg("text", { x: (EDGE.left + width - EDGE.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "round"),
    svg("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: bottom, y2: bottom }),
  ];
}

function curve(points, value, { x, y }) {
  if (points.length === 1)
    return [svg("circle", { class: "dot", cx: x(points[0].round), cy: y(points[0][value]), r: 3.5 })];
  const path = points
    .map((point, place) => `${place ? "L" : "M"}${x(point.round).toFixed(1)} ${y(point.line).toFixed(1)}`)
    .join("");
  const dots = points.filter((point) => point.line !== point[value]);
  const base = y(0);
  const area = `${path}L${x(points.at(-1).round).toFixed(1)} ${base}L${x(points[0].round).toFixed(1)} ${base}Z`;
  return [
    svg("path", { class: "area", d: area }),
    ...dots.map((point) => svg("circle", { class: "point", cx: x(point.round), cy: y(point[value]), r: 2 })),
    svg("path", { class: "line", d: path }),
  ];
}

function pointer(points, value, { x, y }, chosen, width) {
  const point = points[chosen ?? points.length - 1];
  const place = x(point.round);
  return svg(
    "g",
    { class: chosen === null ? "pointer at-end" : "pointer" },
    svg("line", { x1: place, x2: place, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
    svg("circle", { class: "dot", cx: Math.min(place, width - 4), cy: y(point.line), r: 4 }),
  );
}
