"""The chance that a whole set looks good: the integral against draws, and what the docs prove."""

import numpy as np
import pytest
from scipy.special import betaincinv, gamma, ndtr, ndtri

import superarm as sa
from superarm import theory
from superarm.beliefs import SharedSeedBelief
from superarm.policies import thompson

SHARED = (0.0, 0.1, 0.5, 0.8, 0.99, 1.0)


def all_above(k, shared, n_draws, rng):
    """How often k arms with random posteriors are all sampled above their medians."""
    belief = SharedSeedBelief(k, shared)
    belief.posteriors.a, belief.posteriors.b = rng.uniform(0.5, 20, (2, k))
    median = betaincinv(belief.posteriors.a, belief.posteriors.b, 0.5)
    return np.mean([(belief.sample(rng=rng) > median).all() for _ in range(n_draws)])


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("k", [2, 6])
def test_the_probability_is_that_of_the_draws_of_the_belief(k, shared):
    """4.5 standard errors in 12 cases: another seed fails once in 12,000."""
    n_draws = 1500
    found = all_above(k, shared, n_draws, np.random.default_rng(k))
    expected = theory.optimistic_probability(k, shared)
    assert abs(found - expected) < 4.5 * (expected * (1 - expected) / n_draws) ** 0.5


@pytest.mark.parametrize("k", [1, 2, 3, 10, 100, 1000])
def test_the_values_that_have_a_formula(k):
    assert theory.optimistic_probability(k, 0) == pytest.approx(2.0**-k, rel=1e-9)
    assert theory.optimistic_probability(k, 0.5) == pytest.approx(1 / (k + 1), rel=1e-9)
    assert theory.optimistic_probability(k, 1) == 0.5


@pytest.mark.parametrize("shared", [0.0001, 0.3, 0.8, 0.9999, 1 - 1e-7])
def test_two_and_three_arms_have_sheppards_formula(shared):
    angle = np.arcsin(shared) / np.pi
    assert theory.optimistic_probability(1, shared) == pytest.approx(1 / 2, rel=1e-9)
    assert theory.optimistic_probability(2, shared) == pytest.approx(1 / 4 + angle / 2, rel=1e-8)
    three = 1 / 8 + 3 * angle / 4
    assert theory.optimistic_probability(3, shared) == pytest.approx(three, rel=1e-8)


@pytest.mark.parametrize("k", [2, 5, 40, 3000])
def test_it_rises_with_what_is_shared(k):
    grid = [theory.optimistic_probability(k, shared) for shared in np.linspace(0, 1, 41)]
    assert (np.diff(grid) > 0).all()


@pytest.mark.parametrize("shared", [0.4, 0.5, 0.7, 0.9])
def test_it_falls_like_a_power_of_k(shared):
    """The limit that docs/exploring.md proves: Gamma(1 + r) P(z > sqrt(r) · x), P(z > x) = 1/k."""
    r = (1 - shared) / shared
    ratios = [
        theory.optimistic_probability(k, shared) / (gamma(1 + r) * ndtr(r**0.5 * ndtri(1 / k)))
        for k in (100, 10_000, 1_000_000)
    ]
    off = np.abs(np.log(ratios))
    assert off[-1] < 0.03
    assert off[0] >= off[1] - 2e-3 >= off[2] - 4e-3


def test_the_default_keeps_it_above_0_29_and_its_bound_holds():
    """``shared`` of `thompson` for sets of 1 to 1,000 arms; the bound is for 1 - 1/k."""
    sizes = [*range(1, 40), 60, 100, 300, 1000]
    found = {}
    for k in sizes:
        shared = thompson(sa.LinearReward(k + 1), k).belief.shared
        found[k] = theory.optimistic_probability(k, shared)
        if k > 1:
            bound = ndtr(-2 * np.sqrt(np.log(k) / (k - 1))) * (1 - 1 / (2 * k))
            assert theory.optimistic_probability(k, 1 - 1 / k) > bound
    assert min(found, key=found.get) == 5
    assert round(found[5], 3) == 0.291
    assert 0.459 < found[1000] < 0.5


def test_refuses():
    with pytest.raises(ValueError, match="k must be at least 1"):
        theory.optimistic_probability(0, 0.5)
    with pytest.raises(ValueError, match="shared"):
        theory.optimistic_probability(3, 1.5)
