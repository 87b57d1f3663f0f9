"""The paper's Oracle+ (section 4): one evaluation an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Pools, Reward, as_request, top_k
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._budget import as_budget, likeliest


@dataclass(frozen=True, eq=False)
class SingletonsReport:
    """What each arm is worth alone.

    Attributes
    ----------
    values
        Shape (n_arms,): the values; NaN where a budget left no evaluation for an arm, and where `Choices` leave nothing
        to decide about it.
    certified
        Whether every arm was asked about, so that the set is Oracle+'s; False only where there is a budget.
    """

    values: FloatArray
    certified: bool = True


class Singletons:
    """Oracle+: evaluates every arm alone and picks the k largest (eq. baseline).

    Exact where the reward is separable (assumption 6) and one set is best. n_arms evaluations a round, O(n_arms) time
    besides. Within `Choices`, the set of the largest sum of such values, exact for sums: one evaluation for each arm
    that they leave undecided and, where sets differ in size, one for the empty set, which every value is compared with.

    Parameters
    ----------
    budget
        At most so many evaluations in a round; None for one an arm. A smaller one goes to the arms of the largest
        B_i theta_i, which bounds what an arm can add where a mean of zero is an absent arm. The k best of these win; if
        they are fewer than k, the next ones by that bound join them unseen.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = Singletons()
    >>> oracle.select(sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    >>> oracle.report.values
    array([0.1, 0.8, 0.3, 0.6])
    """

    def __init__(self, *, budget: int | None = None) -> None:
        self.budget = as_budget(budget)
        self.report: SingletonsReport | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms worth most alone."""
        theta, k = as_request(reward, theta, k, constraints=True)
        if not isinstance(k, int):
            return self._within(reward, theta, k, rng=rng)
        every = np.arange(reward.n_arms)
        if self.budget is None or self.budget >= reward.n_arms:
            values = reward.batch(Pools.singletons(every, reward.n_arms), theta)
            self.report = SingletonsReport(values)
            return top_k(values, k, rng=rng)
        arms = likeliest(reward, theta, every, self.budget, rng=rng)
        values = np.full(reward.n_arms, np.nan)
        values[arms] = reward.batch(Pools.singletons(arms, reward.n_arms), theta)
        self.report = SingletonsReport(values, certified=False)
        if len(arms) >= k:
            return arms[top_k(values[arms], k, rng=rng)]
        unseen = likeliest(reward, theta, np.setdiff1d(every, arms), k - len(arms), rng=rng)
        return np.sort(np.concatenate([arms, unseen]))

    def _within(
        self, reward: Reward, theta: FloatArray, choices: Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        every = np.flatnonzero(choices.undecided)
        wanted = len(every) + (not choices.same_size)
        certified = self.budget is None or self.budget >= wanted
        arms = (
            every if self.budget is None else likeliest(reward, theta, every, self.budget, rng=rng)
        )
        values = np.full(reward.n_arms, np.nan)
        values[arms] = reward.batch(Pools.singletons(arms, reward.n_arms), theta)
        self.report = SingletonsReport(values, certified)
        gains = values - (reward([], []) if certified and not choices.same_size else 0.0)
        # Arms unseen count for next to nothing, in the order of their bounds.
        unseen = every[np.isnan(values[every])]
        bounds = (reward.lipschitz * theta)[unseen]
        gains[unseen] = 1e-9 * bounds / max(float(bounds.max(initial=0.0)), 1e-300)
        return choices.best(gains, rng=rng)
