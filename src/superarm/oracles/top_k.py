"""The k largest means, for rewards where nothing else matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Draw, Reward, as_request, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_k
from superarm.sets.feasible import Feasible


@dataclass(frozen=True, eq=False)
class TopKReport:
    """``values``, shape (k,): the means of the arms that were picked. ``certified``: the set is the best one."""

    values: FloatArray
    certified: bool = True


class TopK:
    """Picks the k arms of the largest theta: the best set of an additive reward, without an evaluation.

    Only for rewards that declare ``additive``, such as `LinearReward` with equal weights. Inside a `Policy` it asks
    for the k largest of theta alone, so with `BetaBelief` a round costs far less than a draw of every arm; with
    beliefs that have no ``sample_top``, and for a theta that is an array, O(n_arms). Within `Choices` it picks the set
    of the largest sum of theta; where these are about availability alone, and few arms are missing, as cheaply.

    Examples
    --------
    >>> import superarm as sa
    >>> TopK().select(sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    >>> policy = sa.Policy(sa.BetaBelief(1_000_000), TopK(), sa.LinearReward(1_000_000), k=5)
    >>> len(policy.ask(rng=np.random.default_rng(0))), policy.evaluations
    (5, 0)
    """

    def __init__(self) -> None:
        self.report: TopKReport | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms of the largest means."""
        _check_additive(reward)
        if (
            isinstance(theta, Draw)
            and theta.n_arms == reward.n_arms
            and (n_top := _n_top(k, reward.n_arms))
        ):
            arms, values = theta.top(n_top)
            if isinstance(k, Feasible):
                here = k.over(reward.n_arms).undecided[arms]
                best = top_k(values[here], k.k, rng=rng)
                arms, values = arms[here][best], values[here][best]
        else:
            theta, k = as_request(reward, theta, k, constraints=True)
            arms = top_k(theta, k, rng=rng) if isinstance(k, int) else k.best(theta, rng=rng)
            values = theta[arms]
        self.report = TopKReport(values)
        return arms

    def select_many(
        self, reward: Reward, theta: FloatArray, k: int, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms of the largest means for each of many thetas: (n, n_arms) gives (n, k). No report."""
        _check_additive(reward)
        k = as_k(k, reward.n_arms)
        if k == reward.n_arms:
            return np.tile(np.arange(k), (len(theta), 1))
        order = np.argpartition(-theta, k - 1, axis=1)
        arms = np.sort(order[:, :k], axis=1)
        picked = np.take_along_axis(theta, arms, axis=1)
        others = np.take_along_axis(theta, order[:, k:], axis=1)
        for row in np.flatnonzero(picked.min(axis=1) == others.max(axis=1)).tolist():
            arms[row] = top_k(theta[row], k, rng=rng)
        return arms


def _check_additive(reward: Reward) -> None:
    if not reward.additive:
        raise ValueError(
            "reward must be additive, so that the order of theta is the order of value, got one that does not "
            "declare it; take LazySingletons or Greedy"
        )


def _n_top(k: int | Choices, n_arms: int) -> int:
    """How many of the largest draws surely have the best set among them; 0 if a whole draw is the better deal."""
    if isinstance(k, int):
        return k
    if isinstance(k, np.integer):
        return int(k)
    if not isinstance(k, Feasible) or (enough := k.over(n_arms).enough) is None:
        return 0
    n_top = (
        1 << (enough - 1).bit_length()
    )  # the same one in most rounds, since a belief prefers that
    return n_top if 16 * n_top <= n_arms else 0
