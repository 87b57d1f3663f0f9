"""Scheduled against its schedule."""

import itertools
import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles.scheduled import growing


def test_asks_when_it_is_time_and_repeats_in_between():
    reward, rng = sa.Counted(sa.LinearReward(20)), np.random.default_rng(0)
    oracle = sa.oracles.Scheduled(sa.Singletons(), when=4)
    picked, costs = [], []
    for _ in range(12):
        before = reward.evaluations
        picked.append(oracle.select(reward, rng.random(20), 3, rng=rng).tolist())
        costs.append(reward.evaluations - before)
    assert costs == [20, 0, 0, 0] * 3
    assert picked[0] == picked[1] == picked[3] != picked[4] == picked[7]


def test_asks_again_when_the_problem_changes():
    reward, rng = sa.Counted(sa.LinearReward(20)), np.random.default_rng(0)
    oracle = sa.oracles.Scheduled(sa.Singletons(), when=100)
    assert len(oracle.select(reward, rng.random(20), 3, rng=rng)) == 3
    assert len(oracle.select(reward, rng.random(20), 5, rng=rng)) == 5
    assert oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 5, rng=rng).max() < 6


def test_growing_asks_logarithmically_often():
    ask = growing(1.5)
    asked = [t for t in range(1, 100_001) if ask(t)]
    assert asked[0] == 1
    assert len(asked) < 30
    assert max(later / earlier for earlier, later in itertools.pairwise(asked)) <= 2


def test_goes_on_after_save_and_load():
    def make():
        return sa.oracles.Scheduled(sa.Singletons(), when=growing(1.5))

    rng, plain, saved = np.random.default_rng(0), make(), make()
    for theta in rng.random((40, 20)):
        text = json.dumps(saved.state())
        saved = make()
        saved.load(json.loads(text))
        results = [one.select(sa.LinearReward(20), theta, 3, rng=rng) for one in (plain, saved)]
        np.testing.assert_array_equal(*results)


class Listed(sa.Singletons):
    """Its sets are lists."""

    def select(self, reward, theta, k, *, rng):
        return super().select(reward, theta, k, rng=rng).tolist()


def test_an_oracle_that_returns_lists_can_be_repeated_and_saved():
    oracle, rng = sa.oracles.Scheduled(Listed(), when=3), np.random.default_rng(0)
    policy = sa.Policy(sa.BetaBelief(6), oracle, sa.LinearReward(6), 2)
    first, second = policy.ask(rng=rng), policy.ask(rng=rng)
    assert first.tolist() == second.tolist() == oracle.state()["arms"]


def test_cannot_be_spoilt_through_its_answer():
    oracle, rng = sa.oracles.Scheduled(sa.Singletons(), when=10), np.random.default_rng(0)
    arms = oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 2, rng=rng)
    arms[:] = 0
    assert oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 2, rng=rng).tolist() == [4, 5]


@pytest.mark.parametrize(
    "call",
    [
        lambda: sa.oracles.Scheduled(sa.Singletons(), when=0),
        lambda: sa.oracles.Scheduled(sa.Singletons(), when=2.5),
        lambda: growing(1.0),
        lambda: sa.oracles.Scheduled(sa.Singletons(), when=3).load({"oracle": "Other"}),
        lambda: sa.LocalSearch(budget=0),
    ],
)
def test_refuses(call):
    with pytest.raises((ValueError, TypeError)):
        call()
