"""Noisy rewards: arms that are required, unavailable or retired; answers that are no numbers."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import NoisyGreedy, NoisyLocalSearch, NoisySingletons
from superarm.sets import Feasible, Group

M, STD = 8, 0.1
THETA = np.linspace(0.1, 0.9, M)


def noisy_sum(seed=0, *, fails_at=None, value=np.nan, evaluated=None):
    """A sum with noise. The call number ``fails_at`` answers with ``value``."""
    rng, calls = np.random.default_rng(seed), iter(range(1, 10**9))

    def fn(arms, means):
        if evaluated is not None:
            evaluated.update(arms.tolist())
        answer = float(means.sum() + rng.normal(0, STD))
        return value if next(calls) == fails_at else answer

    return sa.BlackBox(fn, n_arms=M, lipschitz=1.0, upper=float(M), noisy=True)


@pytest.mark.parametrize("settings", [{}, {"noise_std": STD}, {"answers_in": (-1, M + 1)}])
@pytest.mark.parametrize(
    ("constraints", "best"),
    [
        ({"must": [0]}, [0, 6, 7]),
        ({"must_not": [7]}, [4, 5, 6]),
        ({"available": [0, 1, 2, 3, 4]}, [2, 3, 4]),
        ({"available": [0, 1, 2, 3, 4], "must": [1]}, [1, 3, 4]),
        ({"must": [0, 1, 2]}, [0, 1, 2]),
        ({"available": [0, 3, 5]}, [0, 3, 5]),
    ],
)
def test_noisy_singletons_choose_among_the_arms_that_constraints_leave_open(
    constraints, best, settings
):
    """delta is 0.001 per run, so that a wrong set shows a mistake."""
    evaluated, feasible = set(), Feasible(3, **constraints, n_arms=M)
    oracle = NoisySingletons(0.001, tolerance=0.09, budget=200_000, **settings)
    reward, rng = noisy_sum(evaluated=evaluated), np.random.default_rng(1)
    for _ in range(2):
        arms = oracle.select(reward, THETA, feasible, rng=rng)
        assert arms.tolist() == best
        assert oracle.report.certified
    assert evaluated <= set(np.flatnonzero(feasible.undecided).tolist())


@pytest.mark.parametrize("budget", [1, 5, 30, 300])
@pytest.mark.parametrize("settings", [{}, {"noise_std": STD}, {"answers_in": (-1, M + 1)}])
def test_sets_of_small_budgets_are_feasible(budget, settings):
    feasible = Feasible(3, must=[0], must_not=[7, 6], n_arms=M)
    oracle, rng = NoisySingletons(budget=budget, **settings), np.random.default_rng(1)
    for _ in range(3):
        assert feasible.is_feasible(oracle.select(noisy_sum(), THETA, feasible, rng=rng))
        assert oracle.report.evaluations <= budget


@pytest.mark.parametrize(
    "feasible", [Feasible(3, at_most=True), Feasible(3, groups=[Group([5, 6, 7], most=1)])]
)
def test_other_constraints_are_refused_with_what_to_use(feasible):
    with pytest.raises(TypeError, match="use NoisyGreedy or NoisyLocalSearch"):
        NoisySingletons().select(noisy_sum(), THETA, feasible, rng=np.random.default_rng(0))


def test_sessions_retire_arms_of_a_noisy_reward():
    policy = sa.thompson(noisy_sum(), k=2, oracle=NoisySingletons(tolerance=0.2, budget=2_000))
    session = sa.Session(policy, list("abcdefgh"), seed=1)
    session.ask()
    session.retire("a", "b", "c", "d", "e")
    assert all(set(session.ask().arms) <= set("fgh") for _ in range(5))
    session.restore("a")
    assert len(session.ask().arms) == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("oracle", [NoisySingletons, NoisyGreedy, NoisyLocalSearch])
def test_an_answer_that_is_no_number_is_named_and_not_remembered(oracle, value):
    """Also without a policy, which has its own check. A sum with a NaN would stay one for good."""
    made, rng = oracle(noise_std=STD, tolerance=0.15), np.random.default_rng(0)
    reward = noisy_sum(fails_at=10, value=value)
    with pytest.raises(ValueError, match=r"finite number, got (nan|-?inf) for the arms.*retries="):
        made.select(reward, THETA, 3, rng=rng)
    assert "NaN" not in json.dumps(made.state())
    assert made.select(reward, THETA, 3, rng=rng).tolist() == [5, 6, 7]
    assert made.report.certified
