"""The tests of a round: their sizes, and random tests with their values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._group_testing.weights import Weights

# The expected sizes of the tests if p is left to the regression decoder.
SIZES = (1.0, 4.0, 16.0, 64.0)


class MadeTests(NamedTuple):
    """The tests of a round, the class of each by its expected size, and their values."""

    pools: Pools
    classes: IndexArray
    values: FloatArray

    def join(self, more: MadeTests) -> MadeTests:
        """These tests followed by the other ones."""
        return MadeTests(
            self.pools.join(more.pools),
            np.concatenate([self.classes, more.classes]),
            np.concatenate([self.values, more.values]),
        )


def class_sizes(n_arms: int, p: float | None, pools: Pools | None) -> FloatArray:
    """The expected sizes of the tests, one per class; several if there is neither p nor pools."""
    if pools is not None:
        mean = float(pools.sizes.mean()) if len(pools) else 1.0
        return np.array([max(1.0, mean)])
    if p is not None:
        return np.array([p * n_arms])
    return np.array([size for size in SIZES if size <= max(1, n_arms / 2)])


def sized_tests(
    n_arms: int, n_tests: int, weights: Weights, *, rng: Generator
) -> tuple[Pools, IndexArray]:
    """Random tests of several sizes, as many of each as the weights suggest, and their classes."""
    counts = weights.counts(n_tests)
    made = [
        Pools.random(count, n_arms, size / n_arms, rng=rng)
        for count, size in zip(counts.tolist(), weights.classes.sizes.tolist(), strict=True)
        if count
    ]
    tests = made[0].join(*made[1:]) if made else Pools.of([], n_arms)
    return tests, np.arange(len(counts)).repeat(counts)
