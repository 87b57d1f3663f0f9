// A quantity over rounds, drawn by uPlot. Pointer or arrow keys read single points.
// The reward of one decision varies a lot, so rewards are dots, and the line is a running mean.

/** @import { History } from "../types" */

import { clock, count, number, plural } from "./format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import uPlot from "./vendor/uplot.js";

const HEIGHT = 232;
const MOST_AVERAGED = 20;
const FONT =
  '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const STEPS = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: -Infinity,
  End: Infinity,
};
// Rounds are whole numbers.
const ROUND_STEPS = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((factor) => factor * 10 ** power),
).flat();

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

/** @param {{ history: History }} props */
export function HistoryChart({ history }) {
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
      <select
        aria-label="What the chart shows"
        onchange=${(/** @type {any} */ event) => setWhich(event.currentTarget.value)}
      >
        ${Object.entries(QUANTITIES).map(
          ([name, { title }]) => html`<option value=${name}>${title}</option>`,
        )}
      </select>
    </header>
    ${
      points.length > 0
        ? html`<${Chart} points=${points} label=${label} />`
        : html`<p class="empty">
            The ${label} per round appears here after the first outcomes.
          </p>`
    }
    <p class="muted about">${about}</p>
  </section>`;
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

/** @typedef {{ round: number, time: number, value: number, mean: number, nAveraged: number }} Point */

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
  const window = isAveraged
    ? Math.min(Math.ceil(known.length / 10), MOST_AVERAGED)
    : 1;
  return known.map(({ round, time, value }, place) => {
    const last = known.slice(Math.max(0, place - window + 1), place + 1);
    const mean = last.reduce((sum, one) => sum + one.value, 0) / last.length;
    return { round, time, value, mean, nAveraged: last.length };
  });
}

/** @param {{ points: Point[], label: string }} props */
function Chart({ points, label }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  const [isSpoken, setSpoken] = useState(false);

  useLayoutEffect(() => {
    const element = /** @type {HTMLDivElement} */ (box.current);
    plot.current = new uPlot(
      optionsFor(element, setChosen),
      dataOf(points),
      element,
    );
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    resize.observe(element);
    // A canvas does not follow changes of CSS colours by itself.
    const recolour = new MutationObserver(() => plot.current?.redraw(false));
    recolour.observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    return () => {
      resize.disconnect();
      recolour.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(points)), [points]);

  /** @param {number | null} place */
  const choose = (place) => {
    const left =
      place === null
        ? -1
        : (plot.current?.valToPos(points[place].round, "x") ?? -1);
    plot.current?.setCursor({ left, top: 0 });
  };
  /** @param {KeyboardEvent} event */
  const onkeydown = (event) => {
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    if (step === undefined) return;
    event.preventDefault();
    setSpoken(true);
    const from = chosen ?? points.length - 1;
    choose(Math.min(Math.max(from + step, 0), points.length - 1));
  };
  const onblur = () => {
    setSpoken(false);
    choose(null);
  };

  const last = points[points.length - 1];
  const read = points[chosen ?? points.length - 1] ?? last;
  const summary = `${label}: ${plural(points.length, "point")}, the last ${number(last.value)} at round ${count(last.round)}. Arrow keys read them.`;
  const mean =
    read.nAveraged > 1
      ? `, mean of ${read.nAveraged} points ${number(read.mean)}`
      : "";
  return html`<div class=${chosen === null ? "chart-box" : "chart-box is-read"}>
    <div
      ref=${box}
      class="chart"
      role="img"
      tabindex="0"
      aria-label=${summary}
      onkeydown=${onkeydown}
      onblur=${onblur}
    ></div>
    <p class="readout muted" aria-live=${isSpoken ? "polite" : "off"}>
      Round ${count(read.round)} at ${clock(read.time)}: ${label}
      ${number(read.value)}${mean}
    </p>
  </div>`;
}

/**
 * @param {Point[]} points
 * @returns {uPlot.AlignedData}
 */
const dataOf = (points) => [
  points.map(({ round }) => round),
  points.map(({ value, mean }) => (value === mean ? null : value)),
  points.map(({ mean }) => mean),
];

/**
 * @param {HTMLElement} element
 * @param {(place: number | null) => void} onchoose
 * @returns {uPlot.Options}
 */
function optionsFor(element, onchoose) {
  /** @type {(name: string) => () => string} */
  const colour = (name) => () =>
    getComputedStyle(element).getPropertyValue(name).trim();
  /** @type {uPlot.Axis} */
  const axis = {
    font: FONT,
    labelFont: FONT,
    stroke: colour("--muted"),
    ticks: { show: false },
  };
  const line = colour("--accent");
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: {
        time: false,
        range: (_, low, high) => [low, Math.max(high, low + 1)],
      },
      y: { range: { min: { pad: 0, soft: 0, mode: 1 }, max: { pad: 0.1 } } },
    },
    axes: [
      {
        ...axis,
        label: "round",
        labelSize: 18,
        size: 26,
        incrs: ROUND_STEPS,
        grid: { show: false },
        border: { show: true, stroke: colour("--strong-line"), width: 1 },
        values: (_, marks) => marks.map(count),
      },
      {
        ...axis,
        size: 48,
        grid: { stroke: colour("--line"), width: 1 },
        values: (_, marks) => marks.map(number),
      },
    ],
    series: [
      {},
      {
        paths: () => null,
        points: { show: true, size: 4, width: 0, fill: colour("--dot") },
      },
      {
        stroke: line,
        width: 2,
        fill: colour("--area"),
        points: {
          show: true,
          size: 8,
          fill: line,
          filter: (plot) => [plot.data[0].length - 1],
        },
      },
    ],
    hooks: { setCursor: [(plot) => onchoose(plot.cursor.idx ?? null)] },
  };
}
