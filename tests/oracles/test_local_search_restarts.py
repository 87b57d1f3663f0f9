"""Local search with restarts: the best of several searches, from random sets."""

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box


def bundles(arms, means):
    """Arms of one bundle of three are worth more together: many sets that no swap improves."""
    return float((np.bincount(arms // 3, means, 4) ** 2).sum())


def reward():
    return box(bundles, n_arms=12, lipschitz=6.0, upper=36.0)


class Given:
    """An oracle that picks one set."""

    report = None

    def __init__(self, arms):
        self.arms = np.asarray(arms)

    def select(self, reward, theta, k, *, rng):
        return self.arms


def test_restarts_are_the_best_of_single_searches():
    """The slow twin draws the same sets, and searches from each of them by itself."""
    for seed in range(8):
        theta = np.random.default_rng(seed + 50).random(12)
        oracle = sa.LocalSearch(sa.Singletons(), restarts=3)
        arms = oracle.select(reward(), theta, 3, rng=np.random.default_rng(seed))
        rng, values = np.random.default_rng(seed), []
        start = sa.Singletons().select(reward(), theta, 3, rng=rng)
        for _ in range(4):
            found = sa.LocalSearch(Given(start)).select(reward(), theta, 3, rng=rng)
            values.append(bundles(found, theta[found]))
            start = np.sort(np.argsort(-rng.random(12))[:3])
        assert bundles(arms, theta[arms]) == oracle.report.value == pytest.approx(max(values))
        assert oracle.report.certified


def test_no_restart_is_the_search_as_it_was():
    for seed in range(3):
        theta = np.random.default_rng(seed).random(12)
        rngs = [np.random.default_rng(seed) for _ in range(2)]
        plain, none = (
            sa.LocalSearch(**options).select(reward(), theta, 3, rng=rng)
            for options, rng in zip(({}, {"restarts": 0}), rngs, strict=True)
        )
        assert (plain == none).all()
        assert rngs[0].random() == rngs[1].random()


def test_a_budget_holds_for_all_searches():
    for budget in (1, 20, 60, 200):
        counted = sa.Counted(reward())
        oracle = sa.LocalSearch(budget=budget, restarts=5)
        theta = np.random.default_rng(1).random(12)
        arms = oracle.select(counted, theta, 3, rng=np.random.default_rng(2))
        assert counted.evaluations == oracle.report.evaluations <= budget
        assert len(arms) == 3


def test_restarts_begin_with_uniform_sets():
    """2,000 starts among 10 sets: each count is within five deviations (13.4) of 200, which fails
    for another seed with probability below 1e-5."""
    starts = []

    class Flat:
        n_arms, lipschitz, upper = 5, 1.0, 1.0
        monotone = zero_is_absent = additive = False

        def __call__(self, arms, means):
            starts.append(tuple(arms.tolist()))
            return 1.0

        def batch(self, pools, theta):
            return np.ones(len(pools))

    oracle = sa.LocalSearch(sa.oracles.RandomSets(), restarts=2_000)
    oracle.select(Flat(), np.full(5, 0.5), 2, rng=np.random.default_rng(0))
    counts = np.unique(np.array(starts[1:]), axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert np.abs(counts - 200).max() < 5 * 13.4


def test_restarts_must_be_a_count():
    with pytest.raises(ValueError, match="restarts"):
        sa.LocalSearch(restarts=-1)
