"""The Bayes floor: below the regret of the best policy, which small problems have in full."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import superarm as sa
from superarm import theory
from superarm.environments import BernoulliArms
from superarm.theory.bayes_floor import best_set_value, mean_of

FLAT = [(1.0, 1.0, 1.0)]
COINS = [(0.3, 0.9), (0.7, 0.2)]
MIXED = [(0.5, 2.0, 3.0), (0.5, 0.25)]


def posterior_mean(law, successes, failures):
    """By sums over a fine grid of means."""
    x = (np.arange(4000) + 0.5) / 4000
    top = bottom = 0.0
    for weight, *shape in law:
        if len(shape) == 1:
            points, density = np.array(shape), np.ones(1)
        else:
            points, density = x, x ** (shape[0] - 1) * (1 - x) ** (shape[1] - 1)
            density = density / density.sum()
        likely = weight * density * points**successes * (1 - points) ** failures
        top, bottom = top + (likely * points).sum(), bottom + likely.sum()
    return top / bottom


def best_reward(law, n_arms, k, horizon):
    """The most that any policy can expect: all sets, all outcomes, backwards."""

    @cache
    def mean(s, f):
        return posterior_mean(law, s, f)

    @cache
    def value(seen, left):
        if not left:
            return 0.0
        return max(after(seen, arms, left) for arms in combinations(range(n_arms), k))

    def after(seen, arms, left):
        total = 0.0
        for outcomes in product((0, 1), repeat=k):
            chance, new = 1.0, list(seen)
            for arm, one in zip(arms, outcomes, strict=True):
                s, f = seen[arm]
                chance *= mean(s, f) if one else 1 - mean(s, f)
                new[arm] = (s + one, f + 1 - one)
            # Arms with equal counts are the same to a policy that knows the law.
            total += chance * (sum(outcomes) + value(tuple(sorted(new)), left - 1))
        return total

    return value(tuple([(0, 0)] * n_arms), horizon)


@pytest.mark.parametrize("law", [FLAT, COINS, MIXED], ids=["flat", "coins", "mixed"])
@pytest.mark.parametrize(("n_arms", "k", "horizon"), [(2, 1, 5), (3, 1, 6), (4, 2, 4), (3, 3, 3)])
def test_no_policy_is_below_the_floor(law, n_arms, k, horizon):
    least = horizon * best_set_value(law, n_arms, k) - best_reward(law, n_arms, k, horizon)
    assert theory.bayes_regret_floor(law, n_arms, k, horizon) <= least + 1e-6


def test_one_arm_that_may_be_left_out_is_solved_exactly():
    """With as many arms as places and one round, nothing can be lost; the floor says so."""
    assert theory.bayes_regret_floor(FLAT, 3, 3, 1) == pytest.approx(0, abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_means_of_exactly_0_and_1_are_no_nan():
    sure = theory.bayes_regret_floor([(0.5, 0.0), (0.5, 1.0)], 10, 2, 50)
    close = theory.bayes_regret_floor([(0.5, 1e-12), (0.5, 1 - 1e-12)], 10, 2, 50)
    assert sure == pytest.approx(close)
    assert sure > 1
    assert theory.bayes_regret_floor([(1.0, 1.0)], 10, 2, 50) == 0


def test_the_floor_is_close_where_arms_are_many():
    """40 arms, one round: the best policy can't know anything, and loses all of the difference."""
    lost = best_set_value(FLAT, 40, 4) - 4 * mean_of(FLAT)
    assert theory.bayes_regret_floor(FLAT, 40, 4, 1) == pytest.approx(lost, rel=1e-3)


@pytest.mark.parametrize("law", [FLAT, COINS, MIXED], ids=["flat", "coins", "mixed"])
def test_the_best_set_is_worth_what_draws_say(law):
    """20,000 draws; 4.5 standard errors fail once in 150,000 seeds."""
    rng = np.random.default_rng(0)
    means = drawn(law, (20_000, 12), rng)
    found = np.sort(means, axis=1)[:, -3:].sum(axis=1)
    error = found.std() / 20_000**0.5
    assert abs(found.mean() - best_set_value(law, 12, 3)) < 4.5 * error
    assert abs(means.mean() - mean_of(law)) < 4.5 * means.std() / means.size**0.5


def drawn(law, shape, rng):
    which = rng.choice(len(law), size=shape, p=[part[0] for part in law])
    columns = [rng.beta(*p[1:], shape) if len(p) == 3 else np.full(shape, p[1]) for p in law]
    return np.choose(which, columns)


@pytest.mark.parametrize("name", ["thompson", "cts"])
def test_policies_stay_above_the_floor(name):
    """On 30 arms at 10%, 100 rounds, 12 runs."""
    law, n_arms, k, horizon = [(1.0, 2.0, 18.0)], 30, 3, 100
    floor = theory.bayes_regret_floor(law, n_arms, k, horizon)
    lost = []
    for run in range(12):
        rng = np.random.default_rng(run)
        mu = drawn(law, n_arms, rng)
        policy = getattr(sa.policies, name)(sa.LinearReward(n_arms), k, oracle=sa.TopK())
        trace = sa.simulate(policy, BernoulliArms(mu), horizon=horizon, rng=rng)
        lost.append(horizon * np.sort(mu)[-k:].sum() - trace.values.sum())
    # A policy at the floor would be more than 4.5 standard errors below it once in 300,000 seeds.
    assert np.mean(lost) > floor - 4.5 * np.std(lost, ddof=1) / 12**0.5
    assert floor > 0


@pytest.mark.parametrize(
    "law", [[(0.5, 1.0, 1.0)], [(1.0, 0.0, 1.0)], [(1.0, 1.5)], [(1.0,)], [(0.0, 0.5), (1.0, 0.5)]]
)
def test_refuses_what_is_no_law(law):
    with pytest.raises(ValueError, match="law must"):
        theory.bayes_regret_floor(law, 10, 2, 10)
