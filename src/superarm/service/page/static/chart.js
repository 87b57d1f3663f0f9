// A quantity over rounds, as SVG. Pointer or arrow keys read single points.
// The reward of one decision varies a lot, so rewards are dots, and the line is a running mean.

/** @import { History } from "../types" */

import { Select } from "./controls.js";
import { clock, count, number, plural, ticks } from "./format.js";
import { html, useLayoutEffect, useRef, useState } from "./html.js";

const HEIGHT = 232;
const EDGE = { left: 36, right: 14, top: 12, bottom: 44 };
const BOTTOM = HEIGHT - EDGE.bottom;
const PIXELS_PER_TICK = 110;
const DIGIT = 8; // the most pixels that a digit of a label is wide
const MOST_AVERAGED = 20;
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 };

/** @type {Record<string, { title: string, label: string, isAveraged: boolean }>} */
const QUANTITIES = {
  estimate: {
    title: "Estimated reward",
    label: "estimated reward",
    isAveraged: true,
  },
  evaluations: {
    title: "Evaluations so far",
    label: "evaluations so far",
    isAveraged: false,
  },
};

const OPTIONS = Object.entries(QUANTITIES).map(([name, { title }]) => [name, title]);

/** @param {{ history: History, hasEvaluations: boolean, nMerged: number }} props */
export function HistoryChart({ history, hasEvaluations, nMerged }) {
  const [which, setWhich] = useState("estimate");
  const { label, isAveraged } = QUANTITIES[which];
  const points = pointsOf(history, which, isAveraged);
  const about =
    which === "estimate"
      ? aboutEstimate(history.estimate_is, points.length > 0)
      : "Number of sets whose reward was evaluated, over all rounds.";
  return html`<section class="card" aria-labelledby="chart-title">
    <header>
      <h2 id="chart-title">Over time</h2>
      ${
        hasEvaluations &&
        html`<${Select} label="What the chart shows" options=${OPTIONS} onchoose=${setWhich} />`
      }
    </header>
    ${
      points.length > 0
        ? html`<${Chart} points=${points} label=${label} />`
        : html`<p class="empty">${emptyText(history, label, nMerged)}</p>`
    }
    <p class="muted about">${about}</p>
  </section>`;
}

/**
 * @param {History} history
 * @param {string} label
 * @param {number} nMerged
 */
function emptyText({ points }, label, nMerged) {
  if (points.some(({ told }) => told > 0)) return `The ${label} of this bandit is not known.`;
  if (nMerged > 0) return "Decisions from the edge are not in this chart.";
  return `The ${label} per round appears here after the first outcomes.`;
}

/**
 * @param {string} estimateIs what the server says the estimate is
 * @param {boolean} isDrawn
 */
function aboutEstimate(estimateIs, isDrawn) {
  if (!estimateIs) return "";
  if (!isDrawn) return `The estimate is ${estimateIs}.`;
  return `Dots are ${estimateIs.split(";")[0]}. The line is the mean of the last dots.`;
}

/**
 * @typedef {{ round: number, time: number, value: number, mean: number, nAveraged: number }} Point
 */

/**
 * Each point with the mean of the last tenth of the points up to it.
 * @param {History} history
 * @param {string} which
 * @param {boolean} isAveraged
 * @returns {Point[]}
 */
function pointsOf(history, which, isAveraged) {
  const known = history.points
    .map((point) => ({ ...point, value: /** @type {any} */ (point)[which] }))
    .filter((point) => Number.isFinite(point.value));
  const window = isAveraged ? Math.min(Math.ceil(known.length / 10), MOST_AVERAGED) : 1;
  return known.map(({ round, time, value }, place) => {
    const last = known.slice(Math.max(0, place - window + 1), place + 1);
    const mean = last.reduce((sum, one) => sum + one.value, 0) / last.length;
    return { round, time, value, mean, nAveraged: last.length };
  });
}

/** @param {{ points: Point[], label: string }} props */
function Chart({ points, label }) {
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  const [isSpoken, setSpoken] = useState(false);
  const picture = useRef(/** @type {SVGSVGElement | null} */ (null));
  const width = useWidth(picture);
  const scales = scalesOf(points, width);
  const place = Math.min(chosen ?? Infinity, points.length - 1);
  const read = points[place];
  const last = points[points.length - 1];

  /** @param {PointerEvent} event */
  const onpointermove = (event) => {
    const x = event.clientX - (picture.current?.getBoundingClientRect().left ?? 0);
    const distances = points.map(({ round }) => Math.abs(scales.x(round) - x));
    setChosen(distances.indexOf(Math.min(...distances)));
  };
  /** @param {KeyboardEvent} event */
  const onkeydown = (event) => {
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    if (step === undefined) return;
    event.preventDefault();
    setSpoken(true);
    setChosen(Math.min(Math.max(place + step, 0), points.length - 1));
  };
  const onblur = () => {
    setSpoken(false);
    setChosen(null);
  };

  const summary = `${label}: ${plural(points.length, "point")}, the last ${number(last.value)}`;
  const mean = read.nAveraged > 1 ? `, mean of ${read.nAveraged} points ${number(read.mean)}` : "";
  const readout = `${label} ${number(read.value)}${mean}`;
  return html`<svg ref=${picture} class="chart" height=${HEIGHT} role="img" tabindex="0"
      aria-label=${`${summary} at round ${count(last.round)}. Arrow keys read them.`}
      onpointermove=${onpointermove} onpointerleave=${() => setChosen(null)} onkeydown=${onkeydown}
      onblur=${onblur}>
      <${Axes} scales=${scales} width=${width} />
      <${Curve} points=${points} scales=${scales} />
      <g class=${chosen === null ? "pointer at-end" : "pointer"}>
        <line x1=${scales.x(read.round)} x2=${scales.x(read.round)} y1=${EDGE.top} y2=${BOTTOM} />
        <circle class="dot" cx=${scales.x(read.round)} cy=${scales.y(read.mean)} r="4" />
      </g>
    </svg>
    <p class="readout muted" aria-live=${isSpoken ? "polite" : "off"}>
      Round ${count(read.round)} at ${clock(read.time)}: ${readout}
    </p>`;
}

/**
 * The width of an element in pixels, followed when it changes.
 * @param {{ current: Element | null }} ref
 */
function useWidth(ref) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const update = () => setWidth(ref.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(update);
    if (ref.current) observer.observe(ref.current);
    update();
    return () => observer.disconnect();
  }, []);
  return width;
}

/** @typedef {ReturnType<typeof scalesOf>} Scales */

/**
 * Functions from values to pixels, and the ticks of both axes.
 * @param {Point[]} points
 * @param {number} width
 */
function scalesOf(points, width) {
  const values = points.map(({ value }) => value);
  const yTicks = ticks(Math.min(0, ...values), Math.max(...values), 4);
  const [first, last] = [points[0].round, points[points.length - 1].round];
  const end = Math.max(last, first + 1);
  const nTicks = Math.max(4, Math.floor(width / PIXELS_PER_TICK));
  /** @type {(x: number, low: number, high: number, from: number, to: number) => number} */
  const across = (x, low, high, from, to) => from + ((x - low) / (high - low)) * (to - from);
  return {
    xTicks: ticks(first, end, nTicks).filter(
      (mark) => mark >= first && mark <= last && Number.isInteger(mark),
    ),
    yTicks,
    x: (/** @type {number} */ round) =>
      across(round, first, end, EDGE.left, Math.max(width, 1) - EDGE.right),
    y: (/** @type {number} */ value) =>
      across(value, yTicks[0], yTicks[yTicks.length - 1], BOTTOM, EDGE.top),
  };
}

/** @param {{ scales: Scales, width: number }} props */
function Axes({ scales: { x, y, xTicks, yTicks }, width }) {
  const right = width - EDGE.right;
  return html`${yTicks.map(
    (mark) =>
      html`<line class="grid" x1=${EDGE.left} x2=${right} y1=${y(mark)} y2=${y(mark)} />
          <text x=${EDGE.left - 8} y=${y(mark) + 4} text-anchor="end">${number(mark)}</text>`,
  )}
    ${xTicks.map((mark) => {
      const label = count(mark);
      // Beside the end of the axis there is no room for half of a long number.
      const isCut = x(mark) + (label.length * DIGIT) / 2 > width;
      const [at, anchor] = isCut ? [width, "end"] : [x(mark), "middle"];
      return html`<line class="tick" x1=${x(mark)} x2=${x(mark)} y1=${BOTTOM} y2=${BOTTOM + 4} />
          <text x=${at} y=${BOTTOM + 18} text-anchor=${anchor}>${label}</text>`;
    })}
    <text x=${(EDGE.left + right) / 2} y=${HEIGHT - 6} text-anchor="middle">round</text>
    <line class="axis" x1=${EDGE.left} x2=${right} y1=${BOTTOM} y2=${BOTTOM} />`;
}

/** @param {{ points: Point[], scales: Scales }} props */
function Curve({ points, scales: { x, y } }) {
  const path = points.map(({ round, mean }) => `${x(round).toFixed(1)} ${y(mean).toFixed(1)}`);
  const ends = [points[points.length - 1], points[0]].map(({ round }) => `${x(round)} ${y(0)}`);
  const dots = points.filter(({ value, mean }) => value !== mean);
  return html`<path class="area" d=${`M${[...path, ...ends].join("L")}Z`} />
    ${dots.map(
      ({ round, value }) => html`<circle class="point" cx=${x(round)} cy=${y(value)} r="2" />`,
    )}
    <path class="line" d=${`M${path.join("L")}`} />`;
}
