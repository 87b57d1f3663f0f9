"""The paper's group-testing oracle, GTO (section 3, Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm import theory
from superarm.checks import FloatArray, IndexArray, as_count, as_fraction, as_positive
from superarm.core import Pools, Reward, as_request, lipschitz_constant, top_k
from superarm.quantizer import Quantizer

_EPS = float(np.finfo(np.float64).eps)
# Tests beyond this could not be held, let alone evaluated.
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class GroupTestingReport:
    """Why the arms were chosen.

    Attributes
    ----------
    tests
        The pools that were evaluated.
    values
        Shape (n_tests,): r(A_j; theta), as the reward answered.
    scores
        Shape (n_tests,): the same, quantized; ``values`` where nothing is quantized.
    decoded
        Shape (n_tests,): which tests the grades were made from.
    grades
        Shape (n_arms,): the arms' grades phi; the k largest were chosen.
    certified
        Always False: the answer is right with a probability, not for certain.
    """

    tests: Pools
    values: FloatArray
    scores: FloatArray
    decoded: NDArray[np.bool_]
    grades: FloatArray
    certified: bool = False

    @cached_property
    def q_hat(self) -> float:
        """The share of the tests that are non-repeated (section 4); NaN without tests. Worked out when asked for."""
        return theory.estimate_q(self.tests, self.scores) if len(self.tests) else math.nan


class GroupTesting:
    """GTO: random pools are evaluated, each arm is graded by the scores of its pools, and the k best grades win.

    Literally the paper's. How little it finds out at the paper's own sizes is in the documentation; its reports let
    one see why. ``n_tests`` evaluations a round. Time: O(n_tests · n_arms), eight arms a step (drawing takes two random
    bits an arm unless p is 1/2); O(n_tests · n_arms · p) where p is below 1/64, the test matrix never being built.

    Parameters
    ----------
    delta
        The paper's capital Delta: the quantization level. The quantizer's steps are delta / (2 B); B below 1/2
        counts as 1/2, as in the proof of Lemma 2.
    p
        The probability that an arm is in a test, in (0, 1). The paper leaves it open; its Lemma 1 is smallest at 2/3.
    n_tests
        How many tests a round: a number, "order" (`theory.n_tests_order`, the paper's 310), or "lemma"
        (`theory.n_tests`, Lemma 1 as printed: usually a number that could never be run, which is an error).
    failure
        The probability of failure that "order" and "lemma" aim for, the paper's small delta.
    q
        The q(t) that "order" and "lemma" assume: a number, or "estimate" to evaluate the tests for q = 1 first,
        estimate q from them, and add the tests that this estimate asks for.
    quantize
        Whether scores are quantized. False is the paper's naïve approach.
    decoder
        "sum", grades = A^T scores (eq. decoder), or "centred", the same with the mean score subtracted first.
    tests
        "all" decodes all tests, "non_repeated" those in I_nr only.
    pools
        Fixed tests instead of random ones; ``p``, ``n_tests``, ``failure`` and ``q`` then play no part.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = GroupTesting(delta=0.25, n_tests=2000)
    >>> theta = np.array([0.1, 0.9, 0.2, 0.1, 0.8, 0.3])
    >>> oracle.select(sa.LinearReward(6), theta, 2, rng=np.random.default_rng(0))
    array([1, 4])
    >>> oracle.report.grades.round()
    array([1280., 1644., 1333., 1332., 1621., 1368.])
    """

    def __init__(
        self,
        *,
        delta: float,
        p: float = 0.5,
        n_tests: int | Literal["order", "lemma"] = "order",
        failure: float = 1e-4,
        q: float | Literal["estimate"] = 1.0,
        quantize: bool = True,
        decoder: Literal["sum", "centred"] = "sum",
        tests: Literal["all", "non_repeated"] = "all",
        pools: Pools | None = None,
    ) -> None:
        self.delta = as_positive(delta, "delta")
        self.p = as_fraction(p, "p")
        if not isinstance(n_tests, str):
            n_tests = as_count(n_tests, "n_tests", least=1)
        elif n_tests not in ("order", "lemma"):
            raise ValueError(f'n_tests must be a whole number, "order" or "lemma", got {n_tests!r}')
        self.n_tests = n_tests
        if q == "estimate" and not isinstance(n_tests, str):
            raise ValueError(f'q="estimate" needs a rule, n_tests="order" or "lemma", got n_tests={n_tests}')
        self.failure = as_fraction(failure, "failure")
        self.q = q if q == "estimate" else as_fraction(q, "q", high="]")
        self.quantize = bool(quantize)
        if decoder not in ("sum", "centred"):
            raise ValueError(f'decoder must be "sum" or "centred", got {decoder!r}')
        self.decoder = decoder
        if tests not in ("all", "non_repeated"):
            raise ValueError(f'tests must be "all" or "non_repeated", got {tests!r}')
        self.tests = tests
        if pools is not None and not isinstance(pools, Pools):
            raise TypeError(f"pools must be a Pools, got {type(pools).__name__}; Pools.of makes one from sets")
        self.pools = pools
        self.report: GroupTestingReport | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: int, *, rng: np.random.Generator) -> IndexArray:
        """The k arms of the largest grades."""
        theta, k = as_request(reward, theta, k)
        if self.pools is not None and self.pools.n_arms != reward.n_arms:
            raise ValueError(
                f"pools must be over the reward's {reward.n_arms} arms, got pools over {self.pools.n_arms}"
            )
        tests, values = self._evaluate(reward, theta, k, rng=rng)
        scores = self._quantizer(reward)(values) if self.quantize else values
        some = self.tests == "non_repeated"
        decoded = theory.non_repeated(tests, scores) if some else np.ones(len(tests), bool)
        centre = scores[decoded].mean() if self.decoder == "centred" and decoded.any() else 0.0
        grades = tests.sum_by_arm(np.where(decoded, scores - centre, 0.0) if some else scores - centre)
        self.report = GroupTestingReport(tests, values, scores, decoded, grades)
        # Equal grades may differ by the rounding of their sums of up to `depth` scores each, which this bounds.
        depth = tests.depth
        rounding = _EPS * depth * max(0, depth - 1) * float(np.abs(scores).max(initial=0.0))
        return top_k(grades, k, rng=rng, tolerance=rounding)

    def _evaluate(
        self, reward: Reward, theta: FloatArray, k: int, *, rng: np.random.Generator
    ) -> tuple[Pools, FloatArray]:
        if self.pools is not None:
            return self.pools, reward.batch(self.pools, theta)
        q = 1.0 if self.q == "estimate" else float(self.q)
        tests, values = self._add_tests(reward, theta, self._resolve(reward, k, q), rng=rng)
        if self.q != "estimate" or not len(tests):
            return tests, values
        scores = self._quantizer(reward)(values) if self.quantize else values
        q = theory.estimate_q(tests, scores)
        if q == 0:
            raise ValueError(
                f"every one of the {len(tests)} tests is repeated, so q is estimated as 0 and no number of tests "
                f"suffices; use a smaller delta, another p, or set q to a number"
            )
        wanted = self._resolve(reward, k, q)
        more, more_values = self._add_tests(reward, theta, wanted - len(tests), rng=rng)
        return tests.join(more), np.concatenate([values, more_values])

    def _add_tests(
        self, reward: Reward, theta: FloatArray, n_tests: int, *, rng: np.random.Generator
    ) -> tuple[Pools, FloatArray]:
        tests = Pools.random(n_tests, reward.n_arms, self.p, rng=rng)
        return tests, reward.batch(tests, theta)

    def _resolve(self, reward: Reward, k: int, q: float) -> int:
        """The number of tests that the rule asks for, if it can be run."""
        if isinstance(self.n_tests, int):
            asked = self.n_tests
        elif self.n_tests == "order":
            asked = theory.n_tests_order(n_arms=reward.n_arms, k=k, delta=self.delta, failure=self.failure, q=q)
        else:
            quantizer = self._quantizer(reward)
            asked = theory.n_tests(
                n_arms=reward.n_arms,
                k=k,
                delta=self.delta,
                lipschitz=quantizer.lipschitz,
                upper=quantizer.upper,
                p=self.p,
                failure=self.failure,
                q=q,
            )
        # The tests themselves, and five numbers for each.
        bytes_a_cell = 16 * self.p if self.p < 1 / 64 else 1 / 8
        if asked * (reward.n_arms * bytes_a_cell + 40) > _MOST_BYTES:
            raise ValueError(
                f"n_tests={self.n_tests!r} asks for {asked:,} tests of {reward.n_arms:,} arms, which could never "
                f"be run (the tests alone would take more than {_MOST_BYTES >> 30} GiB); give a smaller number"
            )
        return asked

    def _quantizer(self, reward: Reward) -> Quantizer:
        return Quantizer(self.delta, max(0.5, lipschitz_constant(reward)), reward.upper)
