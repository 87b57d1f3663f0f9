import itertools
import json

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import naive
import parts
import superarm as sa
from superarm import Pools

OPTIONS = list(itertools.product([True, False], ["sum", "centred"], ["all", "non_repeated"]))


def random_pools(seed, n_tests, p=0.5):
    return Pools.random(n_tests, 7, p, rng=np.random.default_rng(seed))


class Remembering:
    """A reward that the slow twin evaluates once per set, for one theta."""

    def __init__(self, reward):
        self.n_arms, self.lipschitz, self.upper = reward.n_arms, reward.lipschitz, reward.upper
        self._reward, self._known = reward, {}

    def __call__(self, arms, means):
        key = tuple(arms)
        if key not in self._known:
            self._known[key] = self._reward(arms, means)
        return self._known[key]


@pytest.mark.parametrize("name", parts.REWARDS)
@given(
    seed=st.integers(0, 2**32), k=st.integers(1, 7), delta=st.sampled_from([0.05, 0.25, 1.0, 30.0])
)
def test_equals_algorithm_2_line_by_line(name, seed, k, delta):
    """Arms, grades and the generator, for every option; delta = 30 leaves nothing but ties.

    Each example is decided with all options, since they share the tests and their values.
    """
    reward, theta = parts.REWARDS[name](), np.random.default_rng(seed).random(7)
    pools, remembering = random_pools(seed, 12), Remembering(reward)
    sets = list(pools)
    for quantize, decoder, tests in OPTIONS:
        options = {"delta": delta, "decoder": decoder, "tests": tests}
        oracle = sa.GroupTesting(quantize=quantize, pools=pools, **options)
        rngs = [np.random.default_rng(seed), np.random.default_rng(seed)]
        arms = oracle.select(reward, theta, k, rng=rngs[0])
        twin, grades = naive.group_testing(
            remembering, theta, k, sets, quantized=quantize, **options, rng=rngs[1]
        )
        # Plain comparisons: those of numpy.testing would take a fifth of the time.
        error = np.abs(oracle.report.grades - grades)
        assert (error <= 1e-9 + 1e-7 * np.abs(grades)).all(), (quantize, options)
        assert arms.tolist() == twin.tolist(), (quantize, options)
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state, (quantize, options)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 2 / 3])
def test_draws_its_tests_as_pools_does(p):
    theta, reward = np.linspace(0, 1, 7), sa.LinearReward(7)
    oracle = sa.GroupTesting(delta=0.25, p=p, n_tests=40)
    arms = oracle.select(reward, theta, 3, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    pools = Pools.random(40, 7, p, rng=rng)
    np.testing.assert_array_equal(oracle.report.tests.dense(), pools.dense())
    options = {"delta": 0.25, "quantized": True, "decoder": "sum", "tests": "all"}
    np.testing.assert_array_equal(
        arms, naive.group_testing(reward, theta, 3, list(pools), **options, rng=rng)[0]
    )


def test_tests_are_new_in_every_round():
    oracle, rng = sa.GroupTesting(delta=0.25, n_tests=40), np.random.default_rng(0)
    first, second = (
        (
            oracle.select(sa.LinearReward(7), np.full(7, 0.5), 3, rng=rng),
            oracle.report.tests.dense(),
        )[1]
        for _ in range(2)
    )
    assert (first != second).any()


@given(theta=st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array), k=st.integers(1, 7))
def test_with_singletons_as_tests_and_no_quantizer_it_is_oracle_plus(theta, k):
    """Every reward gets every example: making an example takes longer than trying it."""
    for name in parts.REWARDS:
        note(name)
        is_oracle_plus(parts.REWARDS[name](), theta, k)


def is_oracle_plus(reward, theta, k):
    oracle = sa.GroupTesting(delta=0.25, quantize=False, pools=Pools.singletons(np.arange(7), 7))
    arms = oracle.select(reward, theta, k, rng=np.random.default_rng(0))
    plus = sa.Singletons()
    expected = plus.select(reward, theta, k, rng=np.random.default_rng(0))
    worth = np.sort(plus.report.values[expected])
    np.testing.assert_allclose(np.sort(plus.report.values[arms]), worth, atol=1e-9)
    if np.diff(np.sort(plus.report.values)).min() > 1e-9:  # no ties within rounding
        np.testing.assert_array_equal(arms, expected)


def test_with_a_million_singletons_it_is_still_oracle_plus():
    """The tolerance for ties grows with the sums' rounding, not with the number of tests."""
    theta = np.random.default_rng(0).random(1_000_000)
    reward = sa.LinearReward(len(theta))
    oracle = sa.GroupTesting(
        delta=0.25, quantize=False, pools=Pools.singletons(np.arange(len(theta)), len(theta))
    )
    rng, untouched = np.random.default_rng(1), np.random.default_rng(1)
    np.testing.assert_array_equal(
        oracle.select(reward, theta, 5, rng=rng), np.sort(np.argsort(theta)[-5:])
    )
    assert rng.bit_generator.state == untouched.bit_generator.state


def test_the_report_says_why():
    oracle = sa.GroupTesting(
        delta=0.25, pools=Pools.of([[0, 1], [1, 2], [3], [0, 3]], 4), tests="non_repeated"
    )
    theta = np.array([0.5, 0.25, 0.5, 0.1])
    oracle.select(sa.LinearReward(4), theta, 2, rng=np.random.default_rng(0))
    report = oracle.report
    np.testing.assert_allclose(report.values, [0.75, 0.75, 0.1, 0.6])
    np.testing.assert_allclose(report.scores, [0.75, 0.75, 0.125, 0.625])
    assert report.decoded.tolist() == [False, False, True, True]
    assert report.q_hat == 0.5
    np.testing.assert_allclose(report.grades, [0.625, 0, 0, 0.75])
    assert report.certified is False
    assert report.tests is oracle.pools


def test_enough_tests_find_the_best_arms():
    """Centred scores see a gap of 0.8 in 10 arms by 4,000 tests: it is above 8 standard errors."""
    theta = np.array([0.1, 0.9, 0.05, 0.0, 0.1, 0.95, 0.0, 0.1, 0.92, 0.1])
    for decoder in ("sum", "centred"):
        oracle = sa.GroupTesting(delta=0.25, n_tests=4000, decoder=decoder)
        assert oracle.select(
            sa.LinearReward(10), theta, 3, rng=np.random.default_rng(0)
        ).tolist() == [1, 5, 8]


def test_number_of_tests():
    def used(reward, k=5, **options):
        policy = sa.gt_qts(reward, k, **options)
        policy.ask(rng=np.random.default_rng(0))
        return policy.evaluations

    assert used(sa.LinearReward(5000), delta=0.25) == 310  # section 5's "about 310"
    assert used(sa.LinearReward(5000), delta=0.25, n_tests=302) == 302
    # Lemma 1 where it can be run: B = M = 1, delta = 4, p = 1/2:
    # 8 / 16 / (1/16 · 1/4) · ln(5 · 5 / 0.1) = 176.7
    assert used(sa.AnySuccess(10), delta=4.0, n_tests="lemma", failure=0.1) == 177
    assert (
        used(sa.AnySuccess(5), delta=4.0, n_tests="lemma", failure=0.1) == 0
    )  # all arms are picked anyway


def test_a_number_of_tests_that_could_never_be_run_is_named():
    policy = sa.gt_qts(sa.LinearReward(5000), 5, delta=0.25, n_tests="lemma", p=2 / 3)
    with pytest.raises(
        ValueError,
        match=r"asks for 2,819,18\d,\d\d\d,\d\d\d tests of 5,000 arms, which could never be run",
    ):
        policy.ask(rng=np.random.default_rng(0))
    assert policy.evaluations == 0


def test_estimating_q_adds_the_tests_that_the_estimate_asks_for():
    reward, theta = sa.LinearReward(12), np.linspace(0.05, 0.95, 12)
    oracle = sa.GroupTesting(delta=0.5, failure=0.05, q="estimate")
    oracle.select(reward, theta, 3, rng=np.random.default_rng(0))
    first = sa.theory.n_tests_order(n_arms=12, k=3, delta=0.5, failure=0.05)
    assert first == 26
    report = oracle.report
    start = Pools.of(list(report.tests)[:first], 12)
    q = sa.theory.estimate_q(start, report.scores[:first])
    assert 0 < q < 1
    assert len(report.tests) == sa.theory.n_tests_order(
        n_arms=12, k=3, delta=0.5, failure=0.05, q=q
    )
    fixed = sa.GroupTesting(delta=0.5, failure=0.05, q=q)
    fixed.select(reward, theta, 3, rng=np.random.default_rng(0))
    assert len(fixed.report.tests) == len(report.tests)


def test_when_every_test_is_repeated_q_cannot_be_used():
    with pytest.raises(ValueError, match=r"every one of the \d+ tests is repeated"):
        sa.gt_qts(sa.AnySuccess(3), 1, delta=2.0, failure=1e-300, q="estimate").ask(
            rng=np.random.default_rng(0)
        )


def test_steps_below_one_half_of_lipschitz_count_as_one_half():
    """The proof of Lemma 2 needs B >= 1/2: a flatter reward is quantized with B = 1/2."""
    reward = sa.LinearReward(4, weights=np.full(4, 0.01))
    oracle = sa.GroupTesting(delta=0.02, pools=Pools.of([[0, 1, 2]], 4))
    oracle.select(reward, np.array([0.9, 0.9, 0.7, 0.1]), 1, rng=np.random.default_rng(0))
    assert oracle.report.scores[0] == pytest.approx(0.02)  # steps of 0.02 / (2 · 1/2)


def test_failure_by_round_is_that_of_theorem_1():
    """1/t² in round t, and 1/2 in round 1; the round is saved, and a failed round is none."""
    reward, theta = sa.LinearReward(12), np.linspace(0.05, 0.95, 12)
    oracle, rng = sa.GroupTesting(delta=0.5, failure="round"), np.random.default_rng(0)

    def n_tests(failure):
        return sa.theory.n_tests_order(n_arms=12, k=3, delta=0.5, failure=failure)

    for t in range(1, 30):
        expected = n_tests(min(0.5, 1 / t**2))
        assert oracle.resolve_n_tests(reward, 3) == expected
        with pytest.raises(ValueError, match="theta"):
            oracle.select(reward, theta * 2, 3, rng=rng)
        oracle.select(reward, theta, 3, rng=rng)
        assert len(oracle.report.tests) == expected
        twin = sa.GroupTesting(delta=0.5, failure="round")
        twin.load(json.loads(json.dumps(oracle.state())))
        oracle = twin
    oracle.forget()
    assert oracle.resolve_n_tests(reward, 3) == n_tests(1 / 30**2)
    assert "round" not in sa.GroupTesting(delta=0.5).state()


def test_failure_by_round_needs_one_round_after_the_other():
    with pytest.raises(ValueError, match="failure must be a number, got 'round'"):
        parts.simulate_batch(
            lambda rng: sa.linear_instance(8, 2, 0.2, rng=rng),
            sa.GroupTesting(delta=0.2, failure="round"),
            n_runs=2,
            horizon=3,
            seed=0,
        )


def test_a_fixed_test_matrix_serves_every_round_of_a_policy():
    """The text's GTO(A, theta): the same A in every round, and a new theta."""
    instance = sa.linear_instance(7, 2, 0.2, rng=np.random.default_rng(0))
    pools, rng = random_pools(3, 30), np.random.default_rng(1)
    policy = sa.gt_qts(instance.reward, 2, delta=0.25, pools=pools, failure="round")
    for t in range(1, 201):
        arms = policy.ask(rng=rng)
        assert policy.oracle.report.tests is pools
        assert policy.evaluations == 30 * t
        policy.tell(arms, instance.pull(arms, rng=rng), rng=rng)


def test_small_p_runs_without_the_matrix(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the dense matrix was built")

    monkeypatch.setattr("superarm.core._bits.draw", refuse)
    monkeypatch.setattr(Pools, "dense", refuse)
    policy = sa.gt_qts(sa.LinearReward(5000), 5, delta=0.25, p=5 / 5000, n_tests=302)
    assert len(policy.ask(rng=np.random.default_rng(0))) == 5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delta": 0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"p": 0}, "p must be in"),
        ({"p": 1}, "p must be in"),
        ({"n_tests": 0}, "at least 1"),
        ({"n_tests": 2.5}, "whole number"),
        ({"n_tests": "many"}, '"order" or "lemma", got \'many\''),
        ({"failure": 0}, "failure"),
        ({"failure": 1}, "failure"),
        ({"failure": "never"}, "failure must be"),
        ({"q": 0}, "q must be in"),
        ({"q": "guess"}, "q must be"),
        ({"q": "estimate", "n_tests": 20}, "needs a rule"),
        ({"decoder": "product"}, '"sum", "centred" or "regression"'),
        ({"decoder": "regression", "n_tests": "lemma"}, "got p=None; give p"),
        ({"tests": "some"}, '"all" or "non_repeated"'),
        ({"pools": [[0]]}, "must be a Pools, got list"),
    ],
)
def test_refuses(options, says):
    with pytest.raises((ValueError, TypeError), match=says):
        sa.GroupTesting(**{"delta": 0.25, **options})


def test_fixed_pools_must_fit_the_reward():
    pools, reward = Pools.of([[0]], 4), sa.LinearReward(5)
    with pytest.raises(ValueError, match="of the reward's arms, got pools over 4"):
        sa.gt_qts(reward, 2, delta=0.25, pools=pools)
    oracle = sa.GroupTesting(delta=0.25, pools=pools)
    with pytest.raises(ValueError, match="of the reward's arms, got pools over 4"):
        oracle.select(reward, np.full(5, 0.5), 2, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "options",
    [{"delta": 1e-200}, {"delta": 1e-160}, {"p": 1e-90, "n_tests": "lemma"}, {"n_tests": 10**12}],
)
def test_absurd_numbers_are_clear_errors(options):
    with pytest.raises(ValueError, match="number"):
        sa.gt_qts(sa.LinearReward(100), 5, **{"delta": 0.25, **options}).ask(
            rng=np.random.default_rng(0)
        )


def test_regression_picks_all_arms_where_there_is_nothing_to_choose():
    """The rules ask for no test then; the empty set is evaluated all the same."""
    policy = sa.policies.gt_qts(sa.LinearReward(3), 3, delta=0.5, p=None, decoder="regression")
    rng = np.random.default_rng(0)
    for _ in range(2):
        assert policy.ask(rng=rng).tolist() == [0, 1, 2]
    assert policy.evaluations == 1
