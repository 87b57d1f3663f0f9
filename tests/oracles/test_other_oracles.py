"""LocalSearch against all sets and all swaps; Scheduled against its schedule."""

import itertools
import json

import numpy as np
import pytest

import naive
import parts
import superarm as sa
from superarm.oracles.scheduled import growing


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
    """The network of the counter-example to Theorem 2: Oracle+ picks {0, 2}, the best pair is {0, 1}."""
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
    """The start keeps its memory from round to round, so that later rounds cost hardly more than the swaps."""
    reward, oracle, rng = sa.LinearReward(50), sa.LocalSearch(), np.random.default_rng(0)
    for _ in range(60):
        oracle.select(reward, rng.random(50), 3, rng=rng)
    assert oracle.report.evaluations <= 1 + 3 * 47 + 3


def test_rarely_asks_when_it_is_time_and_repeats_in_between():
    reward, rng = sa.Counted(sa.LinearReward(20)), np.random.default_rng(0)
    oracle = sa.oracles.Scheduled(sa.Singletons(), when=4)
    picked, costs = [], []
    for _ in range(12):
        before = reward.evaluations
        picked.append(oracle.select(reward, rng.random(20), 3, rng=rng).tolist())
        costs.append(reward.evaluations - before)
    assert costs == [20, 0, 0, 0] * 3
    assert picked[0] == picked[1] == picked[3] != picked[4] == picked[7]


def test_rarely_asks_again_when_the_problem_changes():
    reward, rng = sa.Counted(sa.LinearReward(20)), np.random.default_rng(0)
    oracle = sa.oracles.Scheduled(sa.Singletons(), when=100)
    assert len(oracle.select(reward, rng.random(20), 3, rng=rng)) == 3
    assert len(oracle.select(reward, rng.random(20), 5, rng=rng)) == 5
    assert oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 5, rng=rng).max() < 6


def test_rarely_growing_asks_logarithmically_often():
    ask = growing(1.5)
    asked = [t for t in range(1, 100_001) if ask(t)]
    assert asked[0] == 1
    assert len(asked) < 30
    assert max(later / earlier for earlier, later in itertools.pairwise(asked)) <= 2


def test_rarely_goes_on_after_save_and_load():
    def make():
        return sa.oracles.Scheduled(sa.Singletons(), when=growing(1.5))

    rng, plain, saved = np.random.default_rng(0), make(), make()
    for theta in rng.random((40, 20)):
        text = json.dumps(saved.state())
        saved = make()
        saved.load(json.loads(text))
        results = [one.select(sa.LinearReward(20), theta, 3, rng=rng) for one in (plain, saved)]
        np.testing.assert_array_equal(*results)


def test_rarely_cannot_be_spoilt_through_its_answer():
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
