"""Questions to a reward that may do anything: raise, answer NaN, or give a batch of the wrong shape."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from superarm.advice.result import Witness
from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray


class Asker:
    """Asks a reward, counts and times the questions, and keeps the first failure instead of raising it.

    Attributes
    ----------
    n_asked, n_failed
        How many sets were asked about, and how many of them had no finite number for an answer.
    failure
        The first question without an answer; None if there was none.
    """

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self.n_arms = int(reward.n_arms)
        self.n_asked = self.n_failed = 0
        self.failure: Witness | None = None
        self._single_s: list[float] = []
        self._batch_s: list[tuple[float, int]] = []

    def __call__(self, arms: IndexArray, means: FloatArray, *, ordered: bool = True) -> float:
        """The value of one set, its arms ascending unless told otherwise; NaN where the reward fails."""
        order = np.argsort(arms) if ordered else np.arange(len(arms))
        arms, means = arms[order], means[order]
        self.n_asked += 1
        start = time.perf_counter()
        try:
            value = float(self.reward(arms.copy(), means.copy()))
        except (
            Exception
        ) as error:  # whatever it is, it is the user's to know and not ours to stop at
            return self._fail(arms, means, f"raised {type(error).__name__}: {error}")
        self._single_s.append(time.perf_counter() - start)
        return value if np.isfinite(value) else self._fail(arms, means, f"answered {value}")

    def batch(self, sets: Sequence[IndexArray], theta: FloatArray) -> FloatArray:
        """The values of many sets, shape (len(sets),); NaN where the reward fails."""
        pools = Pools.of(sets, self.n_arms)
        self.n_asked += len(sets)
        start = time.perf_counter()
        try:
            values = np.array(self.reward.batch(pools, theta.copy()), np.float64)
        except Exception as error:
            return self._fail_all(sets, theta, f"raised {type(error).__name__}: {error}")
        self._batch_s.append((time.perf_counter() - start, len(sets)))
        if values.shape != (len(sets),):
            return self._fail_all(
                sets, theta, f"gave a batch of shape {values.shape} for {len(sets)} sets"
            )
        for j in np.flatnonzero(~np.isfinite(values)).tolist():
            arms = np.sort(sets[j])
            self._fail(arms, theta[arms], f"answered {values[j]} in a batch")
            values[j] = np.nan
        return values

    def single_s(self) -> float | None:
        """Seconds of a single call, the median; None if none succeeded."""
        return float(np.median(self._single_s)) if self._single_s else None

    def batch_s(self) -> float | None:
        """Seconds a set in the larger batches; None if none succeeded."""
        larger = [took for took in self._batch_s if took[1] >= 10] or self._batch_s
        return sum(s for s, _ in larger) / sum(n for _, n in larger) if larger else None

    def _fail(self, arms: IndexArray, means: FloatArray, what: str) -> float:
        self.n_failed += 1
        if self.failure is None:
            self.failure = Witness.of([arms], [means], [float("nan")], f"the reward {what}")
        return float("nan")

    def _fail_all(self, sets: Sequence[IndexArray], theta: FloatArray, what: str) -> FloatArray:
        self.n_failed += len(sets) - 1
        first = np.sort(sets[0])
        return np.full(len(sets), self._fail(first, theta[first], what))
