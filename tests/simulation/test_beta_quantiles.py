"""Rows of quantiles, as the torch engine keeps them, against scipy's incomplete beta function.

scipy's own inverse is wrong in far tails, so scores are compared: what scipy's distribution
function says about a quantile, against the score for which it was asked.
"""

import numpy as np
import pytest
from scipy.special import betainc, betaincc, expit, ndtri

from superarm.simulation.batch.beta_quantiles import STEP, interpolated, n_scores, rows_of
from superarm.simulation.batch.on_numpy import NumpyEngine


class Engine(NumpyEngine):
    """What the torch engine does in other ways, in numpy."""

    def search(self, ascending, values):
        return (ascending[:, None, :] < values[:, None]).sum(axis=2)

    def along(self, values, places):
        return np.take_along_axis(values, places, axis=-1)


ENGINE, REACH = Engine(np.random.SeedSequence(0)), 9.0
EVEN = STEP * np.arange(-18, 19)


def scores_of(logits, a, b):
    """The scores of logits; the smaller tail keeps its digits."""
    low, high = expit(logits), expit(-logits)
    below = np.where(low < 0.5, betainc(a, b, low), betaincc(b, a, high))
    above = np.where(low < 0.5, betaincc(a, b, low), betainc(b, a, high))
    return np.where(below < above, ndtri(below), -ndtri(above))


def random_parameters(low, high, n=250):
    """Log-uniform, and the corners."""
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.uniform(np.log(low), np.log(high), (2, n)))
    corners = [(low, low), (low, high), (high, low), (high, high)]
    return np.append(a, [c[0] for c in corners]), np.append(b, [c[1] for c in corners])


# The ranges and accuracies that the module states.
@pytest.mark.parametrize(
    ("low", "high", "of_rows", "of_draws"),
    [(1.0, 1e7, 1e-7, 1e-5), (0.3, 1e5, 1e-6, 1e-4), (0.05, 1e5, 1e-4, 1e-2)],
)
def test_rows_and_draws_are_as_accurate_as_stated(low, high, of_rows, of_draws):
    a, b = random_parameters(low, high)
    rows = rows_of(a, b, REACH, ENGINE)
    assert rows.shape == (len(a), n_scores(REACH)) == (len(a), len(EVEN))
    # scipy has no smaller numbers than e^-700 to compare with.
    inside = np.abs(rows) < 700
    found = scores_of(rows, a[:, None], b[:, None])
    assert np.abs(found - EVEN)[inside].max() < of_rows
    scores = np.clip(2 * np.random.default_rng(2).standard_normal((40, len(a))), -REACH, REACH)
    draws = np.array([interpolated(rows, each, ENGINE) for each in scores])
    inside = np.abs(draws) < 700
    assert np.abs(scores_of(draws, a, b) - scores)[inside].max() < of_draws


def test_a_low_rate_is_accurate_in_relative_terms():
    """Few or no successes of many: 1e-6 of the quantile itself."""
    a, b = np.array([1.0, 1.0, 3.0, 1.2]), np.array([1e3, 1e6, 1e5, 40.0])
    rows = rows_of(a, b, REACH, ENGINE)
    scores = np.array([-3.3, 0.1, 2.2, 4.7])
    draws = interpolated(rows, scores, ENGINE)
    np.testing.assert_allclose(scores_of(draws, a, b), scores, atol=1e-6)


def test_rows_ascend_and_are_mirrored_for_any_parameters():
    a, b = random_parameters(1e-3, 1e9)
    rows = rows_of(a, b, 13.0, ENGINE)
    assert np.isfinite(rows).all()
    # A step may be smaller than the last digit, and all logits beyond 700 are alike.
    steps = np.diff(rows)
    assert (steps[np.abs(rows[:, 1:]) < 600] > 0).all()
    mirrored = -rows_of(b, a, 13.0, ENGINE)[:, ::-1]
    np.testing.assert_allclose(np.clip(mirrored, -600, 600), np.clip(rows, -600, 600), atol=1e-9)


def test_scores_beyond_the_reach_are_cut():
    rows = rows_of(np.array([2.0]), np.array([5.0]), REACH, ENGINE)
    cut = interpolated(rows, np.array([50.0]), ENGINE)
    np.testing.assert_allclose(cut, rows[:, -1], rtol=1e-12)
    assert interpolated(rows, np.array([-np.inf]), ENGINE) == pytest.approx(rows[0, 0])
