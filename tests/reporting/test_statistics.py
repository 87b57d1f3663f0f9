"""Intervals are those of scipy, and cover as often as they should."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from superarm.reporting.statistics import (
    mean_interval,
    paired_difference,
    paired_ratio,
    share_interval,
)


def test_mean_interval_is_students():
    values = np.random.default_rng(0).normal(3, 2, 12)
    found = mean_interval(values)
    low, high = scipy_stats.t.interval(0.95, 11, loc=values.mean(), scale=scipy_stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert mean_interval([2.0]).high == np.inf


def test_intervals_cover_as_they_should():
    """Over 2,000 samples, 95% within 5 standard errors (0.0049 each); error 6e-7."""
    rng = np.random.default_rng(0)
    covered = [mean_interval(rng.normal(1, 1, 8)) for _ in range(2000)]
    share = np.mean([found.low <= 1 <= found.high for found in covered])
    assert abs(share - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 2000)


def test_paired_intervals_see_through_what_pairs_share():
    rng = np.random.default_rng(0)
    base = rng.normal(100, 30, 20)
    found = paired_difference(base + 1 + rng.normal(0, 0.1, 20), base)
    assert 0.9 < found.low < 1 < found.high < 1.1
    assert str(paired_ratio(2 * base, base)) == "2.00 (2.00 to 2.00)"


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (3, 20), (20, 20)])
def test_share_interval_is_exact(hits, trials):
    expected = scipy_stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
    found = share_interval(hits, trials)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
