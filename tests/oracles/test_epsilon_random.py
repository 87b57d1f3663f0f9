"""Exploration with probability epsilon: how often, by which schedule, and which sets."""

import itertools

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.oracles import EpsilonRandom
from superarm.oracles.epsilon_random import decaying


def explored(oracle, rounds, rng):
    reward, theta = sa.Counted(sa.LinearReward(30)), np.linspace(0, 1, 30)
    found = []
    for _ in range(rounds):
        before = reward.evaluations
        arms = oracle.select(reward, theta, 3, rng=rng)
        found.append(reward.evaluations == before)
        assert (oracle.report is None) == found[-1]
        assert found[-1] or arms.tolist() == [27, 28, 29]
    return np.array(found)


def test_epsilon_random_explores_with_probability_epsilon():
    """3,000 rounds, within 5 standard deviations of 600; error 6e-7."""
    found = explored(EpsilonRandom(sa.Singletons(), 0.2), 3000, np.random.default_rng(0))
    assert abs(found.sum() - 600) < 5 * np.sqrt(3000 * 0.2 * 0.8)


def test_epsilon_random_explores_by_its_schedule():
    """Every round while c/t >= 1, and about c ln(T/c) of the later rounds: within 5 standard
    deviations; error 6e-7.
    """
    found = explored(EpsilonRandom(sa.Singletons(), decaying(20)), 3000, np.random.default_rng(0))
    chances = np.minimum(1, 20 / np.arange(1, 3001))
    assert found[:20].all()
    assert abs(found.sum() - chances.sum()) < 5 * np.sqrt((chances * (1 - chances)).sum())


def test_epsilon_random_picks_any_set():
    """All 15 pairs of 6 arms equally often in 3,000 random sets: chi-square, error 1e-6."""
    oracle, rng = EpsilonRandom(sa.Singletons(), 1.0), np.random.default_rng(0)
    sets = [
        tuple(oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 2, rng=rng))
        for _ in range(3000)
    ]
    observed = [sets.count(pair) for pair in itertools.combinations(range(6), 2)]
    assert stats.chisquare(observed).pvalue > 1e-6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: EpsilonRandom(sa.TopK(), 1.5), "epsilon must be in"),
        (lambda: EpsilonRandom(sa.TopK(), 0.5).load({"oracle": "Other"}), "EpsilonRandom"),
        (lambda: decaying(0), "c must be"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
