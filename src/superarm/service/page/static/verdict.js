// Are we done? Whether the best arms are known, and what the policy gains over the hold-out.

/** @import { Lift, Verdict } from "../types" */

import { count, number, percent, signed } from "./format.js";
import { html } from "./html.js";
import { visible } from "./names.js";

const MOST_NAMED = 8;

/** @param {{ verdict: Verdict }} props */
export function VerdictLine({ verdict: { arms, done, error, closest, probability, loss } }) {
  const named = arms.slice(0, MOST_NAMED).map(visible).join(", ");
  const best = arms.length > MOST_NAMED ? `${named}, …` : named;
  const are = arms.length === 1 ? "is" : "are";
  const [inside, outside] = closest.map(visible);
  return html`<p class="verdict">
    ${
      done
        ? html`<strong>Done:</strong> ${best} ${are} the best, except with probability
            ${" "}${number(error)}.`
        : html`<strong>Not done:</strong> ${best} ${are} the best so far, and ${inside} may not be
            better than ${outside}.`
    }
    ${
      probability !== null &&
      html`<span class="muted now">
        ${" "}If you look only now: the best with probability ${percent(probability)}, and stopping
        costs ${number(loss)} per decision.
      </span>`
    }
  </p>`;
}

/** @param {{ lift: Lift }} props */
export function LiftLine({
  lift: { lift, low, high, delta, policy, holdout, n_policy, n_holdout },
}) {
  if (policy === null || holdout === null)
    return html`<p class="lift muted">
      Hold-out: no lift yet. It needs complete decisions of the policy and of the hold-out.
    </p>`;
  const known = low > 0 ? "The policy is better." : high < 0 ? "The policy is worse." : "";
  return html`<p class="lift">
    <strong>Lift ${signed(lift)}</strong> over the hold-out
    <span class="muted now">
      ${" "}(${signed(low)} to ${signed(high)}, ${percent(1 - delta)} sure at all times).
      Mean outcome ${number(policy)} in ${count(n_policy)} decisions, ${number(holdout)} in
      ${" "}${count(n_holdout)} of the hold-out. ${known}
    </span>
  </p>`;
}
