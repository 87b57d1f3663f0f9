"""Greedy: one arm after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Pools, Reward, as_request, top_k
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._budget import as_budget, likeliest
from superarm.oracles._greedy_within import greedy_within
from superarm.oracles._verbs import verb


@dataclass(frozen=True, eq=False)
class GreedyReport:
    """``order``, shape (k,): the arms as they were added. ``values``, shape (k,): the set's value after each.

    A value is NaN where a budget left no evaluation for it.
    """

    order: IndexArray
    values: FloatArray
    certified: bool = False


class Greedy:
    """Adds the arm that raises the value most, k times.

    Within 1 - 1/e of the best set for monotone submodular rewards (Nemhauser, Wolsey, Fisher 1978), exact where the
    reward is separable and one set is best. k · n_arms - k (k - 1) / 2 evaluations a round. `LazyGreedy` decides the
    same with fewer, where the reward is submodular.

    Within `Choices` that can ``extend`` a set, it begins with the arms that must be in, and adds only what can still be
    completed: within 1/2 of the best set for monotone submodular rewards and constraints without a budget of weights
    (Fisher, Nemhauser, Wolsey 1978), exact for sums there. With weights it runs twice, once by what an arm adds for its
    weight, and takes the better set: within (1 - 1/e) / 2 if at most k arms and the budget are all there is and k does
    not bind (Leskovec and others 2007), and without a guarantee otherwise.

    Parameters
    ----------
    budget
        At most so many evaluations in a round; None for as many as it takes. A smaller one is shared among the k
        steps as evenly as it goes, and each looks only at the arms of the largest B_i theta_i; where nothing is left,
        the first of these is added unseen.

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

    def __init__(self, *, budget: int | None = None) -> None:
        self.budget = as_budget(budget)
        self.report: GreedyReport | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms that greedy adds."""
        theta, k = as_request(reward, theta, k, constraints=True)
        if not isinstance(k, int):
            found = greedy_within(reward, theta, k, verb(self, k, "extend"), self.budget, rng=rng)
            self.report = GreedyReport(found.order, found.values)
            return np.sort(found.order)
        order, values = greedy(reward, theta, k, self.budget, rng=rng)
        self.report = GreedyReport(order, values)
        return np.sort(order)


def greedy(
    reward: Reward, theta: FloatArray, k: int, budget: int | None, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """The arms in the order in which greedy adds them, and the set's value after each; the budget may be 0."""
    order, left = np.zeros(0, np.intp), np.arange(reward.n_arms)
    values = np.full(k, np.nan)
    for step in range(k):
        steps = k - step
        wanted = steps * len(left) - steps * (steps - 1) // 2
        share = len(left) if budget is None or budget >= wanted else -(-budget // steps)
        arms = likeliest(reward, theta, left, share, rng=rng)
        if len(arms):
            worth = reward.batch(Pools.extensions(order, arms, reward.n_arms), theta)
            best = int(top_k(worth, 1, rng=rng)[0])
            winner, values[step] = arms[best], worth[best]
        else:
            winner = likeliest(reward, theta, left, 1, rng=rng)[0]
        budget = None if budget is None else budget - len(arms)
        order, left = np.append(order, winner), left[left != winner]
    return order, values
