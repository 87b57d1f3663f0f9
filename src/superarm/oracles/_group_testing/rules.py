"""The rules of group testing that are worked out once per reward, and the paper's decoder."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from superarm import theory
from superarm.core import Pools, Reward, lipschitz_constant
from superarm.core.arguments import FloatArray
from superarm.theory.quantizer import Quantizer

# The proof of Lemma 2 needs a B of at least this; a smaller B counts as this one.
_LEAST_B = 0.5
# Tests beyond this could not be held in memory, let alone evaluated.
_MOST_BYTES = 1 << 30
# Five numbers per test: values, scores and such.
_BYTES_PER_TEST = 40
# Below this p, tests are stored as their members; from it on, as one bit per arm.
_SPARSE_BELOW, _BYTES_PER_MEMBER, _BYTES_PER_BIT = 1 / 64, 16, 1 / 8
# The standard deviation of rounding: this share of B, or of a small share of M if B is tiny.
_ROUNDING = 1e-6

_EPS = float(np.finfo(np.float64).eps)

NTests = int | Literal["order", "lemma"]


class Rules:
    """The quantizer, the noise of a score, and the number of tests, for one reward.

    Parameters
    ----------
    reward
        The reward.
    delta, p, n_tests, quantize
        As in `GroupTesting`; ``p`` is the largest probability that an arm is in a test.
    """

    def __init__(
        self,
        reward: Reward,
        *,
        delta: float,
        p: float,
        n_tests: NTests,
        quantize: bool,
    ) -> None:
        self.n_arms, self.upper = reward.n_arms, reward.upper
        self.lipschitz = lipschitz_constant(reward)
        self.delta, self.p, self.n_tests, self.quantize = delta, p, n_tests, quantize
        per_arm = _BYTES_PER_MEMBER * p if p < _SPARSE_BELOW else _BYTES_PER_BIT
        self._bytes_per_test = self.n_arms * per_arm + _BYTES_PER_TEST
        # The last answer alone: q and the failure may be different in every round.
        self._resolved: tuple[tuple[int, float, float], int] | None = None

    @cached_property
    def quantizer(self) -> Quantizer:
        """The paper's Q."""
        return Quantizer(self.delta, max(_LEAST_B, self.lipschitz), self.upper)

    @cached_property
    def noise(self) -> float:
        """The least variance of a score as a test of a sum: the quantizer's, or rounding."""
        exact = (_ROUNDING * max(self.lipschitz, _ROUNDING * self.upper)) ** 2
        # The variance of a number that is uniform in an interval of this width.
        return max(exact, self.quantizer.width**2 / 12) if self.quantize else exact

    def scores(self, values: FloatArray) -> FloatArray:
        """The values, quantized if scores are."""
        return self.quantizer(values) if self.quantize else values

    def is_readable(self, scores: FloatArray) -> NDArray[np.bool_]:
        """Which scores are off by at most one step of the quantizer: not those at its two ends."""
        if not self.quantize:
            return np.ones(len(scores), bool)
        return (scores > self.quantizer.width) & (scores < self.quantizer.upper)

    def resolve(self, k: int, q: float, failure: float, budget: int | None) -> int:
        """The number of tests per round, at most the budget; refused if it cannot be run."""
        asked = (k, q, failure)
        if self._resolved is None or self._resolved[0] != asked:
            self._resolved = asked, self._wanted(*asked)
        wanted = self._resolved[1]
        n_tests = wanted if budget is None else min(wanted, budget)
        if n_tests * self._bytes_per_test > _MOST_BYTES:
            raise ValueError(
                f"n_tests={self.n_tests!r} asks for {n_tests:,} tests of {self.n_arms:,} arms, "
                "which could never be run (the tests alone would take more than "
                f"{_MOST_BYTES >> 30} GiB); give a smaller number"
            )
        return n_tests

    def _wanted(self, k: int, q: float, failure: float) -> int:
        if isinstance(self.n_tests, int):
            return self.n_tests
        if self.n_tests == "order":
            return theory.n_tests_order(
                n_arms=self.n_arms, k=k, delta=self.delta, failure=failure, q=q
            )
        return theory.n_tests(
            n_arms=self.n_arms,
            k=k,
            delta=self.delta,
            lipschitz=self.quantizer.lipschitz,
            upper=self.quantizer.upper,
            p=self.p,
            failure=failure,
            q=q,
        )


def summed(
    tests: Pools, scores: FloatArray, decoded: NDArray[np.bool_], *, centred: bool
) -> tuple[FloatArray, float]:
    """The grades A^T scores (eq. decoder), and how much equal grades may differ.

    Only the tests that are ``decoded`` count. ``centred`` subtracts their mean score first.
    """
    whole = bool(decoded.all())
    used = scores if whole else scores[decoded]
    counted = scores - (used.mean() if centred and len(used) else 0.0)
    if not whole:
        counted = np.where(decoded, counted, 0.0)
    # A grade is a sum of up to `depth` scores, each of which rounds by eps.
    depth = tests.depth
    rounding = _EPS * depth * max(0, depth - 1) * float(np.abs(scores).max(initial=0.0))
    return tests.sum_by_arm(counted), rounding
