"""Singletons, and properties that the simple oracles share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import parts
import superarm as sa

THETA = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array)


class Spy(np.random.Generator):
    """A generator that must not be used."""

    def __getattribute__(self, name):
        raise AssertionError(f"rng.{name} was used although there was no tie")


@pytest.mark.parametrize("oracle", [sa.Singletons(), sa.Greedy(), sa.Exhaustive()])
def test_nothing_is_drawn_without_a_tie(oracle):
    theta = np.array([0.3, 0.9, 0.1, 0.5, 0.8])
    arms = oracle.select(sa.LinearReward(5), theta, 3, rng=Spy.__new__(Spy))
    assert arms.tolist() == [1, 3, 4]


@pytest.mark.parametrize("name", ["linear", "linear, weighted", "any success"])
@given(theta=THETA, k=st.integers(1, 7))
def test_singletons_and_greedy_are_exact_for_separable_rewards(name, theta, k):
    reward = parts.REWARDS[name]()
    best = naive.best_sets(reward, theta, k)[1]
    for oracle in (sa.Singletons(), sa.Greedy()):
        arms = oracle.select(reward, theta, k, rng=np.random.default_rng(0))
        assert reward(arms, theta[arms]) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(
    ("oracle", "evaluations"),
    [
        (sa.Singletons(), 7),
        (sa.Greedy(), 7 + 6 + 5),
        (sa.Exhaustive(), 35),
        (sa.oracles.RandomSets(), 0),
        (sa.GroupTesting(delta=0.25, n_tests=17), 17),
        (sa.GroupTesting(delta=0.5, failure=0.1), 20),
    ],
)
def test_evaluations_are_counted(oracle, evaluations):
    policy = sa.cts(sa.LinearReward(7), 3, oracle=oracle)
    for rounds in (1, 2, 3):
        policy.ask(rng=np.random.default_rng(0))
        assert policy.evaluations == rounds * evaluations


def test_an_empty_oracle_is_still_an_oracle():
    class Memo(sa.Singletons):
        def __len__(self):
            return 0

    oracle = Memo()
    assert sa.cts(sa.LinearReward(3), 1, oracle=oracle).oracle is oracle
    assert sa.cucb(sa.LinearReward(3), 1, oracle=oracle).oracle is oracle


class OfArrays:
    """A reward that takes arms and means as the arrays of `BlackBox` functions, and no lists."""

    n_arms, lipschitz, upper = 8, 0.1, 8.0  # the true lipschitz is 1: answers are asked again
    monotone, zero_is_absent, additive = True, True, False

    def __call__(self, arms, means):
        assert arms.dtype.kind == "i"
        return float(means.sum())

    def batch(self, pools, theta):
        return np.array([self(arms, theta[arms]) for arms in pools])


@pytest.mark.filterwarnings("ignore:the declared lipschitz")
@pytest.mark.parametrize(
    "oracle",
    [
        sa.Singletons(),
        sa.LazySingletons(),
        sa.LazyGreedy(),
        sa.LocalSearch(),
        sa.GroupTesting(delta=0.1, decoder="regression"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_reward_gets_arrays_also_for_the_empty_set_and_one_arm(oracle):
    feasible, rng = sa.Feasible(2, at_most=True, n_arms=8), np.random.default_rng(0)
    for _ in range(5):
        assert oracle.select(OfArrays(), rng.random(8), feasible, rng=rng).dtype == np.intp
