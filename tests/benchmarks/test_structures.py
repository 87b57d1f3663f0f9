"""The benchmark of structures: its problems are what they say, and it runs."""

import numpy as np
import pytest

import structures


@pytest.mark.parametrize("name", structures.PROBLEMS)
def test_problems_have_a_mean_per_arm_and_a_best_set(name):
    _, draw = structures.PROBLEMS[name]
    sets, mu = draw(np.random.default_rng(0))
    assert ((mu >= 0) & (mu <= 1)).all()
    if not isinstance(sets, int):
        assert sets.n_arms == len(mu)
        assert sets.is_feasible(sets.best(mu, rng=np.random.default_rng(0)))


@pytest.mark.parametrize("make", [structures.two_ways, structures.ring])
def test_the_two_sets_are_disjoint_and_one_is_better(make):
    sets, mu = make(5, 0.2, 0.6)
    assert sets.n_most == 5
    rng = np.random.default_rng(0)
    assert sets.best(mu, rng=rng).tolist() == [5, 6, 7, 8, 9]
    assert sets.best(1 - mu, rng=rng).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore:cts draws")
def test_every_policy_plays(monkeypatch):
    name = "two matchings of 30 pairs, 0.7 and 0.9"
    _, draw = structures.PROBLEMS[name]
    monkeypatch.setitem(structures.PROBLEMS, name, (3, draw))
    found = dict(structures.regrets(name, list(structures.contestants(1)), 2))
    assert all(regret.shape == (2,) and (regret >= 0).all() for regret in found.values())


def test_lost_rounds_are_counted():
    """Ways of equal means: half of 20 rounds, within 5 standard errors of at most 0.71."""
    lost = structures.lost_rounds(1, 0.5, 0.5, 200, 20)
    assert abs(lost.mean() - 10) < 3.6
    assert (structures.lost_rounds(2, 0.0, 1.0, 50, 100) < 50).all()
