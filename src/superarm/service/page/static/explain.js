// Why a decision is as it is: in words, as a picture and in numbers.

import { explanation } from "./api.js";
import { el, nameOf } from "./dom.js";
import { domainOf, intervalOf, keyOfPicture, scaleOf } from "./interval.js";
import { openPanel, problemBox } from "./panels.js";
import { count, moment, number, share } from "./words.js";

// What is said of each arm, where anything is: a field, a heading, and how it is written.
const COLUMNS = [
  ["value", "sampled", ({ value }) => share(value)],
  ["mean", "mean", ({ mean }) => share(mean)],
  ["low", "95% interval", ({ low, high }) => `${share(low)} to ${share(high)}`],
  ["score", "score", ({ score }) => number(score)],
  ["lower", "bounds", ({ lower, upper }) => (lower === upper ? "exact" : `${number(lower)} to ${number(upper)}`)],
  ["n_tests", "tests", ({ n_tests }) => count(n_tests)],
];

export function openExplanation(id, onclose) {
  const content = el(
    "div",
    { class: "explanation", "aria-busy": "true" },
    el("p", { class: "muted" }, "Looking up what decided it…"),
  );
  const show = (...found) => {
    content.replaceChildren(...found);
    content.removeAttribute("aria-busy");
  };
  explanation(id).then(
    (why) => show(...parts(why, id)),
    (error) => show(el("p", { class: "muted" }, `Decision ${id}`), problemBox(error)),
  );
  return openPanel("Why these arms?", content, { side: true, onclose });
}

function parts(why, id) {
  const decision = why.decision ?? why;
  const left = why.best_left_out;
  return [
    el(
      "p",
      { class: "facts" },
      el(
        "span",
        { class: decision.certified ? "status told" : "status expired" },
        decision.certified ? "certified" : "not certified",
      ),
      ` round ${count(decision.round)}, ${moment(decision.time)}`,
    ),
    el(
      "p",
      null,
      why.score_is
        ? `The oracle ordered arms by ${why.score_is}.`
        : "The oracle judged sets, and did not order arms in this round.",
    ),
    why.complete === false &&
      el(
        "p",
        { class: "muted" },
        "Only what the log knows of it: what else decided is kept in memory for the latest decisions only.",
      ),
    picture(why.reasons, left),
    left &&
      el(
        "p",
        { class: "lost" },
        "The best arm left out is ",
        nameOf(left.arm),
        Number.isFinite(why.lost_by) ? `: it lost by ${number(why.lost_by)}.` : ".",
      ),
    !left && el("p", { class: "muted" }, "Which arm came next is not known to this oracle."),
    el("h3", null, "Numbers"),
    el(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Numbers of the reasons" },
      table(why.reasons, left),
    ),
    el("h3", null, "In words"),
    el("pre", { tabindex: 0, dir: "auto", "aria-label": "The explanation as text" }, why.text ?? `decision ${id}`),
  ].filter(Boolean);
}

function picture(reasons, left) {
  const rows = left ? [...reasons, left] : reasons;
  const domain = domainOf(rows);
  const one = (reason, place) =>
    el(
      "li",
      { class: place < reasons.length ? "arm" : "arm left-out" },
      nameOf(reason.arm),
      el("span", { class: "picture" }, intervalOf(reason, domain, place < reasons.length ? "in" : "out")),
      el(
        "span",
        { class: "figure" },
        el("span", { class: "hidden" }, words(reason)),
        el("span", { "aria-hidden": "true" }, share(reason.value ?? reason.mean)),
      ),
    );
  return el(
    "figure",
    null,
    el("figcaption", null, "Each arm’s posterior when it was chosen, and what was sampled for it"),
    el("ul", { class: "arms why", role: "list" }, rows.map(one)),
    el("div", { class: "arm scale-row" }, el("span"), scaleOf(domain)),
    keyOfPicture(true),
  );
}

const words = ({ value, mean, low, high }) =>
  [
    Number.isFinite(value) && `sampled ${share(value)}`,
    Number.isFinite(mean) && `posterior mean ${share(mean)}`,
    Number.isFinite(low) && `95% interval ${share(low)} to ${share(high)}`,
  ]
    .filter(Boolean)
    .join(", ");

function table(reasons, left) {
  const rows = left ? [...reasons, left] : reasons;
  const columns = COLUMNS.filter(([name]) => rows.some((row) => row[name] !== null && row[name] !== undefined));
  return el(
    "table",
    null,
    el(
      "thead",
      null,
      el(
        "tr",
        null,
        el("th", { scope: "col" }, "arm"),
        columns.map(([, label]) => el("th", { scope: "col" }, label)),
      ),
    ),
    el(
      "tbody",
      null,
      rows.map((row, place) =>
        el(
          "tr",
          { class: place < reasons.length ? null : "left-out" },
          el("th", { scope: "row" }, nameOf(row.arm)),
          columns.map(([, , form]) => el("td", null, form(row))),
        ),
      ),
    ),
  );
}
