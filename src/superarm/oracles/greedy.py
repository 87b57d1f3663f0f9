"""Greedy: one arm after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.checks import FloatArray, IndexArray
from superarm.core import Pools, Reward, as_request, top_k


@dataclass(frozen=True, eq=False)
class GreedyReport:
    """``order``, shape (k,): the arms as they were added. ``values``, shape (k,): the set's value after each."""

    order: IndexArray
    values: FloatArray
    certified: bool = False


class Greedy:
    """Adds the arm that raises the value most, k times.

    Within 1 - 1/e of the best set for monotone submodular rewards (Nemhauser, Wolsey, Fisher 1978), exact where the
    reward is separable and one set is best. k · n_arms - k (k - 1) / 2 evaluations a round.

    Examples
    --------
    >>> import superarm as sa
    >>> reward = sa.CoverageReward([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> oracle = Greedy()
    >>> oracle.select(reward, [0.9, 0.8, 0.5], 2, rng=np.random.default_rng(0))  # the first two overlap
    array([0, 2])
    >>> oracle.report.values.round(6)
    array([1.8, 2.3])
    """

    def __init__(self) -> None:
        self.report: GreedyReport | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: int, *, rng: np.random.Generator) -> IndexArray:
        """The k arms that greedy adds."""
        theta, k = as_request(reward, theta, k)
        left = np.arange(reward.n_arms)
        order = np.zeros(0, np.intp)
        best = []
        for _ in range(k):
            values = reward.batch(Pools.extensions(order, left, reward.n_arms), theta)
            winner = int(top_k(values, 1, rng=rng)[0])
            best.append(values[winner])
            order = np.append(order, left[winner])
            left = np.delete(left, winner)
        self.report = GreedyReport(order, np.array(best))
        return np.sort(order)
