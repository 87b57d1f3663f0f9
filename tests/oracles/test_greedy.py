"""Greedy against its twin and its guarantee."""

import numpy as np
import pytest

import naive
import parts
import superarm as sa


@pytest.mark.parametrize("name", parts.REWARDS)
def test_greedy_equals_its_twin(name):
    reward, oracle, rng = parts.REWARDS[name](), sa.Greedy(), np.random.default_rng(0)
    for _ in range(20):
        theta = rng.random(7)
        arms = oracle.select(reward, theta, 4, rng=rng)
        order = oracle.report.order
        np.testing.assert_array_equal(arms, naive.greedy(reward, theta, 4, order))
        np.testing.assert_array_equal(np.sort(order), arms)
        assert oracle.report.values[-1] == pytest.approx(reward(arms, theta[arms]))


def test_greedy_is_within_its_guarantee_for_coverage():
    reward, rng = parts.REWARDS["coverage of a graph"](), np.random.default_rng(0)
    for _ in range(50):
        theta = rng.random(7)
        arms = sa.Greedy().select(reward, theta, 3, rng=rng)
        assert reward(arms, theta[arms]) >= (1 - 1 / np.e) * naive.best_sets(reward, theta, 3)[1]


@pytest.mark.parametrize("budget", range(1, 5))
def test_within_a_budget_greedy_adds_the_likeliest_arms(budget):
    """For a weighted sum, B_i theta_i is what arm i adds: no budget misses the best arms."""
    rng = np.random.default_rng(budget)
    reward = sa.LinearReward(7, weights=rng.uniform(0.5, 2.0, 7))
    oracle, counted = sa.Greedy(budget=budget), sa.Counted(reward)
    for _ in range(20):
        theta, before = rng.random(7), counted.evaluations
        arms = oracle.select(counted, theta, 3, rng=rng)
        order = np.argsort(-reward.lipschitz * theta)[:3]
        np.testing.assert_array_equal(oracle.report.order, order)
        np.testing.assert_array_equal(arms, np.sort(order))
        assert not oracle.report.certified
        assert counted.evaluations - before <= budget
