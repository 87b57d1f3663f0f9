"""The paper's group-testing oracle, GTO (section 3, Algorithm 2)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm import theory
from superarm.core import FeasibleSets, Pools, Reward, as_selection, lipschitz_constant
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_fraction, as_positive
from superarm.oracles._budget import as_budget
from superarm.oracles._sets import best_up_to, is_uniform
from superarm.oracles._weights import Weights
from superarm.oracles.group_testing_report import GroupTestingReport
from superarm.theory.quantizer import Quantizer

_EPS = float(np.finfo(np.float64).eps)
# Tests beyond this could not be held, let alone evaluated.
_MOST_BYTES = 1 << 30
# The expected sizes of the tests where p is left to the regression decoder.
_SIZES = (1.0, 4.0, 16.0, 64.0)


class GroupTesting:
    """GTO: random pools are evaluated, each arm is graded by the scores of its pools, and the k best grades win.

    Literally the paper's, unless told otherwise. How little it finds out at the paper's own sizes is in the
    documentation; its reports let one see why. ``n_tests`` evaluations a round. Time: O(n_tests · n_arms), eight arms
    a step (drawing takes two random bits an arm unless p is 1/2); O(n_tests · n_arms · p) where p is below 1/64, the
    test matrix never being built.

    With ``decoder="regression"`` it remembers: the same tests, quantized as before, teach it over all rounds what
    each arm adds to a set, r(S; theta) ≈ c + sum of w_i theta_i, and the k largest w_i theta_i win. This takes besides
    O(n_tests³) time a round (a few milliseconds for 302 tests; O(n_tests² · n_arms) for p of 1/20 and more) and 16
    bytes an arm; the first of all evaluations is that of the empty set. What it remembers decides, so it is saved with
    ``state`` and ``load``; asked about another reward it begins anew. It is exact in the limit for weighted sums. For
    other rewards it is an approximation by one.

    Within `FeasibleSets`, the tests are the same, of all arms, and the set of the largest sum of grades wins; the rule for
    the number of tests takes the size of the largest sets for k.

    Parameters
    ----------
    delta
        The paper's capital Delta: the quantization level. The quantizer's steps are delta / (2 B); B below 1/2
        counts as 1/2, as in the proof of Lemma 2.
    p
        The probability that an arm is in a test, in (0, 1). The paper leaves it open; its Lemma 1 is smallest at 2/3.
        None is 1/2, and with "regression" whatever the reward turns out to need: tests of about 1, 4, 16 and 64 arms
        are tried, and those that tell most are made most.
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
        "sum", grades = A^T scores (eq. decoder); "centred", the same with the mean score subtracted first; or
        "regression", see above.
    tests
        "all" decodes all tests, "non_repeated" those in I_nr only.
    pools
        Fixed tests instead of random ones; ``p``, ``n_tests``, ``failure`` and ``q`` then play no part.
    budget
        At most so many tests in a round, whatever the rule asks for; None for as many as it asks for.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = GroupTesting(delta=0.25, n_tests=2000)
    >>> theta = np.array([0.1, 0.9, 0.2, 0.1, 0.8, 0.3])
    >>> oracle.select(sa.LinearReward(6), theta, 2, rng=np.random.default_rng(0))
    array([1, 4])
    >>> oracle.report.grades.round()
    array([1280., 1644., 1333., 1332., 1621., 1368.])

    Ten tests a round do not show which arms are best, but a hundred rounds of them do.

    >>> reward, rng = sa.LinearReward(6, weights=[1, 2, 3, 4, 5, 6]), np.random.default_rng(0)
    >>> oracle = GroupTesting(delta=0.25, n_tests=10, decoder="regression")
    >>> for _ in range(100):
    ...     arms = oracle.select(reward, rng.random(6), 2, rng=rng)
    >>> oracle.select(reward, np.ones(6), 2, rng=rng), oracle.report.grades.round(1)
    (array([4, 5]), array([1., 2., 3., 4., 5., 6.]))
    """

    def __init__(
        self,
        *,
        delta: float,
        p: float | None = None,
        n_tests: int | Literal["order", "lemma"] = "order",
        failure: float = 1e-4,
        q: float | Literal["estimate"] = 1.0,
        quantize: bool = True,
        decoder: Literal["sum", "centred", "regression"] = "sum",
        tests: Literal["all", "non_repeated"] = "all",
        pools: Pools | None = None,
        budget: int | None = None,
    ) -> None:
        self.delta = as_positive(delta, "delta")
        if decoder not in ("sum", "centred", "regression"):
            raise ValueError(f'decoder must be "sum", "centred" or "regression", got {decoder!r}')
        self.decoder = decoder
        if p is None and decoder == "regression":
            self.p = None
            if n_tests == "lemma":
                raise ValueError(
                    'n_tests="lemma" is a number of tests for one p, got p=None; give p, or use "order"'
                )
        else:
            self.p = as_fraction(0.5 if p is None else p, "p")
        if not isinstance(n_tests, str):
            n_tests = as_count(n_tests, "n_tests", least=1)
        elif n_tests not in ("order", "lemma"):
            raise ValueError(f'n_tests must be a whole number, "order" or "lemma", got {n_tests!r}')
        self.n_tests = n_tests
        if q == "estimate" and not isinstance(n_tests, str):
            raise ValueError(
                f'q="estimate" needs a rule, n_tests="order" or "lemma", got n_tests={n_tests}'
            )
        self.failure = as_fraction(failure, "failure")
        self.q = q if q == "estimate" else as_fraction(q, "q", high="]")
        self.quantize = bool(quantize)
        if tests not in ("all", "non_repeated"):
            raise ValueError(f'tests must be "all" or "non_repeated", got {tests!r}')
        self.tests = tests
        if pools is not None and not isinstance(pools, Pools):
            raise TypeError(
                f"pools must be a Pools, got {type(pools).__name__}; Pools.of makes one from sets"
            )
        self.pools = pools
        self.budget = as_budget(budget)
        self.report: GroupTestingReport | None = None
        self._weights: Weights | None = None
        self._reward: Reward | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms of the largest grades."""
        theta, feasible = as_selection(reward, theta, k)
        n_most = min(feasible.n_most, reward.n_arms)
        if self.pools is not None and self.pools.n_arms != reward.n_arms:
            raise ValueError(
                f"pools must be over the reward's {reward.n_arms} arms, got pools over {self.pools.n_arms}"
            )
        spent = self._remember(reward) if self.decoder == "regression" else 0
        tests, classes, values = self._evaluate(reward, theta, n_most, spent, rng=rng)
        scores = self._quantizer(reward)(values) if self.quantize else values
        some = self.tests == "non_repeated"
        decoded = theory.non_repeated(tests, scores) if some else np.ones(len(tests), bool)
        if self._weights is not None:
            decoded = decoded & self._readable(reward, scores)
            decoded = self._weights.learn(
                tests, classes, theta, scores, decoded, self._noise(reward)
            )
            grades, rounding = self._weights.w * theta, 0.0
        else:
            centre = scores[decoded].mean() if self.decoder == "centred" and decoded.any() else 0.0
            grades = tests.sum_by_arm(
                np.where(decoded, scores - centre, 0.0) if some else scores - centre
            )
            # Equal grades may differ by the rounding of their sums of up to `depth` scores each, which this bounds.
            depth = tests.depth
            rounding = _EPS * depth * max(0, depth - 1) * float(np.abs(scores).max(initial=0.0))
        self.report = GroupTestingReport(tests, values, scores, decoded, grades)
        if self._weights is None and not is_uniform(feasible):
            # Only differences of grades mean something, and sets of several sizes need a zero.
            grades = grades - grades.min()
        return best_up_to(feasible, grades, rounding, rng=rng)

    def state(self) -> dict[str, Any]:
        """What it has learnt, as plain JSON; nothing but with ``decoder="regression"``."""
        return {
            "oracle": "GroupTesting",
            "weights": None if self._weights is None else self._weights.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described, for the reward that it is next asked about."""
        if (
            not isinstance(state, dict)
            or state.get("oracle") != "GroupTesting"
            or "weights" not in state
        ):
            raise ValueError(f"state must be that of a GroupTesting, got {state!r:.60}")
        if state["weights"] is not None and self.decoder != "regression":
            raise ValueError(
                f'state has weights, which decoder="regression" needs, got decoder="{self.decoder}"'
            )
        self._weights = None if state["weights"] is None else Weights.of(state["weights"])
        self._reward = None

    def forget(self) -> None:
        """Begin anew."""
        self._weights = self._reward = None

    def resolve_n_tests(self, reward: Reward, k: int) -> int:
        """The number of tests per round for this reward and k; not for ``q="estimate"``."""
        return self._resolve(reward, k, float(self.q))

    def _remember(self, reward: Reward) -> int:
        """Make room for what will be learnt of a reward that is not the last one; a loaded state takes any.

        How many evaluations that took: one, of the empty set, if the reward is new.
        """
        loaded = self._reward is None and self._weights is not None
        if loaded and self._weights is not None and self._weights.n_arms != reward.n_arms:
            raise ValueError(
                f"the loaded state is of {self._weights.n_arms} arms, got a reward of {reward.n_arms}"
            )
        new = not loaded and reward is not self._reward
        if new:
            self._weights = Weights(
                reward.n_arms, self._sizes(reward.n_arms), float(reward([], []))
            )
        self._reward = reward
        return int(new)

    def _sizes(self, n_arms: int) -> FloatArray:
        """The expected sizes of the tests, one for each class of them."""
        if self.pools is not None:
            return (
                np.array([max(1.0, float(self.pools.sizes.mean()))])
                if len(self.pools)
                else np.ones(1)
            )
        if self.p is not None:
            return np.array([self.p * n_arms])
        return np.array([size for size in _SIZES if size <= max(1, n_arms / 2)])

    def _readable(self, reward: Reward, scores: FloatArray) -> NDArray[np.bool_]:
        """Which scores are off by no more than a quantizer's step, on either side: not those at its ends."""
        if not self.quantize:
            return np.ones(len(scores), bool)
        quantizer = self._quantizer(reward)
        return (scores > quantizer.width) & (scores < quantizer.upper)

    def _noise(self, reward: Reward) -> float:
        """The least variance that a score has as a test of a sum: the quantizer's, or rounding."""
        exact = (1e-6 * max(lipschitz_constant(reward), 1e-6 * reward.upper)) ** 2
        return max(exact, self._quantizer(reward).width ** 2 / 12) if self.quantize else exact

    def _evaluate(
        self, reward: Reward, theta: FloatArray, k: int, spent: int, *, rng: np.random.Generator
    ) -> tuple[Pools, IndexArray, FloatArray]:
        if self.pools is not None:
            tests = self.pools
            if self.budget is not None and len(tests) > self.budget - spent:
                tests = Pools.of([tests[j] for j in range(self.budget - spent)], reward.n_arms)
            return tests, np.zeros(len(tests), np.intp), reward.batch(tests, theta)
        q = 1.0 if self.q == "estimate" else float(self.q)
        tests, classes, values = self._add_tests(
            reward, theta, self._resolve(reward, k, q) - spent, rng=rng
        )
        if self.q != "estimate" or not len(tests):
            return tests, classes, values
        scores = self._quantizer(reward)(values) if self.quantize else values
        q = theory.estimate_q(tests, scores)
        if q == 0:
            raise ValueError(
                f"every one of the {len(tests)} tests is repeated, so q is estimated as 0 and no number of tests "
                f"suffices; use a smaller delta, another p, or set q to a number"
            )
        wanted = self._resolve(reward, k, q) - spent
        more, more_classes, more_values = self._add_tests(
            reward, theta, wanted - len(tests), rng=rng
        )
        return (
            tests.join(more),
            np.concatenate([classes, more_classes]),
            np.concatenate([values, more_values]),
        )

    def _add_tests(
        self, reward: Reward, theta: FloatArray, n_tests: int, *, rng: np.random.Generator
    ) -> tuple[Pools, IndexArray, FloatArray]:
        if self.p is not None or self._weights is None:
            tests = Pools.random(n_tests, reward.n_arms, self.p or 0.5, rng=rng)
            return tests, np.zeros(n_tests, np.intp), reward.batch(tests, theta)
        counts, sizes = self._weights.counts(n_tests), self._weights.sizes
        tests = Pools.of([], reward.n_arms)
        for count, size in zip(counts, sizes, strict=True):
            tests = tests.join(
                Pools.random(int(count), reward.n_arms, size / reward.n_arms, rng=rng)
            )
        return tests, np.repeat(np.arange(len(counts)), counts), reward.batch(tests, theta)

    def _resolve(self, reward: Reward, k: int, q: float) -> int:
        """The number of tests that the rule asks for, if it can be run."""
        if isinstance(self.n_tests, int):
            asked = self.n_tests
        elif self.n_tests == "order":
            asked = theory.n_tests_order(
                n_arms=reward.n_arms, k=k, delta=self.delta, failure=self.failure, q=q
            )
        else:
            quantizer = self._quantizer(reward)
            asked = theory.n_tests(
                n_arms=reward.n_arms,
                k=k,
                delta=self.delta,
                lipschitz=quantizer.lipschitz,
                upper=quantizer.upper,
                p=self.p or 0.5,
                failure=self.failure,
                q=q,
            )
        asked = asked if self.budget is None else min(asked, self.budget)
        # The tests themselves, and five numbers for each.
        p = self.p or max(_SIZES) / reward.n_arms
        bytes_a_cell = 16 * p if p < 1 / 64 else 1 / 8
        if asked * (reward.n_arms * bytes_a_cell + 40) > _MOST_BYTES:
            raise ValueError(
                f"n_tests={self.n_tests!r} asks for {asked:,} tests of {reward.n_arms:,} arms, which could never "
                f"be run (the tests alone would take more than {_MOST_BYTES >> 30} GiB); give a smaller number"
            )
        return asked

    def _quantizer(self, reward: Reward) -> Quantizer:
        return Quantizer(self.delta, max(0.5, lipschitz_constant(reward)), reward.upper)
