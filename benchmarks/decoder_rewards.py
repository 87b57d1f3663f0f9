"""The rewards of `decoder_sizes.py`: functions of a sum, and rewards that are no function of a sum.

Each is made for m arms. The means of the arms are those of `linear_instance`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa

Array = np.ndarray


class OfSum(sa.BlackBox):
    """A rising function of a weighted sum, all sets of a batch in one step."""

    def __init__(self, of: Callable[[Any], Any], weights: Array, steepest: float) -> None:
        self.of, self.weights = of, weights
        super().__init__(
            lambda arms, means: float(of((weights[arms] * means).sum())),
            n_arms=len(weights),
            lipschitz=steepest * float(weights.max()),
            upper=float(of(weights.sum())),
            monotone=True,
            zero_is_absent=True,
        )

    def batch(self, pools: sa.Pools, theta: Any) -> Array:
        return np.asarray(self.of(pools.sum(self.weights * np.asarray(theta))), np.float64)


class OfSums(sa.BlackBox):
    """A function of several sums: columns[i] is what arm i adds to each per unit of its mean."""

    def __init__(
        self, of: Callable[[Any], Any], columns: Array, steepest: float, upper: float
    ) -> None:
        self.of, self.columns = of, columns
        super().__init__(
            lambda arms, means: float(of(means @ columns[arms])),
            n_arms=len(columns),
            lipschitz=steepest,
            upper=upper,
        )

    def batch(self, pools: sa.Pools, theta: Any) -> Array:
        return np.asarray(self.of(pools.sum(self.columns * np.asarray(theta)[:, None])), np.float64)


class OfMeans(sa.BlackBox):
    """The largest mean of a set, or the mean of its means."""

    def __init__(self, m: int, largest: bool) -> None:
        self.largest = largest
        of = np.max if largest else np.mean
        super().__init__(
            lambda arms, means: float(of(means)) if len(arms) else 0.0,
            n_arms=m,
            lipschitz=1.0,
            upper=1.0,
        )

    def batch(self, pools: sa.Pools, theta: Any) -> Array:
        theta = np.asarray(theta)
        if not self.largest:
            return pools.sum(theta) / np.maximum(pools.sizes, 1)
        values, filled = np.zeros(len(pools)), np.flatnonzero(pools.sizes)
        if len(filled):
            values[filled] = np.maximum.reduceat(theta[pools.members], pools.offsets[filled])
        return values


def _equal(of: Callable[[Any], Any], steepest: Callable[[int], float]) -> Callable[..., Any]:
    return lambda m, rng: OfSum(of, np.ones(m), steepest(m))


def _ratio(m: int, rng: np.random.Generator) -> OfSums:
    """Expected income of a choice among the arms of a set and nothing (multinomial logit)."""
    price = rng.uniform(0.5, 1.0, m)
    columns = np.stack([price, np.ones(m)], axis=1)
    return OfSums(lambda sums: 10 * sums[..., 0] / (5 + sums[..., 1]), columns, 2.0, 10.0)


def _weakest(m: int, rng: np.random.Generator) -> OfSums:
    """The least of five sums, each over its own fifth of the arms: a set needs all five."""
    columns = np.eye(5)[np.arange(m) % 5]
    return OfSums(lambda sums: sums.min(axis=-1), columns, 1.0, float(m))


# Those that the rule for sizes was designed with.
DESIGNED_WITH: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "square of a sum": _equal(lambda s: s**2, lambda m: 2.0 * m),
    "log(1 + 100 sum)": _equal(lambda s: np.log1p(100 * s), lambda m: 100.0),
    "square root": _equal(lambda s: np.sqrt(s + 0.01), lambda m: 5.0),
    "weighted sum": lambda m, rng: OfSum(lambda s: s, rng.uniform(0.2, 1.0, m), 1.0),
    "sum with offset": _equal(lambda s: s + 3.0, lambda m: 1.0),
    "coverage": lambda m, rng: sa.CoverageReward(rng.random((m, 30)) < 0.1),
}
# Those that it was only tried on.
TRIED_ON: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "cube of a sum": _equal(lambda s: s**3, lambda m: 3.0 * m**2),
    "logistic of a sum": _equal(lambda s: 10 / (1 + np.exp(4 - s)), lambda m: 2.5),
    "sum / (5 + sum)": _equal(lambda s: 10 * s / (5 + s), lambda m: 2.0),
    "ratio of two sums": _ratio,
    "network, std 1": lambda m, rng: sa.NetworkReward.random(m, rng=rng),
    "network, std 0.05": lambda m, rng: sa.NetworkReward.random(m, std=0.05, rng=rng),
    "any success": lambda m, rng: sa.AnySuccess(m),
    "largest mean": lambda m, rng: OfMeans(m, largest=True),
    "mean of the means": lambda m, rng: OfMeans(m, largest=False),
    "least of five sums": _weakest,
}
REWARDS = DESIGNED_WITH | TRIED_ON
