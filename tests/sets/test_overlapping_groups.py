"""Quotas of groups that share arms, against a look at every set."""

import numpy as np
import pytest
from drawn_constraints import draw_constraints
from every_set import check_verbs
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa
from superarm.sets import _programs
from superarm.sets._overlapping import Overlapping
from superarm.sets.feasible import Feasible, Group


def draw(rng, n_arms):
    """Any constraints, possible or not, with groups that may share arms."""
    k, given_ = draw_constraints(rng, n_arms)
    given_["groups"] = [
        Group(
            np.flatnonzero(rng.random(n_arms) < 0.5).tolist(),
            int(rng.integers(0, 2)),
            int(rng.integers(1, 4)),
        )
        for _ in range(rng.integers(2, 5))
    ]
    return k, given_


def check(rng, n_arms):
    k, given_ = draw(rng, n_arms)
    every = naive.feasible_sets(n_arms, k, **given_)
    if not every:
        with pytest.raises(ValueError, match="clash"):
            Feasible(k, n_arms=n_arms, **given_)
        return
    feasible = Feasible(k, n_arms=n_arms, **given_)
    check_verbs(feasible, every, rng, given_.get("must", ()))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 7))
def test_verbs_equal_a_look_at_every_set(seed, n_arms):
    check(np.random.default_rng(seed), n_arms)


def test_the_solver_decides_as_a_look_at_every_set(monkeypatch):
    """The same without the look at every set of few arms."""
    monkeypatch.setattr(_programs, "_FEW_ARMS", -1)
    rng = np.random.default_rng(0)
    for _ in range(12):
        check(rng, int(rng.integers(2, 8)))


@pytest.mark.parametrize(
    ("weights", "budget", "light"),
    [
        ([0.1, 0.0, 0.2, 0.0], 0.0, [1, 3]),
        ([1e16, 0.5, 1e20, 0.5], 1.0, [1, 3]),
        ([1e30, 1.0, 2e300, 2.0], 2.0, [1, 3]),
    ],
)
@pytest.mark.parametrize("at_most", [False, True])
def test_a_budget_far_below_some_weights_leaves_the_light_arms(weights, budget, light, at_most):
    groups = [Group([0, 1, 3], least=1), Group([0, 1, 2], most=2)]
    feasible = Feasible(1, at_most=at_most, groups=groups, weights=weights, budget=budget)
    assert np.flatnonzero(feasible.undecided).tolist() == light
    values = np.array([0.9, 0.1, 0.8, 0.2])
    assert feasible.best(values, rng=np.random.default_rng(0)).tolist() == [light[-1]]
    assert feasible.is_feasible([light[0]])


def test_enormous_weights_do_not_hide_a_light_set():
    groups = [Group([0, 1, 3], least=1), Group([0, 1, 2], most=2)]
    feasible = Feasible(2, groups=groups, weights=[1.0, 1e30, 2.0, 1e300], budget=3.0)
    assert [one.tolist() for one in feasible.sets()] == [[0, 2]]


BRANDS = [Group(range(g, 24, 4), most=2, name=f"brand {g}") for g in range(4)]
KINDS = [Group(range(6 * g, 6 * g + 6), least=1, most=3, name=f"kind {g}") for g in range(4)]


def test_a_brand_and_a_category():
    """Two families of groups: against the exact answer by a look at every set."""
    feasible, rng = Feasible(5, groups=[*BRANDS, *KINDS], n_arms=24), np.random.default_rng(0)
    assert isinstance(feasible._quotas, Overlapping)
    every = np.vstack(list(feasible.blocks()))
    for _ in range(3):
        values = rng.random(24)
        best = feasible.best(values, rng=rng)
        assert feasible.is_feasible(best)
        assert values[best].sum() == pytest.approx(values[every].sum(axis=1).max(), rel=1e-9)


def test_disjoint_groups_are_still_exact_and_nested_ones_are_taken():
    disjoint = Feasible(3, groups=BRANDS, n_arms=24)
    assert not isinstance(disjoint._quotas, Overlapping)
    nested = Feasible(
        4, groups=[Group(range(12), most=3), Group(range(4), least=1, most=1)], n_arms=24
    )
    values = np.linspace(1, 0, 24)
    assert nested.best(values, rng=np.random.default_rng(0)).tolist() == [0, 4, 5, 12]


def test_which_groups_clash_is_said():
    """Only two of the three groups: the third has nothing to do with it."""
    groups = [
        Group([0, 1, 2], least=2, name="sport"),
        Group([0, 1, 2, 3], most=1, name="local"),
        Group([3, 4, 5], most=2, name="late"),
    ]
    with pytest.raises(ValueError, match="quotas of the group 'sport', the group 'local' clash"):
        Feasible(3, groups=groups, n_arms=6)
    with pytest.raises(ValueError, match=r"must and the group 'local' clash.*got arms \[0 3\]"):
        Feasible(3, groups=groups[1:], must=[0, 3], n_arms=6)


def test_equal_arms_are_chosen_with_equal_probability():
    """Three arms of equal value, of which two are alike: each is in a third of the sets.

    Ten such triples are decided at once, because an integer program costs the same for all. With
    60 sets of ten, the standard error is 0.0193, and the tolerance is 4.1 of these: the error rate
    is below 2e-4. If the two that are alike shared half of the sets, the third would be 0.17 off.
    """
    first = np.arange(0, 30, 3)
    groups = [Group([arm, arm + 1], most=1) for arm in first]
    groups += [Group([arm + 1, arm + 2, arm], most=1) for arm in first]
    feasible, rng = Feasible(10, groups=groups, n_arms=30), np.random.default_rng(0)
    found = np.array([feasible.best(np.ones(30), rng=rng) for _ in range(60)])
    assert (np.sort(found) // 3 == np.arange(10)).all()  # one of each triple
    np.testing.assert_allclose(np.bincount(found.ravel() % 3) / 600, 1 / 3, atol=0.08)


@pytest.mark.parametrize(
    "oracle", [sa.TopK, sa.Singletons, sa.LazySingletons, sa.Greedy, sa.LazyGreedy, sa.LocalSearch]
)
def test_oracles_choose_within_overlapping_groups(oracle):
    feasible, rng = Feasible(5, groups=[*BRANDS, *KINDS], n_arms=24), np.random.default_rng(1)
    policy = sa.cts(sa.LinearReward(24), feasible, oracle=oracle())
    assert feasible.is_feasible(policy.ask(rng=rng))
