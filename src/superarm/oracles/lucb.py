"""LUCB: which k of m arms have the largest means, with an error of at most delta.

Kalyanakrishnan, Tewari, Auer, Stone: "PAC subset selection in stochastic multi-armed bandits", ICML
2012. With Bernoulli divergences: Kaufmann, Kalyanakrishnan: "Information complexity in bandit
subset selection", COLT 2013.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import (
    FeasibleSets,
    KOrSets,
    Reward,
    Sample,
    Scores,
    as_k_of_m,
    as_selection,
    top_k,
)
from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.core.optional import CountsOutcomes
from superarm.core.showing import one_line
from superarm.oracles._counts import as_counting, outcomes_of
from superarm.oracles._sets import most_unseen
from superarm.theory.divergence import kl_lower, kl_upper

# The constants of the theorems: 5/4 and t^4 of LUCB1, 405.5 and t^1.1 of KL-LUCB.
_HOEFFDING, _KL = (1.25, 4.0), (405.5, 1.1)


@dataclass(frozen=True, eq=False)
class LUCBReport:
    """The intervals of the arms.

    Attributes
    ----------
    best
        The k largest means so far.
    means, lower, upper
        Shape (n_arms,): the means of the outcomes, and their bounds.
    certified
        Whether ``best`` are the best arms, except with probability delta.
    """

    best: IndexArray
    means: FloatArray
    lower: FloatArray
    upper: FloatArray
    certified: bool

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The means, with their bounds."""
        return Scores("mean so far", self.means, lower=self.lower, upper=self.upper)


class LUCB:
    """Picks the arms closest to the border between the k largest means so far and the others.

    An arm of the k largest is the closer, the lower its lower bound. An arm outside is the closer,
    the higher its upper bound. The papers pull the closest arm of either side. Here k arms are
    pulled: from both sides in turn, in the order of closeness. If no upper bound outside exceeds a
    lower bound inside, the k arms are ``certified``, and are picked. Stop then: with more outcomes
    the bounds may cross again. The bounds hold for every way to pull arms, so the error is at most
    delta here, too, over whole runs.

    For additive rewards and a plain k, without evaluations; O(n_arms log n_arms) per round. theta
    must be the means, so the belief is a `MeanBelief`. Make the oracle with the belief of its
    policy, as `lucb` does. Arms without outcomes are picked first.

    Parameters
    ----------
    belief
        The belief of the policy.
    delta
        The probability of certifying wrong arms that is allowed.
    bounds
        "kl" for divergences of coins (KL-LUCB), "hoeffding" for widths that depend on the counts
        alone (LUCB1).

    Examples
    --------
    >>> import superarm as sa
    >>> belief, rng = sa.beliefs.MeanBelief(4), np.random.default_rng(0)
    >>> for _ in range(500):
    ...     belief.update([0, 1, 2, 3], [0.9, 0.8, 0.6, 0.1], rng=rng)
    >>> oracle = LUCB(belief, delta=0.05)
    >>> oracle.select(sa.LinearReward(4), belief.sample(rng=rng), 2, rng=rng)
    array([1, 2])
    >>> oracle.report.certified, oracle.report.lower[1] < oracle.report.upper[2]
    (False, np.True_)
    """

    report: LUCBReport | None = None

    __repr__ = one_line

    def __init__(
        self,
        belief: CountsOutcomes,
        delta: float = 0.05,
        *,
        bounds: Literal["kl", "hoeffding"] = "kl",
    ) -> None:
        self.belief = as_counting(belief)
        self.delta = as_fraction(delta, "delta")
        if bounds not in ("kl", "hoeffding"):
            raise ValueError(f'bounds must be "kl" or "hoeffding", got {bounds!r}')
        self.bounds = bounds

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k largest means if they are certified, else the arms at the border."""
        theta, _ = as_selection(reward, theta, k)
        sets = as_k_of_m(k, reward.n_arms)
        outcomes = outcomes_of(self, self.belief, reward)
        unseen = outcomes.counts == 0
        if unseen.any():
            self.report = None
            return most_unseen(theta, unseen, sets, rng)
        best = top_k(theta, sets.k, rng=rng)
        lower, upper = self.interval(theta, outcomes)
        is_in = np.zeros(len(theta), bool)
        is_in[best] = True
        least, most = lower[best].min(), upper[~is_in].max(initial=-1.0)
        self.report = LUCBReport(best, theta, lower, upper, bool(most <= least))
        if self.report.certified:
            return best
        return _border(is_in, lower, upper, sets.k, rng)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse everything but all sets of k arms."""
        as_k_of_m(feasible, feasible.undecided.size, instead="clucb or top_two")

    def interval(self, means: FloatArray, outcomes: Any) -> tuple[FloatArray, FloatArray]:
        """Bounds on the means, each of shape (n_arms,)."""
        factor, power = _KL if self.bounds == "kl" else _HOEFFDING
        t = max(1, outcomes.rounds)
        level = math.log(factor * len(means) * t**power / self.delta)
        if self.bounds == "hoeffding":
            widths = np.sqrt(level / (2 * outcomes.counts))
            return means - widths, means + widths
        levels = (level + math.log(level)) / outcomes.counts
        return kl_lower(means, levels), kl_upper(means, levels)


def _border(
    is_in: Any, lower: FloatArray, upper: FloatArray, k: int, rng: np.random.Generator
) -> IndexArray:
    """The k arms closest to the border, from both sides in turn; equal arms draw lots."""
    noise = rng.random(len(is_in))
    inside = np.lexsort((noise, np.where(is_in, lower, np.inf)))[: int(is_in.sum())]
    outside = np.lexsort((noise, np.where(is_in, np.inf, -upper)))[: int((~is_in).sum())]
    # In a round with an odd number of places, either side may have the one that is left.
    sides = (inside, outside) if rng.random() < 0.5 else (outside, inside)
    places = [np.arange(len(side)) + shift / 2 for shift, side in enumerate(sides)]
    order = np.argsort(np.concatenate(places), kind="stable")
    return np.sort(np.concatenate(sides)[order[:k]])
