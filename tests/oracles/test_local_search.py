"""LocalSearch against all sets and all swaps."""

import itertools

import numpy as np
import pytest

import naive
import parts
import superarm as sa


def swaps(arms, n_arms):
    for out, new in itertools.product(arms, set(range(n_arms)) - set(arms)):
        yield np.array(sorted((set(arms) - {out}) | {new}))


@pytest.mark.parametrize("name", parts.REWARDS)
def test_local_search_ends_where_no_swap_helps(name):
    reward, rng = parts.REWARDS[name](), np.random.default_rng(0)
    for k in (1, 2, 3, 6, 7):
        for _ in range(5):
            theta, oracle = rng.random(7), sa.LocalSearch(sa.Singletons())
            arms = oracle.select(reward, theta, k, rng=rng)
            value = reward(arms, theta[arms])
            assert oracle.report.value == pytest.approx(value)
            assert oracle.report.certified
            assert value >= reward(oracle.report.start, theta[oracle.report.start]) - 1e-9
            assert all(reward(s, theta[s]) <= value + 1e-9 for s in swaps(arms.tolist(), 7))
            assert value <= naive.best_sets(reward, theta, k)[1] + 1e-9


def test_local_search_improves_on_oracle_plus_where_it_is_not_exact():
    """The counter-example to Theorem 2: Oracle+ picks {0, 2}, the best pair is {0, 1}."""
    reward = sa.NetworkReward([[6.0, 0.01, 3.0], [0.01, 2.0, 0.01]], [1.0, 0.4])
    oracle = sa.LocalSearch()
    assert oracle.select(reward, np.ones(3), 2, rng=np.random.default_rng(0)).tolist() == [0, 1]
    assert oracle.report.start.tolist() == [0, 2]
    assert oracle.report.n_swaps >= 1


def test_local_search_reaches_at_least_greedy_more_often_than_not():
    """On 30 saturated networks: never below its start, and within 1% of the best set."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        reward, theta = sa.NetworkReward.random(10, n_hidden=5, std=3.0, rng=rng), rng.random(10)
        arms = sa.LocalSearch().select(reward, theta, 3, rng=rng)
        assert reward(arms, theta[arms]) >= 0.99 * naive.best_sets(reward, theta, 3)[1]


@pytest.mark.parametrize("budget", [1, 5, 30, 1000])
def test_local_search_keeps_to_its_budget(budget):
    reward = sa.Counted(sa.NetworkReward.random(40, rng=np.random.default_rng(0)))
    oracle, rng = sa.LocalSearch(budget=budget), np.random.default_rng(1)
    for _ in range(10):
        before = reward.evaluations
        arms = oracle.select(reward, rng.random(40), 4, rng=rng)
        assert len(arms) == 4
        assert reward.evaluations - before == oracle.report.evaluations <= budget
    assert oracle.report.certified is (budget == 1000)


def test_local_search_remembers_with_its_start():
    """The start keeps its memory, so that later rounds cost hardly more than the swaps."""
    reward, oracle, rng = sa.LinearReward(50), sa.LocalSearch(), np.random.default_rng(0)
    for _ in range(60):
        oracle.select(reward, rng.random(50), 3, rng=rng)
    assert oracle.report.evaluations <= 1 + 3 * 47 + 3
