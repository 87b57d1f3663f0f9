"""Dependent rounding: each arm has its probability, and every set has k arms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import naive
import superarm as sa
from superarm.oracles import DependentRounding
from superarm.oracles.dependent_rounding import _scaled_to_sum


@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=7), data=st.data())
@settings(max_examples=100)
def test_dependent_rounding_keeps_every_chance(p, data):
    """The enumerated law: every arm has its probability, every set has k arms, and no pair is more
    likely than with independent arms.
    """
    k = data.draw(st.integers(1, len(p)))
    margins = _scaled_to_sum(np.array(p), k)
    assert margins.sum() == pytest.approx(k)
    assert margins.max() <= 1
    law = naive.rounding_law(margins.tolist())
    assert {len(arms) for arms in law} == {k}
    for i in range(len(p)):
        assert sum(chance for arms, chance in law.items() if i in arms) == pytest.approx(
            margins[i], abs=1e-9
        )
        for j in range(i):
            both = sum(chance for arms, chance in law.items() if i in arms and j in arms)
            assert both <= margins[i] * margins[j] + 1e-9


def test_chances_of_tiny_means_are_chances():
    """Means so small that the factor that scales them to probabilities overflows."""
    theta = np.array([1.0] * 5 + [2.2e-309, 2.2e-309])
    np.testing.assert_allclose(_scaled_to_sum(theta, 6), [1.0] * 5 + [0.5, 0.5])
    np.testing.assert_allclose(
        _scaled_to_sum(np.array([5e-324, 0.0, 1.5e-323]), 1), [0.25, 0.0, 0.75]
    )


def test_dependent_rounding_has_that_law():
    """8,000 sets against the enumerated law, chi-square; error 1e-6."""
    p, rng, oracle = (
        [0.9, 0.2, 0.5, 0.35, 0.6, 0.45],
        np.random.default_rng(0),
        DependentRounding(),
    )
    law = naive.rounding_law(p)
    sets = [tuple(oracle.select(sa.LinearReward(6), p, 3, rng=rng).tolist()) for _ in range(8000)]
    observed = np.array([sets.count(arms) for arms in law])
    assert observed.sum() == len(sets)
    assert stats.chisquare(observed, 8000 * np.array(list(law.values()))).pvalue > 1e-6
    np.testing.assert_array_equal(oracle.report.margins, p)


def test_dependent_rounding_of_many_arms():
    """1,000 arms with random probabilities, 1,000 sets: always 40 arms, and no arm too often or too
    rarely; error 2e-6.
    """
    rng, oracle = np.random.default_rng(0), DependentRounding()
    theta = _scaled_to_sum(rng.random(1000) ** 3, 40)
    counts = np.zeros(1000)
    for _ in range(1000):
        arms = oracle.select(sa.LinearReward(1000), theta, 40, rng=rng)
        assert len(arms) == 40
        counts[arms] += 1
    law = stats.binom(1000, theta)
    assert np.minimum(law.cdf(counts), law.sf(counts - 1)).min() > 1e-9
