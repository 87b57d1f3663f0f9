"""The floor of identification: against a grid, a closed form, and changes of the shares."""

import itertools

import numpy as np
import pytest
from scipy.special import rel_entr

from superarm.theory import identification_floor, optimal_shares


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def slow_value(mu, k, w):
    """The least of all pairs, by the definition."""
    order = np.argsort(-np.asarray(mu), kind="stable")
    values = []
    for i, j in itertools.product(order[:k], order[k:]):
        pooled = (w[i] * mu[i] + w[j] * mu[j]) / (w[i] + w[j])
        values.append(w[i] * kl(mu[i], pooled) + w[j] * kl(mu[j], pooled))
    return min(values)


@pytest.mark.parametrize(("k", "in_sets"), [(1, True), (2, True), (2, False)])
def test_no_shares_of_a_grid_are_better(k, in_sets):
    mu, steps = [0.7, 0.45, 0.3], np.arange(1, 60) / 60
    most = 1 / k if in_sets else 1.0
    best = max(
        slow_value(mu, k, (a, b, 1 - a - b))
        for a, b in itertools.product(steps, steps)
        if a + b < 0.999 and max(a, b, 1 - a - b) <= most
    )
    shares, value = optimal_shares(mu, k, in_sets=in_sets)
    assert value == pytest.approx(slow_value(mu, k, shares))
    assert best <= value * (1 + 1e-6) < best * 1.02  # steps of 1/60
    assert shares.sum() == pytest.approx(1)
    assert shares.max() <= most + 1e-9


@pytest.mark.parametrize("in_sets", [True, False])
def test_no_small_change_of_the_shares_is_better(in_sets):
    """The value is concave in the shares, so that what is best nearby is best."""
    rng = np.random.default_rng(0)
    mu, k = np.linspace(0.9, 0.1, 10), 3
    shares, value = optimal_shares(mu, k, in_sets=in_sets)
    for size in (1e-2, 1e-3, 1e-4):
        for _ in range(100):
            other = np.maximum(shares + size * rng.standard_normal(10) * shares, 1e-9)
            other /= other.sum()
            if other.max() <= (1 / k if in_sets else 1):
                assert slow_value(mu, k, other) <= value * (1 + 1e-5)


def test_two_arms_are_pulled_where_both_divergences_agree():
    """Chernoff's information: kl(a, p) = kl(b, p) at the pooled mean of the best shares."""
    shares, value = optimal_shares([0.8, 0.3], 1)
    pooled = shares @ [0.8, 0.3]
    assert kl(0.8, pooled) == pytest.approx(kl(0.3, pooled), rel=1e-4)
    assert value == pytest.approx(kl(0.8, pooled), rel=1e-4)
    needed = kl(0.05, 0.95)
    assert identification_floor([0.8, 0.3], 1, 0.05) == pytest.approx(needed / value)


def test_ties_cannot_be_told_apart():
    assert identification_floor([0.5, 0.5, 0.2], 1) == np.inf
    assert identification_floor([0.5, 0.5, 0.2], 2) < np.inf
    # Sets cannot be pulled better than single arms.
    mu = np.linspace(0.9, 0.1, 6)
    assert identification_floor(mu, 3) >= identification_floor(mu, 3, in_sets=False) - 1e-6


def test_where_nothing_is_to_be_found_out_the_floor_is_0():
    assert optimal_shares([0.6, 0.5], 2)[1] == np.inf
    assert identification_floor([0.6, 0.5], 2) == 0
    # A rule that may be wrong with probability 1/2 and more has no floor by this inequality.
    assert [identification_floor([0.6, 0.5], 1, delta) for delta in (0.5, 0.95)] == [0, 0]
