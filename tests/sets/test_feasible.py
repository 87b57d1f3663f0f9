"""Feasible against a check of every set, and what it refuses."""

import numpy as np
import pytest
from drawn_constraints import draw_constraints
from every_set import check_verbs
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa
from superarm.sets import _programs
from superarm.sets.feasible import Feasible, Group

SEEDS = st.integers(0, 2**32)


def solved(feasible, values):
    """The best set by integer programming."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_programs, "_FEW_ARMS", -1)
        return feasible.best(values, rng=np.random.default_rng(0))


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(2, 7))
def test_verbs_equal_a_look_at_every_set(seed, n_arms):
    rng = np.random.default_rng(seed)
    k, given_ = draw_constraints(rng, n_arms)
    every = naive.feasible_sets(n_arms, k, **given_)
    if not every:
        with pytest.raises(ValueError, match="clash"):
            Feasible(k, n_arms=n_arms, **given_)
        return
    feasible = Feasible(k, n_arms=n_arms, **given_)
    values, best = check_verbs(feasible, every, rng, given_.get("must", ()))
    assert [feasible.is_feasible(np.array(arms, int)) for arms in naive.subsets(n_arms)] == [
        arms in every for arms in naive.subsets(n_arms)
    ]
    if "weights" in given_:  # few arms are looked up, which decides as the solver does
        np.testing.assert_array_equal(solved(feasible, values), best)


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"must": [1, 2], "must_not": [2]}, r"must and must_not clash: arms \[2\]"),
        ({"must": [1, 2], "available": [0, 1, 3, 4]}, r"must and available clash: arms \[2\]"),
        ({"must": [0, 1, 2, 3]}, "must and k clash: 4 arms"),
        (
            {"must": [0, 1], "groups": [Group([0, 1, 2], most=1, name="sport")]},
            r"must and the group 'sport' clash",
        ),
        (
            {"available": [0, 3, 4, 5], "groups": [Group([0, 1], 2)]},
            "available, must_not and group 0 clash",
        ),
        (
            {"groups": [Group([0, 1], 2), Group([2, 3], 2)]},
            "groups' least and k clash: together they need 4",
        ),
        ({"must": [5], "groups": [Group([0, 1], 2), Group([2, 3], 1)]}, "together they need 4"),
        ({"available": [0, 1]}, "k clashes with available.*only 2.*at_most=True"),
        ({"groups": [Group([0, 1, 2], most=1), Group([3, 4, 5], most=1)]}, "groups' most.*only 2"),
        (
            {"weights": [2.0] * 6, "budget": 5.0},
            "budget and the other constraints clash.*weighs 6, got a budget of 5",
        ),
        (
            {"weights": [2, 1, 1, 1, 1, 9], "budget": 8, "must": [5], "at_most": True},
            "budget.*weighs 9",
        ),
    ],
)
def test_what_clashes_is_said_before_an_evaluation(given_, says):
    reward = sa.Counted(sa.LinearReward(6))
    with pytest.raises(ValueError, match=says):
        Feasible(3, n_arms=6, **given_)
    if (
        "weights" not in given_
    ):  # which say how many arms there are, so that the error comes at once
        for oracle in (
            sa.Singletons(),
            sa.LazySingletons(),
            sa.Greedy(),
            sa.Exhaustive(),
            sa.TopK(),
        ):
            with pytest.raises(ValueError, match=says):
                oracle.select(
                    reward, np.full(6, 0.5), Feasible(3, **given_), rng=np.random.default_rng(0)
                )
        with pytest.raises(ValueError, match=says):
            sa.cts(reward, Feasible(3, **given_))
    assert reward.evaluations == 0


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 7}, "between 1 and 6"),
        ({"k": 2.5}, "whole number"),
        ({"available": [True, False]}, "available must be a bool for each of 6"),
        ({"must": [6]}, "must: arms must be between"),
        ({"must_not": [1, 1]}, "must_not: arms must be distinct"),
        ({"groups": [[0, 1]]}, "groups must be of Group"),
        ({"groups": [Group([0, 1], 2, 1)]}, "least <= most"),
        ({"groups": [Group([0, 9])]}, "group 0: arms must be between"),
        ({"weights": [1.0] * 6}, "together"),
        ({"weights": [1.0] * 5, "budget": 3.0}, "weights must have shape"),
        ({"weights": [-1.0] * 6, "budget": 3.0}, "at least 0"),
        ({"weights": [1.0] * 6, "budget": -3.0}, "at least 0"),
    ],
)
def test_bad_constraints_are_refused(given_, says):
    with pytest.raises((ValueError, TypeError), match=says):
        Feasible(**{"k": 2, "n_arms": 6, **given_})


def test_the_number_of_arms_must_be_known_and_fit():
    with pytest.raises(ValueError, match="must be known"):
        Feasible(2, must=[1]).is_feasible([0, 1])
    with pytest.raises(ValueError, match="problem's 5 arms, got some of 6"):
        Feasible(2, n_arms=6).for_arms(5)
    with pytest.raises(ValueError, match="numbers"):
        Feasible(2, n_arms=3).best([0.5, np.nan, 0.2], rng=np.random.default_rng(0))


def test_but_changes_one_thing():
    feasible = Feasible(2, must=[1], groups=[Group([0, 1], most=1)], n_arms=4)
    here = feasible.but(available=[True, True, False, True])
    assert [arms.tolist() for arms in here.sets()] == [[1, 3]]
    assert len(list(feasible.sets())) == 2


@pytest.mark.parametrize("make", [sa.Singletons, sa.TopK, sa.LazySingletons])
def test_no_constraints_are_a_plain_k(make):
    rng, reward = np.random.default_rng(0), sa.LinearReward(50)
    plain, within = make(), make()
    for k in (1, 5, 50):
        theta = rng.random(50)
        one = plain.select(reward, theta, k, rng=rng)
        np.testing.assert_array_equal(one, within.select(reward, theta, Feasible(k), rng=rng))


def test_a_policy_takes_constraints_for_good_and_for_a_round():
    rng = np.random.default_rng(0)
    policy = sa.cts(sa.LinearReward(8), Feasible(3, must_not=[0]))
    for _ in range(20):
        assert 0 not in policy.ask(rng=rng)
        arms = policy.ask(rng=rng, feasible=Feasible(2, must=[0]))
        assert 0 in arms
        assert len(arms) == 2
        assert len(policy.ask(rng=rng, feasible=4)) == 4
        policy.tell(arms, [1.0, 0.0], rng=rng)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match="clash"):
        policy.ask(rng=rng, feasible=Feasible(3, available=[0]))
    assert rng.bit_generator.state == before


class Careless:
    """An oracle that ignores constraints."""

    report = None

    def select(self, reward, theta, k, *, rng):
        return np.arange(2)


class KnowsOnlyK(Careless):
    def select(self, reward, theta, k, *, rng):
        theta, feasible = sa.core.as_selection(reward, theta, k)
        return sa.core.top_k(theta, sa.core.as_k_of_m(feasible, reward.n_arms).k, rng=rng)


def test_an_oracle_that_knows_no_constraints_fails():
    rng, reward = np.random.default_rng(0), sa.LinearReward(5)
    says = r"whole number for an oracle that knows no constraints and no retired arms, got Feas"
    with pytest.raises(TypeError, match=says + r"ible\(2, must"):
        sa.Policy(sa.BetaBelief(5), KnowsOnlyK(), reward, Feasible(2, must=[4])).ask(rng=rng)
    with pytest.raises(ValueError, match="Careless must pick a set that is feasible"):
        sa.Policy(sa.BetaBelief(5), Careless(), reward, Feasible(2, must=[4])).ask(rng=rng)


def test_random_sets_are_uniform_over_what_is_available():
    """Chi-square of the 10 pairs of 5 arms, 2,000 draws: above 29.7 with probability 0.0005."""
    rng, counts = np.random.default_rng(0), {}
    feasible = Feasible(2, available=[0, 2, 3, 5, 6], n_arms=7)
    for _ in range(2000):
        arms = tuple(
            sa.oracles.RandomSets()
            .select(sa.LinearReward(7), np.zeros(7), feasible, rng=rng)
            .tolist()
        )
        counts[arms] = counts.get(arms, 0) + 1
    assert len(counts) == 10
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 29.7


def test_budgets_of_weights_are_kept_among_many_arms():
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights, values = rng.random(60), rng.random(60)
        feasible = Feasible(
            12,
            at_most=True,
            weights=weights,
            budget=2.0,
            groups=[Group(range(30), least=2, most=5)],
        )
        arms = feasible.best(values, rng=rng)
        assert feasible.is_feasible(arms)


def test_few_arms_are_looked_up_as_the_solver_decides():
    """Up to ten arms, with quotas and required arms, where the budget always decides."""
    rng = np.random.default_rng(0)
    for n_arms in rng.integers(3, 11, 60):
        weights, values = 1 - rng.random(n_arms), 1 - rng.random(n_arms)
        groups = [Group(range(n_arms // 2), least=int(rng.integers(2)), most=2)]
        must = [0] if rng.random() < 0.3 else []
        feasible = Feasible(
            n_arms, at_most=True, must=must, groups=groups, weights=weights, budget=1.0
        )
        arms = feasible.best(values, rng=rng)
        assert feasible.is_feasible(arms)
        np.testing.assert_array_equal(arms, solved(feasible, values))


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1.0, 1.0, 0.5], [1, 1, 1]), ([1.0, 0.9, 0.8], [0.5, 0.5 + 1e-7, 0.3])],
    ids=["equal sums", "close to the budget"],
)
def test_close_sets_are_left_to_the_solver(values, weights):
    """With their tolerances, and their random order of equal arms."""
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        solve = _programs.IntegerProgram._solved
        patch.setattr(
            _programs.IntegerProgram, "_solved", lambda *given: asked.append(1) or solve(*given)
        )
        feasible = Feasible(3, at_most=True, weights=weights, budget=1.0)
        feasible.best(np.array(values), rng=np.random.default_rng(0))
    assert asked


def test_simulations_have_sets_of_different_sizes():
    rng, mu = np.random.default_rng(0), np.linspace(0.1, 0.9, 9)
    feasible = Feasible(4, at_most=True, weights=np.linspace(1, 3, 9), budget=6.0)
    reward, environment = sa.LinearReward(9), sa.BernoulliArms(mu)
    trace = sa.simulate(sa.cts(reward, feasible), environment, horizon=60, rng=rng)
    assert trace.arms.shape == trace.outcomes.shape == (60, 4)
    np.testing.assert_array_equal(trace.arms < 0, np.isnan(trace.outcomes))
    sets = [row[row >= 0] for row in trace.arms]
    assert {len(arms) for arms in sets} > {3}
    assert all(feasible.is_feasible(arms) for arms in sets)
    np.testing.assert_allclose(trace.values, [mu[arms].sum() for arms in sets])


def test_a_policy_learns_within_quotas():
    """Regret of the second half is below a third of the random baseline (0.04 with other seeds)."""
    rng = np.random.default_rng(0)
    mu = np.tile([0.2, 0.3, 0.8, 0.5], 5)
    feasible = Feasible(
        4,
        groups=[Group(range(4 * g, 4 * g + 4), most=1) for g in range(5)],
        must_not=[2],
        n_arms=20,
    )
    best = mu[feasible.best(mu, rng=rng)].sum()
    regret = {}
    for name, oracle in {"chance": sa.oracles.RandomSets(), "lazy": sa.LazySingletons()}.items():
        policy = sa.cts(sa.LinearReward(20), feasible, oracle=oracle)
        trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=400, rng=rng)
        regret[name] = float(np.diff(trace.regret(best)[[199, 399]])[0])
        assert (best - trace.values > -1e-9).all()
    assert regret["lazy"] < regret["chance"] / 3


@pytest.mark.parametrize("name", ["available", "must", "must_not"])
def test_masked_arms_are_refused(name):
    """numpy would use the arms below the mask."""
    hidden = np.ma.array([0, 1], mask=[False, True])
    with pytest.raises(ValueError, match=f"^{name}: arms must have no masked values, got 1"):
        Feasible(2, n_arms=3, **{name: hidden})
    if name == "available":
        masked = np.ma.array([True, True, True], mask=[False, True, False])
        with pytest.raises(ValueError, match="must have no masked values, got 1"):
            Feasible(2, available=masked)
        assert Feasible(2, available=np.ma.array([True, False, True])).undecided.sum() == 2
