"""Picking among the arms that are not retired."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.checks import FloatArray, IndexArray, as_theta
from superarm.core import Draw, Policy, Pools


class Available:
    """A policy whose retired arms are never picked.

    The oracle is asked about a smaller problem, in which the retired arms do not exist: exact for every oracle, at the
    cost of a draw of every arm, and of what an oracle remembers whenever an arm is retired. While no arm is retired,
    the oracle is asked as in `Policy.ask`.
    """

    def __init__(self, policy: Policy, retired: NDArray[np.bool_]) -> None:
        self.policy = policy
        self.where: IndexArray | None = np.flatnonzero(~retired) if retired.any() else None
        self.belief: Any = policy.belief if self.where is None else _Some(policy.belief, self.where)
        self.reward: Any = policy.reward if self.where is None else _Fewer(policy.reward, self.where)

    def choose(self, *, rng: np.random.Generator) -> tuple[IndexArray, Draw]:
        """The arms to pull, ascending, as numbers among ``where`` if that is not None; and theta, as it was drawn."""
        with Draw(self.belief, rng) as theta:
            return self.policy.oracle.select(self.reward, theta, self.policy.k, rng=rng), theta

    def numbers(self, arms: IndexArray) -> IndexArray:
        """The numbers, among all arms, of arms that the oracle picked or reported on."""
        return arms if self.where is None else self.where[arms]


class _Some:
    """A belief about some of the arms."""

    def __init__(self, belief: Any, where: IndexArray) -> None:
        self.belief, self.where, self.n_arms = belief, where, len(where)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        return self.belief.sample(rng=rng)[self.where]


class _Fewer:
    """A reward of sets of some of the arms."""

    def __init__(self, reward: Any, where: IndexArray) -> None:
        self.reward, self.where, self.n_arms = reward, where, len(where)

    def __getattr__(self, name: str) -> Any:
        if name not in ("upper", "monotone", "zero_is_absent", "additive", "concave", "diminishing"):
            raise AttributeError(name)
        return getattr(self.reward, name)

    @property
    def lipschitz(self) -> float | FloatArray:
        each = self.reward.lipschitz
        return each if np.ndim(each) == 0 else np.asarray(each)[self.where]

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        return self.reward(self.where[np.asarray(arms, np.intp)], means)

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        means = np.zeros(self.reward.n_arms)
        means[self.where] = as_theta(theta, self.n_arms, pools)
        return self.reward.batch(Pools(self.where[pools.members], pools.offsets, self.reward.n_arms), means)
