"""Oracles decide alike in any unit of value: a reward and its declarations times a power of two.

Multiplying by a power of two is exact, so that every number of an oracle is the same but for its
exponent. Whatever differs comes from a number in the code that has a unit.
"""

import warnings
from functools import cache

import numpy as np
import pytest

import parts
import superarm as sa
from superarm import oracles
from superarm.catalog import ORACLES
from superarm.theory import gap_range, separation
from unchanged import CHOICES, N_ARMS

EXPONENTS = (-100, -43, -20, 100)
# The quantizer's steps are delta / (2 B), so that delta has the unit of a squared value. Lemma 2
# needs a B of at least 1/2, and a smaller one counts as 1/2: these oracles start from a large B.
QUANTIZED, LARGE = ("group_testing", "regression", "centred"), 2.0**100
CATALOG = {
    "clucb": lambda unit: oracles.CLUCB(parts.all_seen(N_ARMS)),
    "dependent_rounding": lambda unit: oracles.DependentRounding(),
    "epsilon_random": lambda unit: oracles.EpsilonRandom(sa.LazySingletons(), 0.2),
    "escb": lambda unit: oracles.ESCBIndex(parts.all_seen(N_ARMS)),
    "exhaustive": lambda unit: sa.Exhaustive(),
    "explore_then_commit": lambda unit: oracles.ExploreThenCommit(sa.Singletons(), n_explore=1),
    "greedy": lambda unit: sa.Greedy(),
    "group_testing": lambda unit: sa.GroupTesting(delta=0.25 * unit**2, n_tests=20),
    "lazy_greedy": lambda unit: sa.LazyGreedy(),
    "lazy_singletons": lambda unit: sa.LazySingletons(),
    "local_search": lambda unit: sa.LocalSearch(),
    "lucb": lambda unit: oracles.LUCB(parts.all_seen(N_ARMS)),
    "noisy_greedy": lambda unit: oracles.NoisyGreedy(
        noise_std=1e-9 * unit, tolerance=1e-8 * unit, budget=1000
    ),
    "noisy_local_search": lambda unit: oracles.NoisyLocalSearch(
        noise_std=1e-9 * unit, tolerance=1e-8 * unit, budget=1000
    ),
    "noisy_singletons": lambda unit: oracles.NoisySingletons(
        noise_std=1e-9 * unit, tolerance=1e-8 * unit, budget=1000
    ),
    "random_sets": lambda unit: oracles.RandomSets(),
    "rarely": lambda unit: oracles.Scheduled(sa.Greedy(), when=2),
    "singletons": lambda unit: sa.Singletons(),
    "successive_accepts": lambda unit: oracles.SuccessiveAccepts(parts.all_seen(N_ARMS), 100),
    "top_k": lambda unit: sa.TopK(),
    "top_two": lambda unit: oracles.TopTwo(parts.all_seen(N_ARMS)),
}
VARIANTS = {
    "regression": lambda unit: sa.GroupTesting(
        delta=0.25 * unit**2, n_tests=20, decoder="regression"
    ),
    "regression, plain": lambda unit: sa.GroupTesting(
        delta=0.25 * unit**2, n_tests=20, decoder="regression", quantize=False
    ),
    "centred": lambda unit: sa.GroupTesting(
        delta=0.25 * unit**2, n_tests=20, decoder="centred", tests="non_repeated"
    ),
    "exhaustive, budget": lambda unit: sa.Exhaustive(budget=5),
    "greedy, budget": lambda unit: sa.Greedy(budget=7),
    "lazy greedy, budget": lambda unit: sa.LazyGreedy(budget=7),
    "lazy singletons, budget": lambda unit: sa.LazySingletons(budget=3),
    "local search, budget": lambda unit: sa.LocalSearch(sa.Greedy(budget=5), budget=20),
    "singletons, budget": lambda unit: sa.Singletons(budget=4),
}
# Oracles that refuse other rewards.
ADDITIVE = ("top_k", "escb", "clucb", "lucb", "top_two", "successive_accepts")
OF_UNIT = {**CATALOG, **VARIANTS}


class Times:
    """A reward and all that it declares, times a number."""

    def __init__(self, reward, unit):
        self.reward, self.unit, self.n_arms = reward, unit, reward.n_arms
        self.lipschitz, self.upper = unit * reward.lipschitz, unit * reward.upper
        for name in ("monotone", "zero_is_absent", "additive", "concave", "diminishing"):
            setattr(self, name, getattr(reward, name, False))

    def __call__(self, arms, means):
        return self.unit * self.reward(arms, means)

    def batch(self, pools, theta):
        return self.unit * self.reward.batch(pools, theta)


def uneven(arms, means):
    """Each arm has a slope of its own between 0.5 and 3; nothing is absent at mean 0."""
    return float((0.2 + (0.5 + 2.5 * (arms * 7 % 11) / 11) * means).sum())


def box(fn, n_arms, lipschitz, **declared):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=4.0 * n_arms, **declared)


def signed(arms, means):
    """Values that cancel: arms of odd number lower the value."""
    return float(n_half(arms) + ((-1.0) ** arms * means).sum())


def n_half(arms):
    return (arms % 2).sum()


REWARDS = {
    "linear": lambda n: sa.LinearReward(n),
    "weighted": lambda n: sa.LinearReward(n, weights=np.linspace(0.5, 1.7, n)),
    "network": lambda n: sa.NetworkReward.random(n, rng=np.random.default_rng(5)),
    "coverage": lambda n: sa.CoverageReward(np.random.default_rng(5).random((n, 4))),
    "uneven": lambda n: box(uneven, n, 3.0, monotone=True),
    "understated": lambda n: box(uneven, n, 1.2, monotone=True),
    "signed": lambda n: box(signed, n, 1.0),
}


@cache
def thetas(n_arms, n_rounds):
    """Means that settle."""
    center, found = np.random.default_rng(3).random(n_arms), []
    for number in range(n_rounds):
        theta = np.random.default_rng([4, number]).random(n_arms)
        found.append((center + theta / (1 + number)) / (1 + 1 / (1 + number)))
    return found


def rounds_of(oracle, reward, choice, n_rounds):
    """What can be seen of some rounds: arms, evaluations, certificates, draws; or the refusal."""
    counted, rng, seen = sa.Counted(reward), np.random.default_rng(2), []
    for theta in thetas(reward.n_arms, n_rounds):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                arms = oracle.select(counted, theta, choice, rng=rng)
        except (ValueError, TypeError) as error:
            return [*seen, type(error).__name__]
        report = oracle.report
        certified = None if report is None else report.certified
        drawn = rng.bit_generator.state["state"]["state"]
        seen.append((arms.tolist(), counted.evaluations, certified, drawn, len(caught)))
    return seen


def check(name, reward, choice, n_rounds, exponents=EXPONENTS):
    make, first = OF_UNIT[name], LARGE if name in QUANTIZED else 1.0
    expected = rounds_of(make(first), Times(reward, first), choice(), n_rounds)
    for exponent in exponents:
        unit = first * 2.0**exponent
        found = rounds_of(make(unit), Times(reward, unit), choice(), n_rounds)
        assert found == expected, f"times 2^{exponent}"


def test_every_oracle_of_the_catalog_is_here():
    assert set(CATALOG) == set(ORACLES)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", OF_UNIT)
def test_every_oracle_with_every_kind_of_set(name, choice):
    reward = "linear" if name in ADDITIVE else "weighted"
    check(name, REWARDS[reward](N_ARMS), CHOICES[choice], 4)


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", OF_UNIT)
def test_every_oracle_with_every_reward(name, reward):
    for choice in ("k", "quotas"):
        check(name, REWARDS[reward](N_ARMS), CHOICES[choice], 5, exponents=(-100, -43, 100))


def pairs():
    """One arm of each pair, 4 in all of 40 arms: what the lazy oracles are for."""
    groups = [sa.Group([2 * pair, 2 * pair + 1], most=1) for pair in range(20)]
    return sa.Feasible(4, groups=groups, n_arms=40)


@pytest.mark.parametrize("choice", [lambda: 4, pairs], ids=["k", "groups"])
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", ["lazy_singletons", "lazy_greedy"])
def test_lazy_oracles_over_many_rounds(name, reward, choice):
    check(name, REWARDS[reward](40), choice, 25, exponents=(-100, -43, 100))


def test_every_power_of_two():
    for name in ("exhaustive", "lazy_singletons", "lazy_greedy", "local_search"):
        check(name, REWARDS["network"](N_ARMS), CHOICES["quotas"], 2, range(-100, 101))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_definitions_over_all_sets(exponent):
    reward, unit, theta = REWARDS["network"](7), 2.0**exponent, np.linspace(0.1, 0.8, 7)
    other = Times(reward, unit)
    assert gap_range(other, theta, 3) == tuple(unit * gap for gap in gap_range(reward, theta, 3))
    assert separation(other, theta, 3) == unit * separation(reward, theta, 3)


# What an audit found at small values, with the declarations of M and B as they are.


def select_often(lazy, reward, rng):
    for _ in range(50):
        lazy.select(reward, rng.random(60), 4, rng=rng)


@pytest.mark.parametrize("size", [1.0, 1e-10, 1e-30])
def test_an_understated_b_is_found_at_any_size(size):
    reward = sa.BlackBox(
        lambda arms, means: size * uneven(arms, means),
        n_arms=60,
        lipschitz=0.8 * size,
        upper=180 * size,
        monotone=True,
    )
    lazy, plain, rng = sa.LazySingletons(), sa.Singletons(), np.random.default_rng(0)
    with pytest.warns(UserWarning, match="lipschitz is too small"):
        select_often(lazy, reward, rng)
    for _ in range(100):
        theta = rng.random(60)
        arms = lazy.select(reward, theta, 4, rng=rng)
        np.testing.assert_array_equal(arms, plain.select(reward, theta, 4, rng=rng))


@pytest.mark.parametrize("size", [1.0, 1e-11, 1e-12, 1e-30])
@pytest.mark.parametrize("make", [sa.Exhaustive, sa.LocalSearch, sa.LazyGreedy, sa.Greedy])
def test_small_values_are_told_apart(make, size):
    """A weighted sum, whose best set greedy steps and swaps find, too."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(50):
        reward = sa.LinearReward(9, weights=size * (0.5 + rng.random(9)))
        theta = rng.random(9)
        best = np.sort(np.argsort(-reward.weights * theta)[:3])
        wrong += not np.array_equal(make().select(reward, theta, 3, rng=rng), best)
    assert wrong == 0


def test_few_arms_are_evaluated_within_groups_at_small_values():
    reward, rng = (
        sa.Counted(sa.LinearReward(40, weights=np.full(40, 1e-13))),
        np.random.default_rng(0),
    )
    lazy, center = sa.LazySingletons(), rng.random(40)
    for _ in range(100):
        lazy.select(
            reward, np.clip(center + 0.01 * rng.standard_normal(40), 0, 1), pairs(), rng=rng
        )
    assert reward.evaluations < 10 * 40  # all arms in each round would be 4,000
