// Are we done? Whether the best arms are known, and what the policy gains over the hold-out.

/** @import { Lift, Verdict } from "../types" */

import { count, number, percent, signed } from "./format.js";
import { html } from "./html.js";
import { visible } from "./names.js";

const MOST_NAMED = 8;

/** @param {{ verdict: Verdict, nComplete: number }} props */
export function VerdictLine({
  verdict: { arms, done, delta, error, closest, probability, loss, n_awaited },
  nComplete,
}) {
  if (!done && nComplete === 0)
    return html`<p class="verdict muted">
      Which arms are the best? Nothing is known before the first complete decision.
    </p>`;
  const named = arms.slice(0, MOST_NAMED).map(visible).join(", ");
  const best = arms.length > MOST_NAMED ? `${named}, …` : named;
  const [inside, outside] = closest.map(visible);
  const [they, are] = arms.length === 1 ? ["this arm", "is"] : ["these arms", "are"];
  return html`<p class="verdict">
    ${
      done
        ? html`<strong>Done.</strong> ${best} ${are} the best. The probability that this is wrong is
            ${" "}at most ${share(error)}, no matter how often you look.`
        : html`<strong>Not done yet.</strong> The best so far: ${best}. It is not yet sure enough
            that ${inside} is better than ${outside}.`
    }
    ${
      !done &&
      n_awaited > 0 &&
      html`${" "}${n_awaited === 1 ? "1 outcome is" : `${count(n_awaited)} outcomes are`} still
      awaited.`
    }
    ${
      probability !== null &&
      !done &&
      html`<span class="muted now">
        Right now, the probability that ${they} ${are} the best is ${percent(probability)}. Stopping
        now would lose about ${number(loss)} per decision, compared with the best arms. These two
        figures are for a single look. If you look often, wait for “Done”, which is wrong in at most
        ${" "}${percent(delta)} of cases.
      </span>`
    }
  </p>`;
}

/** @param {number} error */
const share = (error) => (error < 0.0001 ? "0.01%" : `${number(100 * error)}%`);

/** @param {{ lift: Lift }} props */
export function LiftLine({
  lift: { lift, low, high, delta, policy, holdout, n_policy, n_holdout },
}) {
  if (policy === null || holdout === null)
    return html`<p class="lift muted">
      Gain over the hold-out: not known yet. It needs complete decisions of both groups.
    </p>`;
  const known =
    low > 0
      ? "The policy is better than the hold-out."
      : high < 0
        ? "The policy is worse than the hold-out."
        : "It is not yet sure that the policy is better.";
  return html`<p class="lift">
    <strong>Gain ${signed(lift)}</strong> in outcome per arm over the hold-out. ${known}
    <span class="muted now">
      The gain is between ${signed(low)} and ${signed(high)} with ${percent(1 - delta)}
      ${" "}confidence, no matter how often you look. Mean outcome: ${number(policy)} in
      ${" "}${count(n_policy)} decisions of the policy, ${number(holdout)} in
      ${" "}${count(n_holdout)} of the hold-out. The gain weighs both groups by their shares, so it
      is not exactly the difference.
    </span>
  </p>`;
}
