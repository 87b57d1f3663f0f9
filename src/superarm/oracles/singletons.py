"""The paper's Oracle+ (section 4): one evaluation an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.checks import FloatArray, IndexArray
from superarm.core import Pools, Reward, as_request, top_k


@dataclass(frozen=True, eq=False)
class SingletonsReport:
    """``values``, shape (n_arms,): what each arm is worth alone. ``certified``: the set is Oracle+'s, as always."""

    values: FloatArray
    certified: bool = True


class Singletons:
    """Oracle+: evaluates every arm alone and picks the k largest (eq. baseline).

    Exact where the reward is separable (assumption 6) and one set is best. n_arms evaluations a round, O(n_arms) time
    besides.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = Singletons()
    >>> oracle.select(sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    >>> oracle.report.values
    array([0.1, 0.8, 0.3, 0.6])
    """

    def __init__(self) -> None:
        self.report: SingletonsReport | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: int, *, rng: np.random.Generator) -> IndexArray:
        """The k arms worth most alone."""
        theta, k = as_request(reward, theta, k)
        values = reward.batch(Pools.singletons(np.arange(reward.n_arms), reward.n_arms), theta)
        self.report = SingletonsReport(values)
        return top_k(values, k, rng=rng)
