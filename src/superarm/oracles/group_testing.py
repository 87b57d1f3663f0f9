"""The paper's group-testing oracle, GTO (section 3, Algorithm 2)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm import theory
from superarm.core import FeasibleSets, KOrSets, Pools, Reward, as_selection, best_up_to, is_uniform
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_flag,
    as_fraction,
    as_positive,
)
from superarm.core.showing import one_line
from superarm.oracles._budget import as_budget
from superarm.oracles._group_testing.drawing import SIZES, MadeTests, class_sizes, sized_tests
from superarm.oracles._group_testing.report import GroupTestingReport
from superarm.oracles._group_testing.rules import NTests, Rules, summed
from superarm.oracles._group_testing.settings import as_n_tests, as_pools, check_pools, one_of
from superarm.oracles._group_testing.weights import Weights
from superarm.oracles._state import check_loaded, check_state

# The paper leaves p open.
_USUAL_P = 0.5
_MOST_FAILURE = 0.5


class GroupTesting:
    """GTO: evaluates random pools, grades each arm by its pools' scores, picks the k best.

    By default it is literally the paper's. The documentation shows how little it finds out at the
    paper's own sizes, and its reports show why. ``n_tests`` evaluations per round. Time: O(n_tests
    · n_arms), eight arms at a time (drawing takes two random bits per arm unless p is 1/2). If p is
    below 1/64, the test matrix is never built, and time is O(n_tests · n_arms · p).

    With ``decoder="regression"`` it remembers. The same tests, quantized as before, teach it over
    all rounds what each arm adds to a set, and the k largest w_i theta_i win. Among tests of about
    one size, r(S; theta) ≈ c + g · sum of w_i theta_i. This takes O(n_tests³) more time per round
    (a few milliseconds for 302 tests; O(n_tests² · n_arms) for p of 1/20 and more) and 16 bytes per
    arm. The first evaluation of all is that of the empty set. The memory decides, so ``state`` and
    ``load`` save it. For another reward it is learned anew. It is exact in the limit for weighted
    sums, and an approximation for other rewards, good for smooth functions of a weighted sum.
    ``report.explained`` says how good.

    Among other feasible sets than those of k arms, the tests are the same, of all arms, and the set
    of the largest sum of grades wins. The rule for the number of tests takes the size of the
    largest set for k.

    Parameters
    ----------
    delta
        The paper's capital Delta: the quantization level. The quantizer's steps are delta / (2 B).
        B below 1/2 counts as 1/2, as in the proof of Lemma 2.
    p
        The probability that an arm is in a test, in (0, 1). The paper leaves it open; its Lemma 1
        is smallest at 2/3. None is 1/2. With "regression", None is what the reward turns out to
        need: tests of about 1, 4, 16 and 64 arms are tried, and the tests that tell most are made
        most.
    n_tests
        How many tests per round: a number, "order" (`theory.n_tests_order`, the paper's 310), or
        "lemma" (`theory.n_tests`, Lemma 1 as printed: usually a number that could never be run,
        which is an error).
    failure
        The probability of failure that "order" and "lemma" aim for, the paper's small delta. With
        "round" it is 1/t² in round t = 1, 2, ..., as in the proof of Theorem 1, and 1/2 in round 1.
    q
        The q(t) that "order" and "lemma" assume: a number, or "estimate" to evaluate the tests for
        q = 1 first, estimate q from them, and add the tests that this estimate requires.
    quantize
        Whether scores are quantized. False is the paper's naïve approach.
    decoder
        "sum", grades = A^T scores (eq. decoder); "centred", the same with the mean score subtracted
        first; or "regression", see above.
    tests
        "all" decodes all tests, "non_repeated" only those in I_nr.
    pools
        Fixed tests instead of random ones. ``p``, ``n_tests``, ``failure`` and ``q`` then do
        nothing.
    budget
        The largest number of tests per round, whatever the rule requires; None for no limit.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = GroupTesting(delta=0.25, n_tests=2000)
    >>> theta = np.array([0.1, 0.9, 0.2, 0.1, 0.8, 0.3])
    >>> oracle.select(sa.LinearReward(6), theta, 2, rng=np.random.default_rng(0))
    array([1, 4])
    >>> oracle.report.grades.round()
    array([1280., 1644., 1333., 1332., 1621., 1368.])

    Ten tests per round do not show which arms are best, but a hundred rounds of them do.

    >>> reward, rng = sa.LinearReward(6, weights=[1, 2, 3, 4, 5, 6]), np.random.default_rng(0)
    >>> oracle = GroupTesting(delta=0.25, n_tests=10, decoder="regression")
    >>> for _ in range(100):
    ...     arms = oracle.select(reward, rng.random(6), 2, rng=rng)
    >>> oracle.select(reward, np.ones(6), 2, rng=rng), oracle.report.grades.round(1)
    (array([4, 5]), array([1., 2., 3., 4., 5., 6.]))
    """

    report: GroupTestingReport | None = None

    __repr__ = one_line

    def __init__(
        self,
        *,
        delta: float,
        p: float | None = None,
        n_tests: NTests = "order",
        failure: float | Literal["round"] = 1e-4,
        q: float | Literal["estimate"] = 1.0,
        quantize: bool = True,
        decoder: Literal["sum", "centred", "regression"] = "sum",
        tests: Literal["all", "non_repeated"] = "all",
        pools: Pools | None = None,
        budget: int | None = None,
    ) -> None:
        self.delta = as_positive(delta, "delta")
        self.decoder = one_of(decoder, "decoder", "sum", "centred", "regression")
        self.n_tests: NTests = as_n_tests(n_tests)
        learns_p = p is None and decoder == "regression"
        self.p = None if learns_p else as_fraction(_USUAL_P if p is None else p, "p")
        self.failure = failure if failure == "round" else as_fraction(failure, "failure")
        self.q = q if q == "estimate" else as_fraction(q, "q", high="]")
        self.quantize = as_flag(quantize, "quantize")
        self.tests = one_of(tests, "tests", "all", "non_repeated")
        self.pools = as_pools(pools)
        self.budget = as_budget(budget)
        if learns_p and n_tests == "lemma":
            raise ValueError(
                'n_tests="lemma" is a number of tests for one p, got p=None; give p, or use "order"'
            )
        if q == "estimate" and not isinstance(n_tests, str):
            raise ValueError(
                f'q="estimate" needs a rule, n_tests="order" or "lemma", got n_tests={n_tests}'
            )
        self.must_replay = decoder == "regression"  # it learns from the answers of all rounds
        self._weights: Weights | None = None
        self._reward: Reward | None = None
        self._rules: Rules | None = None
        self._rules_of: Reward | None = None
        # The rounds so far, on which failure="round" depends.
        self._round = 0

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms of the largest grades."""
        theta, feasible = as_selection(reward, theta, k)
        if self.pools is not None:
            self.check_sets(feasible)
        rules = self._rules_for(reward)
        n_spent = self._remember(reward) if self.decoder == "regression" else 0
        n_most = min(feasible.n_most, reward.n_arms)
        made = self._make_tests(reward, rules, theta, n_most, n_spent, rng=rng)
        scores = rules.scores(made.values)
        decoded = np.ones(len(made.pools), bool)
        if self.tests == "non_repeated":
            decoded = theory.non_repeated(made.pools, scores)
        if self._weights is not None:
            use = decoded & rules.is_readable(scores)
            decoded = self._weights.learn(made.pools, made.classes, theta, scores, use, rules.noise)
            grades, rounding = self._weights.w * theta, 0.0
            explained = self._weights.classes.explained
        else:
            centred = self.decoder == "centred"
            grades, rounding = summed(made.pools, scores, decoded, centred=centred)
            explained = None
        self.report = GroupTestingReport(
            made.pools, made.values, scores, decoded, grades, explained
        )
        if self._weights is None and not is_uniform(feasible):
            # Only differences of these grades mean something, and sets of several sizes need a
            # zero.
            grades = grades - grades.min()
        arms = best_up_to(feasible, grades, rounding, rng=rng)
        self._round += 1  # only now: a round that failed does not count
        return arms

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets of other arms than those of fixed pools."""
        check_pools(self.pools, feasible)

    def adopt(self, arms: IndexArray, k: KOrSets, n_arms: int) -> None:
        """Go on as if ``select`` had returned these arms: count the round."""
        self._round += 1

    def state(self) -> dict[str, Any]:
        """What decides besides the settings, as plain JSON.

        What was learned with ``decoder="regression"``, and the rounds so far if they decide.
        """
        weights = None if self._weights is None else self._weights.state()
        rounds = {"round": self._round} if self.failure == "round" else {}
        return {"oracle": "GroupTesting", "weights": weights, **rounds}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, for the reward of the next ``select``."""
        check_state(state, "GroupTesting", "weights")
        if state["weights"] is not None and self.decoder != "regression":
            raise ValueError(
                f'state has weights, which decoder="regression" needs, got decoder="{self.decoder}"'
            )
        rounds = as_count(state.get("round", 0), "state['round']")
        self._weights = None if state["weights"] is None else Weights.of(state["weights"])
        self._round, self._reward = rounds, None

    def forget(self) -> None:
        """Forget the reward and what was learned about it; the rounds go on."""
        self._weights = self._reward = None

    def resolve_n_tests(self, reward: Reward, k: int) -> int:
        """The number of tests in the next round for this reward and k; not for ``q="estimate"``."""
        return self._resolve(self._rules_for(reward), k, float(self.q))

    def _resolve(self, rules: Rules, k: int, q: float) -> int:
        t = self._round + 1
        # Theorem 1 sums 1/t² over the rounds. In round 1 that is no probability to aim for.
        failure = min(_MOST_FAILURE, t**-2) if self.failure == "round" else float(self.failure)
        return rules.resolve(k, q, failure, self.budget)

    def _rules_for(self, reward: Reward) -> Rules:
        """The quantizer, the noise and the number of tests, worked out once per reward."""
        if self._rules is None or reward is not self._rules_of:
            self._rules = Rules(
                reward,
                delta=self.delta,
                p=self.p or max(SIZES) / reward.n_arms,
                n_tests=self.n_tests,
                quantize=self.quantize,
            )
            self._rules_of = reward
        return self._rules

    def _remember(self, reward: Reward) -> int:
        """Make room for what will be learned about a new reward; a loaded state takes any reward.

        How many evaluations this took: one, of the empty set, if the reward is new.
        """
        if self._reward is None and self._weights is not None:
            check_loaded(self._weights.n_arms, reward)
            self._reward = reward
        if reward is self._reward:
            return 0
        empty = float(reward(np.empty(0, np.intp), np.empty(0)))
        sizes = class_sizes(reward.n_arms, self.p, self.pools)
        self._weights = Weights(reward.n_arms, sizes, empty)
        self._reward = reward
        return 1

    def _make_tests(
        self,
        reward: Reward,
        rules: Rules,
        theta: FloatArray,
        k: int,
        n_spent: int,
        *,
        rng: Generator,
    ) -> MadeTests:
        """The tests of this round, evaluated."""
        if self.pools is not None:
            tests = self.pools
            if self.budget is not None and len(tests) > self.budget - n_spent:
                tests = Pools.of([tests[j] for j in range(self.budget - n_spent)], reward.n_arms)
            return MadeTests(tests, np.zeros(len(tests), np.intp), reward.batch(tests, theta))
        q = 1.0 if self.q == "estimate" else float(self.q)
        # With k = n_arms the rules need no test, and the evaluation of the empty set is none.
        n_tests = max(0, self._resolve(rules, k, q) - n_spent)
        made = self._random_tests(reward, theta, n_tests, rng=rng)
        if self.q != "estimate" or not n_tests:
            return made
        q = theory.estimate_q(made.pools, rules.scores(made.values))
        if q == 0:
            raise ValueError(
                f"every one of the {n_tests} tests is repeated, so q is estimated as 0 and no "
                "number of tests suffices; use a smaller delta, another p, or set q to a number"
            )
        # The first tests count towards the number for the estimated q.
        n_more = self._resolve(rules, k, q) - n_spent - n_tests
        more = self._random_tests(reward, theta, n_more, rng=rng)
        return made.join(more)

    def _random_tests(
        self, reward: Reward, theta: FloatArray, n_tests: int, *, rng: Generator
    ) -> MadeTests:
        """Random tests; without p, of several sizes."""
        if self.p is None and self._weights is not None:
            tests, classes = sized_tests(reward.n_arms, n_tests, self._weights, rng=rng)
        else:
            tests = Pools.random(n_tests, reward.n_arms, self.p or _USUAL_P, rng=rng)
            classes = np.zeros(n_tests, np.intp)
        return MadeTests(tests, classes, reward.batch(tests, theta))
