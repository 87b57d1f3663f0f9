"""Exhaustive against all sets."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import naive
import parts
import superarm as sa

THETA = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(np.array)


@given(theta=THETA, k=st.integers(1, 7))
def test_exhaustive_finds_the_best_set(theta, k):
    """Every reward gets every example: making an example takes as long as trying it."""
    for name in parts.REWARDS:
        note(name)
        finds_the_best_set(parts.REWARDS[name](), theta, k)


def finds_the_best_set(reward, theta, k):
    oracle = sa.Exhaustive()
    arms = oracle.select(reward, theta, k, rng=np.random.default_rng(0))
    sets, best = naive.best_sets(reward, theta, k)
    assert reward(arms, theta[arms]) == pytest.approx(best, abs=1e-9)
    assert oracle.report.value == pytest.approx(best, abs=1e-9)
    assert oracle.report.certified
    assert tuple(arms) in sets or len(sets) < oracle.report.n_best


def test_exhaustive_draws_among_equally_good_sets():
    rng = np.random.default_rng(0)
    oracle = sa.Exhaustive()
    found = {
        tuple(oracle.select(sa.LinearReward(4), np.full(4, 0.3), 2, rng=rng)) for _ in range(200)
    }
    assert len(found) == oracle.report.n_best == 6


@pytest.mark.parametrize("penalty", [-1e9, -1e15])
def test_penalties_do_not_make_other_sets_equal(penalty):
    """Sets with both of the arms 0 and 1 must not be. They must not decide what rounding is."""
    reward = sa.BlackBox(
        lambda arms, means: penalty if {0, 1} <= set(arms.tolist()) else float(means.sum()),
        n_arms=5,
        lipschitz=1.0,
        upper=5.0,
    )
    random, rng = sa.oracles.RandomSets(), np.random.default_rng(0)
    groups = sa.LocalSearch(random, groups=[(2, 3), (3, 4)])
    for oracle in (sa.Exhaustive(), sa.LocalSearch(random, restarts=5), groups):
        for _ in range(20):
            theta = 0.5 + 0.001 * rng.random(5)
            arms = oracle.select(reward, theta, 3, rng=rng)
            best = max(reward(s, theta[list(s)]) for s in itertools.combinations(range(5), 3))
            assert reward(arms, theta[arms]) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("answer", [math.inf, -math.inf, math.nan])
def test_exhaustive_refuses_answers_that_are_not_finite(answer):
    reward = sa.BlackBox(lambda arms, means: answer, n_arms=3, lipschitz=1.0, upper=3.0)
    with pytest.raises(ValueError, match=r"must be a finite number, got .* for the arms \[0\]"):
        sa.Exhaustive().select(reward, [0.1, 0.2, 0.3], 1, rng=np.random.default_rng(0))


def test_exhaustive_looks_at_blocks_alike(monkeypatch):
    theta, reward = np.random.default_rng(0).random(7), parts.REWARDS["coverage"]()
    whole = sa.Exhaustive().select(reward, theta, 3, rng=np.random.default_rng(0))
    monkeypatch.setattr("superarm.core.k_of_m._SETS_PER_BLOCK", 4)
    np.testing.assert_array_equal(
        sa.Exhaustive().select(reward, theta, 3, rng=np.random.default_rng(0)), whole
    )


def test_exhaustive_refuses_absurd_sizes_unevaluated():
    policy = sa.cts(sa.LinearReward(5000), 5, oracle=sa.Exhaustive())
    with pytest.raises(
        ValueError,
        match="25,989,619,781,251,000 sets are more than its limit of 1,000,000; use Greedy",
    ) as e:
        policy.ask(rng=np.random.default_rng(0))
    assert "every set of 5 of 5000 arms" in str(e.value)
    assert policy.evaluations == 0
