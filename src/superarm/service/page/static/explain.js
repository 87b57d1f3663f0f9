// Why a decision was made: as a picture, in numbers and in words.

/** @import { Explanation, Reason } from "../types" */

import { explanation } from "./api.js";
import { count, moment, number, range, share, signed } from "./format.js";
import { html, useEffect, useState } from "./html.js";
import { domainOf, Interval, isNumber, Legend, Scale } from "./interval.js";
import { Name } from "./names.js";
import { Panel, ProblemBox } from "./panels.js";

/**
 * Columns of the table: the field that must be there, the heading, and the text of a cell.
 * @type {[keyof Reason, string, (reason: Reason) => string][]}
 */
const COLUMNS = [
  ["value", "sampled", ({ value }) => share(value)],
  ["mean", "mean", ({ mean }) => share(mean)],
  ["low", "95% interval", ({ low, high }) => range(low, high)],
  ["score", "score", ({ score }) => number(score)],
  [
    "lower",
    "bounds",
    ({ lower, upper }) => (lower === upper ? "exact" : `${number(lower)} to ${number(upper)}`),
  ],
  ["n_tests", "tests", ({ n_tests }) => count(n_tests)],
  // The mean as a sum, for beliefs with features or contexts.
  ["base", "average arm", ({ base }) => share(base)],
  ["columns", "features, context", ({ columns }) => signed(sum(columns))],
  ["own", "own outcomes", ({ own }) => signed(own)],
];

/** @param {number[] | null | undefined} parts */
const sum = (parts) => parts?.reduce((all, part) => all + part, 0);

/** @param {{ id: string, onclose: () => void }} props */
export function ExplanationPanel({ id, onclose }) {
  const [found, setFound] = useState(/** @type {Explanation | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  useEffect(() => void explanation(id).then(setFound, setError), [id]);
  return html`<${Panel} title="Why these arms?" side onclose=${onclose}>
    <div class="explanation" aria-busy=${found || error ? null : "true"}>
      ${found && html`<${Content} id=${id} found=${found} />`}
      ${
        error &&
        html`<p class="muted">Decision ${id}</p>
          <${ProblemBox} error=${error} />`
      }
      ${!found && !error && html`<p class="muted">Loading the explanation…</p>`}
    </div>
  <//>`;
}

/** @param {{ id: string, found: Explanation }} props */
function Content({ id, found }) {
  const decision = found.decision ?? found;
  const left = found.best_left_out;
  const rows = left ? [...found.reasons, left] : found.reasons;
  return html`<p class="facts">
      <span class=${decision.certified ? "status told" : "status expired"}>
        ${decision.certified ? "certified given the declarations" : "not certified"}
      </span>
      ${" "}round ${count(decision.round)}, ${moment(decision.time ?? 0)}
    </p>
    <p>
      ${
        found.score_is
          ? `The oracle ordered arms by ${found.score_is}.`
          : "The oracle compared sets and did not order arms in this round."
      }
    </p>
    ${
      found.complete === false &&
      html`<p class="muted">
        Only what the log contains. The full explanation is kept in memory for the latest decisions.
      </p>`
    }
    <${Picture} rows=${rows} nIn=${found.reasons.length} />
    ${found.prior && html`<p>From all arms: ${found.prior}.</p>`}
    ${
      left
        ? html`<p class="lost">
            The best arm left out is <${Name} name=${left.arm} />${
              isNumber(found.lost_by) ? `. It lost by ${number(found.lost_by)}.` : "."
            }
          </p>`
        : html`<p class="muted">This oracle does not know which arm came next.</p>`
    }
    <h3>Numbers</h3>
    <div class="wide" tabindex="0" role="region" aria-label="Numbers of the reasons">
      <${Table} rows=${rows} nIn=${found.reasons.length} />
    </div>
    <h3>In words</h3>
    <pre tabindex="0" aria-label="The explanation as text">
${found.text ?? `decision ${id}`}</pre>`;
}

/** @param {{ rows: Reason[], nIn: number }} props */
function Picture({ rows, nIn }) {
  const domain = domainOf(rows);
  return html`<figure>
    <figcaption>The posterior of each arm at the time, and the value sampled from it</figcaption>
    <ul class="arms why" role="list">
      ${rows.map(
        (reason, place) =>
          html`<li class=${place < nIn ? "arm" : "arm left-out"}>
            <${Name} name=${reason.arm} />
            <span class="picture">
              <${Interval} arm=${reason} domain=${domain} isOut=${place >= nIn} />
            </span>
            <span class="figure">
              <span class="hidden">${inWords(reason)}</span>
              <span aria-hidden="true">${share(reason.value ?? reason.mean)}</span>
            </span>
          </li>`,
      )}
    </ul>
    <${Scale} domain=${domain} />
    <${Legend} sampled />
  </figure>`;
}

/** @param {Reason} reason */
const inWords = ({ value, mean, low, high }) =>
  [
    isNumber(value) && `sampled ${share(value)}`,
    isNumber(mean) && `posterior mean ${share(mean)}`,
    isNumber(low) && `95% interval ${range(low, high)}`,
  ]
    .filter(Boolean)
    .join(", ");

/** @param {{ rows: Reason[], nIn: number }} props */
function Table({ rows, nIn }) {
  const columns = COLUMNS.filter(([field]) =>
    rows.some((row) => row[field] !== null && row[field] !== undefined),
  );
  return html`<table>
    <thead>
      <tr>
        <th scope="col">arm</th>
        ${columns.map(([, heading]) => html`<th scope="col">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row, place) =>
          html`<tr class=${place < nIn ? "" : "left-out"}>
            <th scope="row"><${Name} name=${row.arm} /></th>
            ${columns.map(([, , text]) => html`<td>${text(row)}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
