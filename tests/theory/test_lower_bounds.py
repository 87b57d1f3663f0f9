"""The floor under regret: the closed forms against programs that solve the problem itself."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from superarm import theory


def graves_lai(mu, k):
    """The Graves-Lai program over all sets: how often each set must be pulled, per ln T."""
    mu = np.array(mu)
    sets = list(combinations(range(len(mu)), k))
    value = np.array([mu[list(arms)].sum() for arms in sets])
    contains = np.array([[i in arms for arms in sets] for i in range(len(mu))], float)
    least = np.sort(mu)[-k]
    rows, needs = [], []
    for i in np.flatnonzero(mu < least):
        kl = mu[i] * np.log(mu[i] / least) + (1 - mu[i]) * np.log((1 - mu[i]) / (1 - least))
        rows.append(-contains[i])
        needs.append(-1 / kl)
    return linprog(value.max() - value, A_ub=rows, b_ub=needs).fun


@pytest.mark.parametrize("seed", range(8))
def test_the_constant_is_the_optimum_of_the_graves_lai_program(seed):
    rng = np.random.default_rng(seed)
    mu, k = rng.uniform(0.05, 0.95, 6), int(rng.integers(1, 5))
    assert theory.regret_constant(mu, k) == pytest.approx(graves_lai(mu, k), rel=1e-6)


def test_arms_as_good_as_the_best_cost_nothing():
    assert theory.regret_constant([0.7, 0.7, 0.7], 2) == 0
    assert theory.regret_constant([1.0, 0.5], 1) == 0  # one failure rules the other arm out
    assert theory.first_failure_regret([1.0, 1.0, 1.0], 2) == 0


def first_failures(mu, k, rng):
    """One place: try arms in random order until each fails; stop when the k best are found."""
    lost, left = 0.0, k
    for arm in rng.permutation(len(mu)):
        if mu[arm] == 1:
            left -= 1
            if not left:
                return lost
            continue
        lost += (1 - mu[arm]) * rng.geometric(1 - mu[arm])
    raise AssertionError("the best arms never fail")


def test_first_failures_cost_what_the_rule_loses():
    rng = np.random.default_rng(0)
    mu, k = np.array([1.0, 1.0, 0.9, 0.6, 0.3, 0.0]), 2
    lost = np.array([first_failures(mu, k, rng) for _ in range(20_000)])
    # 4.5 standard errors: fails by chance once in 150,000 seeds.
    assert abs(lost.mean() - theory.first_failure_regret(mu, k)) < 4.5 * lost.std() / 20_000**0.5


@pytest.mark.parametrize("function", [theory.regret_constant, theory.first_failure_regret])
def test_refuses(function):
    with pytest.raises(ValueError, match="mu"):
        function([0.5, 1.5], 1)
    with pytest.raises(ValueError, match="k must be between 1 and 2"):
        function([0.5, 0.6], 3)
