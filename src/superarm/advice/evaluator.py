"""Evaluations of a reward that may do anything: raise, answer NaN, or return a wrong shape."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from superarm.advice.results import Witness
from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray

_LARGE = 10  # batches of at least this many sets are timed, if there are any


class Evaluator:
    """Evaluates a reward, counts and times the evaluations, and keeps the first failure.

    Attributes
    ----------
    n_evaluated, n_failed
        How many sets were evaluated, and how many of them did not give a finite number.
    failure
        The first set that did not; None if there was none.
    """

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self.n_arms = int(reward.n_arms)
        self.n_evaluated = self.n_failed = 0
        self.failure: Witness | None = None
        self._single_s: list[float] = []
        self._batch_s: list[tuple[float, int]] = []

    def __call__(self, arms: IndexArray, means: FloatArray, *, sort: bool = True) -> float:
        """The value of one set; NaN if the reward fails. The arms are sorted by default."""
        if sort:
            order = arms.argsort()
            arms, means = arms[order], means[order]
        self.n_evaluated += 1
        start = time.perf_counter()
        try:
            # Copies, because the reward may write into its arguments.
            value = float(self.reward(arms.copy(), means.copy()))
        except Exception as error:  # any failure is reported, and the inspection goes on
            return self._fail(arms, means, f"raised {type(error).__name__}: {error}")
        self._single_s.append(time.perf_counter() - start)
        return value if math.isfinite(value) else self._fail(arms, means, f"answered {value}")

    def batch(self, sets: Sequence[IndexArray], theta: FloatArray) -> FloatArray:
        """The values of many sets, shape (len(sets),); NaN where the reward fails."""
        pools = Pools.of(sets, self.n_arms)
        self.n_evaluated += len(sets)
        start = time.perf_counter()
        try:
            values = np.array(self.reward.batch(pools, theta.copy()), np.float64)
        except Exception as error:  # as above
            return self._fail_all(sets, theta, f"raised {type(error).__name__}: {error}")
        self._batch_s.append((time.perf_counter() - start, len(sets)))
        if values.shape != (len(sets),):
            what = f"gave a batch of shape {values.shape} for {len(sets)} sets"
            return self._fail_all(sets, theta, what)
        for j in np.flatnonzero(~np.isfinite(values)).tolist():
            arms = np.sort(sets[j])
            self._fail(arms, theta[arms], f"answered {values[j]} in a batch")
            values[j] = np.nan
        return values

    def single_s(self) -> float | None:
        """The median seconds of a single call; None if no call succeeded."""
        return float(np.median(self._single_s)) if self._single_s else None

    def batch_s(self) -> float | None:
        """Seconds per set in a batch; None if no batch succeeded."""
        # The fixed cost of a call would dominate small batches.
        larger = [took for took in self._batch_s if took[1] >= _LARGE] or self._batch_s
        return sum(s for s, _ in larger) / sum(n for _, n in larger) if larger else None

    def _fail(self, arms: IndexArray, means: FloatArray, what: str) -> float:
        self.n_failed += 1
        if self.failure is None:
            self.failure = Witness.of([arms], [means], [float("nan")], f"the reward {what}")
        return float("nan")

    def _fail_all(self, sets: Sequence[IndexArray], theta: FloatArray, what: str) -> FloatArray:
        # `_fail` below counts the first one.
        self.n_failed += len(sets) - 1
        first = np.sort(sets[0])
        return np.full(len(sets), self._fail(first, theta[first], what))
