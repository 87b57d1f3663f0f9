"""ESCB: optimism about the whole set, not arm by arm.

Combes, Talebi, Proutière, Lelarge: "Combinatorial bandits revisited", NeurIPS 2015; the index is
their second, c_M(n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import KOrSets, Pools, Reward, Sample, is_uniform
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.optional import CountsOutcomes, Enumerable
from superarm.core.showing import one_line
from superarm.oracles._branch_and_bound import largest_root
from superarm.oracles._counts import as_counting, begun
from superarm.oracles._rounding import rounding_at
from superarm.oracles._sets import enumerable

# A bound within this share of the index proves that the set is the best.
_PROVED = 1e-9


@dataclass(frozen=True)
class ESCBReport:
    """How good the set is.

    Attributes
    ----------
    index, bound
        The index of the set, and a number that no set's index exceeds. Both are infinite if an arm
        has no outcome yet.
    n_nodes
        How many nodes of the search were visited, or how many sets were listed.
    certified
        Whether no set has a larger index.
    """

    index: float
    bound: float
    n_nodes: int
    certified: bool = True

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: the index orders sets, not arms."""


class ESCBIndex:
    """Picks the set of the largest index sum(theta_i) + sqrt(f(t) / 2 · sum(1 / n_i)), eq. c_M(n).

    The sums are over the arms of the set. f(t) = ln t + c · k · ln ln t, where t is one more than
    the number of updates so far, and n_i is the number of outcomes of arm i. Upper confidence
    bounds per arm, as in `UCBBelief`, add up k widths. Errors of independent arms do not add up
    like that. Here the set has one width: the root of a sum. theta must be the means, so the belief
    is a `MeanBelief`, and the oracle reads n_i and t from it. Make the oracle with the belief of
    its policy, as `escb` does.

    For additive rewards, without evaluations. The root makes this harder than taking the k largest.
    For a plain k, the set is found by branch and bound. It is exact unless more than ``limit``
    nodes are needed. Otherwise it is the best set found, and ``report`` has the bound on what was
    missed. A node takes O(n_arms log n_arms) time, and a round needs one node to some dozens. Other
    feasible sets must be `Enumerable`: every set is looked at, and more than ``limit`` sets are
    refused. Sets with arms that have no outcome come first, those with the most of them. Arms that
    are equal in mean and count are equally likely.

    Parameters
    ----------
    belief
        The belief of the policy.
    c
        The factor of k ln ln t, at least 0. The proof of its authors uses 4. Below t = e, ln ln t
        counts as 0.
    limit
        The largest number of nodes, or of sets that are listed, per round.

    Examples
    --------
    >>> import superarm as sa
    >>> belief, rng = sa.beliefs.MeanBelief(4), np.random.default_rng(0)
    >>> for arms in ([0, 1, 2, 3], [0, 1], [0, 1], [0, 1]):
    ...     belief.update(arms, [0.6, 0.5, 0.5, 0.1][: len(arms)], rng=rng)
    >>> oracle = ESCBIndex(belief)
    >>> oracle.select(sa.LinearReward(4), belief.sample(rng=rng), 2, rng=rng)
    array([0, 2])
    >>> oracle.report.certified
    True
    """

    report: ESCBReport | None = None

    __repr__ = one_line

    def __init__(self, belief: CountsOutcomes, *, c: float = 0.0, limit: int = 10_000) -> None:
        self.belief = as_counting(belief)
        self.c = float(as_finite([c], "c", ndim=1, least=0.0)[0])
        self.limit = as_count(limit, "limit", least=1)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The set of the largest index."""
        theta, feasible, outcomes, first = begun(self, reward, theta, k, rng=rng)
        if first is not None:
            self.report = ESCBReport(math.inf, math.inf, 0)
            return first
        # The variance per arm: the root of its sum over a set is the width.
        var = self._level(feasible.n_most) / 2 / np.maximum(outcomes.counts, 1)
        if is_uniform(feasible):
            return self._largest(theta, var, feasible.n_most, rng)
        return self._largest_listed(reward, theta, var, enumerable(self, feasible), rng)

    def _level(self, k: int) -> float:
        """f(t) of the index."""
        log_t = math.log(self.belief.outcomes.rounds + 1)
        return log_t + self.c * k * math.log(max(log_t, 1.0))

    def _largest(
        self, theta: FloatArray, var: FloatArray, k: int, rng: np.random.Generator
    ) -> IndexArray:
        arms = np.arange(len(theta))
        if len(np.unique(theta + 1j * var)) < len(theta):
            arms = rng.permutation(arms)  # so that equal arms are equally likely
        found = largest_root(theta[arms], var[arms], k, limit=self.limit)
        sure = found.bound <= found.value + _PROVED * abs(found.value)
        self.report = ESCBReport(found.value, found.bound, found.n_nodes, sure)
        return np.sort(arms[found.arms])

    def _largest_listed(
        self,
        reward: Reward,
        theta: FloatArray,
        var: FloatArray,
        feasible: Enumerable,
        rng: np.random.Generator,
    ) -> IndexArray:
        """The largest index of all feasible sets, one by one."""
        # One more than the limit shows that there are too many.
        every = chain.from_iterable(feasible.blocks())
        seen = list(islice(every, self.limit + 1))
        if len(seen) > self.limit:
            raise ValueError(
                "ESCBIndex looks at every feasible set, and there are more than its limit of "
                f"{self.limit:,}; raise the limit, or use cts, which has none"
            )
        pools = Pools.of(seen, reward.n_arms)
        values = pools.sum(theta) + np.sqrt(pools.sum(var))
        most = float(values.max())
        best = np.flatnonzero(values >= most - rounding_at(most))
        self.report = ESCBReport(most, most, len(seen))
        # Drawn only if there is a tie.
        place = rng.integers(len(best)) if len(best) > 1 else 0
        return np.array(seen[int(best[place])])
