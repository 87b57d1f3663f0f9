"""The k largest means, for rewards where nothing else matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import (
    FeasibleSets,
    KOrSets,
    Reward,
    Sample,
    Scores,
    as_feasible,
    as_k_of_m,
    as_selection,
    top_k,
)
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import BestOfTop, kind_has
from superarm.core.showing import one_line


@dataclass(frozen=True, eq=False)
class TopKReport:
    """The means of the arms that were picked.

    `TopK` evaluates nothing, so there is no more to report.

    Attributes
    ----------
    values
        Shape (k,): the means.
    certified
        Always True: the set is the best one for these means.
    """

    values: FloatArray
    certified: bool = True

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The sampled values; NaN for arms whose values were not drawn."""
        drawn = theta.drawn(np.arange(theta.n_arms))
        values = np.full(theta.n_arms, np.nan) if drawn is None else drawn.copy()
        values[arms] = self.values
        return Scores("sampled value", values)


class TopK:
    """Picks the k arms of the largest theta: the best set of an additive reward, unevaluated.

    Only for rewards that declare ``additive``, such as `LinearReward` with equal weights. In a
    `Policy` it asks only for the k largest values of theta. With a belief that can sample these
    alone, such as `BetaBelief`, a round costs far less than a sample of every arm. With other
    beliefs, and if theta is an array, a round takes O(n_arms). Among other feasible sets than those
    of k arms, it picks the set of the largest sum of theta. If the constraints are about
    availability alone, and few arms are missing, a round costs as little as without them.

    Examples
    --------
    >>> import superarm as sa
    >>> TopK().select(sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    >>> policy = sa.Policy(sa.BetaBelief(1_000_000), TopK(), sa.LinearReward(1_000_000), k=5)
    >>> len(policy.ask(rng=np.random.default_rng(0))), policy.evaluations
    (5, 0)
    """

    report: TopKReport | None = None

    __repr__ = one_line

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms of the largest means."""
        if not reward.additive:
            raise _not_additive()
        feasible: Any = as_feasible(k, reward.n_arms)
        # How many of the largest values are enough; 0 if a whole sample is needed, or cheaper.
        n_top = feasible.n_top() if kind_has(type(feasible), BestOfTop) else 0
        if n_top and isinstance(theta, Sample) and theta.n_arms == reward.n_arms:
            arms, values = feasible.best_of_top(*theta.top(n_top), rng=rng)
        else:
            theta, _ = as_selection(reward, theta, feasible)
            arms = feasible.best(theta, rng=rng)
            values = theta[arms]
        self.report = TopKReport(values)
        return arms

    def select_many(
        self, reward: Reward, theta: FloatArray, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms of the largest means per row: (n, n_arms) gives (n, k). No report."""
        if not reward.additive:
            raise _not_additive()
        k = as_k_of_m(k, reward.n_arms).k
        if k == reward.n_arms:
            return np.tile(np.arange(k), (len(theta), 1))
        order = np.argpartition(-theta, k - 1, axis=1)
        arms = np.sort(order[:, :k], axis=1)
        picked = np.take_along_axis(theta, arms, axis=1)
        others = np.take_along_axis(theta, order[:, k:], axis=1)
        # Rows with a tie at the k-th place are decided one by one, since ties are broken at random.
        for row in np.flatnonzero(picked.min(axis=1) == others.max(axis=1)).tolist():
            arms[row] = top_k(theta[row], k, rng=rng)
        return arms


def _not_additive() -> ValueError:
    return ValueError(
        "reward must be additive, so that the order of theta is the order of value, got one "
        "that does not declare it; use LazySingletons or Greedy"
    )
