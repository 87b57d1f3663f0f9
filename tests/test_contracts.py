"""Every part of the library passes the contract checks, and the checks catch mistakes."""

import numpy as np
import pytest

import parts
import superarm as sa
from superarm.core import top_k
from superarm.testing import (
    check_belief,
    check_environment,
    check_feasible_sets,
    check_oracle,
    check_reward,
)


@pytest.mark.parametrize("name", parts.BELIEFS)
def test_beliefs(name):
    check_belief(parts.BELIEFS[name])


@pytest.mark.parametrize("name", parts.ORACLES)
def test_oracles(name):
    make, exact = parts.ORACLES[name]
    check_oracle(
        make,
        exact=exact,
        draws=not exact,
        feasible=name not in parts.PLAIN_K,
        # The delta of one and the noise of the others have a unit.
        scale_free="group testing" not in name and not name.startswith("noisy"),
    )


@pytest.mark.parametrize("name", parts.BUDGETED)
@pytest.mark.parametrize("of", ["linear, weighted", "network", "coverage", "black box"])
def test_budgets_are_kept(name, of):
    make, certifies = parts.BUDGETED[name]
    rounds = without_a_budget(make(None), parts.REWARDS[of]())
    for budget in (1, 2, 3, 5, 7, 12, 20, 100_000):
        reward, oracle = sa.Counted(parts.REWARDS[of]()), make(budget)
        for k, theta, expected, certified in rounds:
            before = reward.evaluations
            arms = oracle.select(reward, theta, k, rng=np.random.default_rng(k))
            assert reward.evaluations - before <= budget
            assert arms.shape == (k,)
            assert (np.diff(arms) > 0).all()
            assert 0 <= arms[0] <= arms[-1] < 7
            if budget == 100_000:
                np.testing.assert_array_equal(arms, expected)
                assert oracle.report.certified == certified == certifies
            elif oracle.report.certified:
                np.testing.assert_array_equal(arms, expected)
            assert certifies or not oracle.report.certified


def without_a_budget(oracle, reward):
    """Four rounds: k, theta, the arms that the oracle selects, and whether they are certified."""
    rng, rounds = np.random.default_rng(3), []
    for k in (1, 3, 7, 3):
        theta = rng.random(7)
        arms = oracle.select(reward, theta.copy(), k, rng=np.random.default_rng(k))
        rounds.append((k, theta, arms, oracle.report.certified))
    return rounds


@pytest.mark.parametrize("name", parts.BUDGETED)
def test_equal_arms_have_equal_chances_under_a_budget(name):
    """Each of 7 equal arms is in a set of 3 now and then: (4/7)^60 < 1e-14 that one never is.

    Fewer sets are a stricter test, since a rare arm is then missed more often.
    """
    oracle, rng = parts.BUDGETED[name][0](4), np.random.default_rng(0)
    reward, theta = sa.LinearReward(7), np.full(7, 0.5)
    chosen = np.bincount(
        np.ravel([oracle.select(reward, theta, 3, rng=rng) for _ in range(60)]), minlength=7
    )
    assert (chosen > 0).all() or name == "group testing, fixed pools"


def test_an_estimate_that_asks_for_more_tests_gets_what_the_budget_has_left():
    reward = sa.Counted(sa.LinearReward(300))
    oracle = sa.GroupTesting(delta=0.25, q="estimate", budget=300)
    oracle.select(reward, np.random.default_rng(0).random(300), 3, rng=np.random.default_rng(0))
    first = sa.theory.n_tests_order(n_arms=300, k=3, delta=0.25, failure=1e-4)
    assert first < reward.evaluations == len(oracle.report.tests) == 300


@pytest.mark.parametrize("name", parts.BUDGETED)
@pytest.mark.parametrize("bad", [0, -1, 2.5])
def test_impossible_budgets_are_refused(name, bad):
    with pytest.raises((ValueError, TypeError), match="budget"):
        parts.BUDGETED[name][0](bad)


def test_every_oracle_that_evaluates_has_a_budget():
    made = {type(make(1)) for make, _ in parts.BUDGETED.values()}
    # One explores first, and leaves the rest to its oracle; the others evaluate nothing.
    without = {
        sa.oracles.ExploreThenCommit,
        sa.oracles.RandomSets,
        sa.TopK,
        sa.oracles.ESCBIndex,
        sa.oracles.CLUCB,
        sa.oracles.LUCB,
        sa.oracles.TopTwo,
        sa.oracles.SuccessiveAccepts,
        sa.oracles.DependentRounding,
    }
    assert made == {type(make()) for make, _ in parts.ORACLES.values()} - without


@pytest.mark.parametrize("name", parts.REWARDS)
def test_rewards(name):
    check_reward(parts.REWARDS[name]())


@pytest.mark.parametrize("name", parts.ENVIRONMENTS)
def test_environments(name):
    check_environment(parts.ENVIRONMENTS[name])


@pytest.mark.parametrize("name", parts.FEASIBLE_SETS)
def test_feasible_sets(name):
    check_feasible_sets(parts.FEASIBLE_SETS[name], 7)
    for wrong in (6, 8):
        with pytest.raises(ValueError, match=f"{wrong} arms"):
            parts.FEASIBLE_SETS[name]().for_arms(wrong)


def test_the_table_has_every_part():
    def classes(module):
        return {getattr(module, name) for name in module.__all__}

    made = {type(make(3)) for make in parts.BELIEFS.values()}
    assert classes(sa.beliefs) == made
    assert classes(sa.oracles) == {type(make()) for make, _ in parts.ORACLES.values()}
    assert classes(sa.rewards) <= {type(make()) for make in parts.REWARDS.values()}
    assert classes(sa.sets) - {sa.Group} <= {type(make()) for make in parts.FEASIBLE_SETS.values()}
    assert classes(sa.environments) <= {type(make()) for make in parts.ENVIRONMENTS.values()}


def test_parts_satisfy_the_protocols():
    assert all(isinstance(make(3), sa.Belief) for make in parts.BELIEFS.values())
    assert all(isinstance(make(), sa.Oracle) for make, _ in parts.ORACLES.values())
    assert all(isinstance(make(), sa.Reward) for make in parts.REWARDS.values())
    assert all(isinstance(make(), sa.FeasibleSets) for make in parts.FEASIBLE_SETS.values())
    assert all(isinstance(make(), sa.Environment) for make in parts.ENVIRONMENTS.values())


class ForgetsHalf(sa.BetaBelief):
    def load(self, state):
        self.a = np.array(state["a"])


class GivesAList(sa.BetaBelief):
    def sample(self, *, rng):
        return super().sample(rng=rng).tolist()


class LearnsBeforeChecking(sa.BetaBelief):
    def update(self, arms, outcomes, *, rng):
        self.a[0] += 1
        super().update(arms, outcomes, rng=rng)


class ByIndex(sa.Singletons):
    def select(self, reward, theta, k, *, rng):
        super().select(reward, theta, k, rng=rng)
        return np.sort(np.argsort(-self.report.values, kind="stable")[:k])


class WritesIntoTheta(sa.Singletons):
    def select(self, reward, theta, k, *, rng):
        arms = super().select(reward, theta, k, rng=rng)
        theta[0] = 0.0
        return arms


class ArraysOnly(sa.Singletons):
    """Works with an array theta, but not with the Sample that a Policy passes."""

    def select(self, reward, theta, k, *, rng):
        if not isinstance(theta, list | np.ndarray):
            raise TypeError("theta must be an array")
        return super().select(reward, theta, k, rng=rng)


class PeeksOutside(sa.LinearReward):
    def batch(self, pools, theta):
        return np.minimum(super().batch(pools, theta) * (1 + theta[-1]), self.upper)


class Unordered(sa.Singletons):
    def select(self, reward, theta, k, *, rng):
        return super().select(reward, theta, k, rng=rng)[::-1]


class Coarse(sa.Singletons):
    """Values within 1e-9 are equal to it, whatever their size."""

    def select(self, reward, theta, k, *, rng):
        super().select(reward, theta, k, rng=rng)
        return top_k(self.report.values, k, rng=rng, tolerance=1e-9)


class Biased(sa.BernoulliArms):
    def pull(self, arms, *, rng):
        return super().pull(arms, rng=rng) * (rng.random() < 0.9)


@pytest.mark.parametrize(
    ("check", "thing", "says"),
    [
        (check_belief, ForgetsHalf, "restore the belief exactly"),
        (check_belief, LearnsBeforeChecking, "must change nothing"),
        (check_belief, GivesAList, r"a sample must be an array of shape \(5,\), got list"),
        (check_oracle, ByIndex, "at random, not by index"),
        (check_oracle, WritesIntoTheta, "write into theta"),
        (check_oracle, ArraysOnly, "begin select with theta, feasible = as_selection"),
        (check_oracle, Unordered, "ascending"),
        (check_oracle, Coarse, "a share of the values"),
        (check_reward, PeeksOutside(5), "single calls"),
        (check_reward, sa.BlackBox(parts.total, n_arms=5, lipschitz=0.1, upper=5), "lipschitz"),
        (check_reward, sa.BlackBox(parts.bumpy, n_arms=5, lipschitz=2, upper=3), "upper"),
        (
            check_reward,
            sa.BlackBox(parts.bumpy, n_arms=5, lipschitz=2, upper=5, monotone=True),
            "monotone",
        ),
        (
            check_reward,
            sa.BlackBox(parts.bumpy, n_arms=5, lipschitz=2, upper=5, zero_is_absent=True),
            "zero_is_absent",
        ),
        (
            check_reward,
            sa.BlackBox(parts.bumpy, n_arms=5, lipschitz=2, upper=5, diminishing=True),
            "diminishing: a",
        ),
        (check_environment, lambda: Biased([0.5, 0.9, 0.9]), "average to mu"),
    ],
)
def test_the_checks_catch(check, thing, says):
    with pytest.raises(AssertionError, match=says):
        check(thing)


def test_needless_draws_are_caught():
    with pytest.raises(AssertionError, match="nothing must be drawn"):
        check_oracle(sa.oracles.RandomSets, draws=False)


def test_an_oracle_without_a_report_is_caught():
    class Silent:
        def select(self, reward, theta, k, *, rng):
            return np.arange(k)

    with pytest.raises(AssertionError, match="must have select and report"):
        check_oracle(Silent)


def test_a_false_claim_of_exactness_is_caught():
    with pytest.raises(AssertionError, match="exact oracle"):
        check_oracle(sa.oracles.RandomSets, exact=True)
