"""CLUCB: which feasible set has the largest sum of means, with an error of at most delta.

Chen, Lin, King, Lyu, Chen: "Combinatorial pure exploration of multi-armed bandits", NeurIPS 2014,
Algorithm 1. Works for every family of sets that can be maximised over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import KOrSets, Reward, Sample
from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.core.optional import CountsOutcomes
from superarm.core.showing import one_line
from superarm.oracles._counts import as_counting, begun
from superarm.oracles._rounding import rounding_at


@dataclass(frozen=True)
class CLUCBReport:
    """What CLUCB compared.

    Attributes
    ----------
    best, rival
        The best set at the means so far, and the set that may still be better.
    gap
        How much better the rival may be; 0 or less if it is not.
    certified
        Whether ``best`` is the best set, except with probability delta.
    """

    best: IndexArray
    rival: IndexArray
    gap: float
    certified: bool

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: sets are compared, not arms."""


class CLUCB:
    """Picks a set with the arms in which the best set and its closest rival differ.

    The bounds of arm i are mean_i ± sqrt(ln(4 n_arms t^3 / delta) / (2 n_i)) after t updates. The
    rival is the best set if all arms of the best set are at their lower bounds and the others at
    their upper bounds. If no rival is better, the best set is ``certified``, and is picked. Stop
    then: with more outcomes a rival may be better again. The paper pulls one arm: the one with the
    widest bounds of those in which the two sets differ. Here a whole set is pulled: it contains
    that arm, and otherwise the widest bounds, arms of the difference first. The bounds hold for
    every way to pull arms, so the error is at most delta here, too. It counts whole runs: one may
    look after every round.

    For additive rewards, without evaluations. Two calls of ``best`` of the feasible sets per round,
    and one more to find the set. theta must be the means, so the belief is a `MeanBelief`. Make the
    oracle with the belief of its policy, as `clucb` does. Arms without outcomes are picked first.

    Parameters
    ----------
    belief
        The belief of the policy.
    delta
        The probability of certifying a wrong set that is allowed.

    Examples
    --------
    >>> import superarm as sa
    >>> belief, rng = sa.beliefs.MeanBelief(4), np.random.default_rng(0)
    >>> for _ in range(500):
    ...     belief.update([0, 1, 2, 3], [0.9, 0.8, 0.4, 0.1], rng=rng)
    >>> oracle = CLUCB(belief, delta=0.05)
    >>> oracle.select(sa.LinearReward(4), belief.sample(rng=rng), 2, rng=rng)
    array([0, 1])
    >>> oracle.report.certified
    True
    """

    report: CLUCBReport | None = None

    __repr__ = one_line

    def __init__(self, belief: CountsOutcomes, delta: float = 0.05) -> None:
        self.belief = as_counting(belief)
        self.delta = as_fraction(delta, "delta")

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The best set if it is certified, else the arms that decide."""
        theta, feasible, outcomes, first = begun(self, reward, theta, k, rng=rng)
        if first is not None:
            return first
        widths = self._widths(outcomes)
        best = feasible.best(theta, rng=rng)
        least = np.where(_mask(best, len(theta)), theta - widths, theta + widths)
        rival = feasible.best(least, rng=rng)
        gap = float(least[rival].sum() - least[best].sum())
        self.report = CLUCBReport(best, rival, gap, gap <= rounding_at(float(feasible.n_most)))
        if self.report.certified:
            return best
        differs = np.zeros(len(theta), bool)
        differs[np.setxor1d(best, rival)] = True
        return feasible.best(_urgency(widths, differs, feasible.n_most), rng=rng)

    def _widths(self, outcomes: Any) -> FloatArray:
        """Half the length of each interval: eq. rad_t of the paper, for outcomes in [0, 1]."""
        n_arms, t = len(outcomes.counts), max(1, outcomes.rounds)
        level = math.log(4 * n_arms * t**3 / self.delta)
        # Arms that are in every set or in none may have no outcomes.
        return np.sqrt(level / (2 * np.maximum(outcomes.counts, 1)))


def _mask(arms: IndexArray, n_arms: int) -> Any:
    is_in = np.zeros(n_arms, bool)
    is_in[arms] = True
    return is_in


def _urgency(widths: FloatArray, differs: Any, n_most: int) -> FloatArray:
    """What a set is worth asking for: the widest arm that decides, others that do, the rest."""
    shares = widths / widths.max()  # at most 1 each, n_most for a set
    values = np.where(differs, shares, shares / (4 * n_most))
    # One of the two sets contains the arm, so that it is always in the set that is picked.
    values[np.where(differs, widths, 0.0).argmax()] += 2 * n_most
    return values
