"""Means and shares with confidence intervals, over runs and over paired runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray

__all__ = [
    "Interval",
    "mean_band",
    "mean_interval",
    "paired_ratio",
    "share_interval",
]

LEVEL = 0.95  # of every interval that has no level of its own
_MOST_LOG = 100.0  # of a factor: beyond it an interval says nothing more


class Interval(NamedTuple):
    """A mean over runs, with both ends of its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (
            f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}" for value in self
        )
        return f"{mean} ({low} to {high})"


def mean_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """The mean of independent values with Student's interval, which is unbounded for one value.

    For paired runs, the values are the differences of the pairs.

    Examples
    --------
    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2.00 (-0.48 to 4.48)
    """
    mean, low, high = mean_band(np.asarray(values, np.float64)[:, None], level)
    if not np.isfinite(mean[0]):
        raise ValueError(
            f"a mean needs finite values, at least one, got {np.array2string(np.asarray(values))}"
        )
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def mean_band(runs: FloatArray, level: float = LEVEL) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`mean_interval` of every column of ``runs``, shape (n_runs, n): means, low and high ends.

    ``scipy.stats.t.interval`` answers NaN where all values are equal, so the quantile is taken
    from the same function that it uses.
    """
    n_runs = len(runs)
    mean = runs.mean(axis=0)
    # One value says nothing about the spread. An infinite interval is honest, and NaN would be
    # taken for an error.
    if n_runs == 1:
        unbounded = np.full(len(mean), np.inf)
        return mean, -unbounded, unbounded
    error = runs.std(axis=0, ddof=1) / np.sqrt(n_runs)
    reach = float(scipy.special.stdtrit(n_runs - 1, (1 + level) / 2)) * error
    return mean, mean - reach, mean + reach


def paired_ratio(values: ArrayLike, others: ArrayLike, level: float = LEVEL) -> Interval:
    """The mean over paired runs of ``values / others``, with an interval that is never negative.

    The interval is Student's interval of the logarithm of the mean, whose standard error is that of
    the mean divided by the mean (the delta method). So the ends are the mean divided and multiplied
    by one factor. One pair gives the interval from 0 to infinity.

    Examples
    --------
    >>> print(paired_ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]))
    2.00 (2.00 to 2.00)
    >>> print(paired_ratio([1.0, 5.0], [1.0, 1.0]))
    3.00 (0.00 to 14,320)
    """
    values, others = np.asarray(values, np.float64), np.asarray(others, np.float64)
    if (values < 0).any() or (others <= 0).any():
        raise ValueError(
            f"a ratio needs values of at least 0 and others above 0, got a value of "
            f"{values.min():g} and another of {others.min():g}; use mean_interval of the "
            f"differences"
        )
    plain = mean_interval(values / others, level)
    if len(values) == 1:
        return Interval(plain.mean, 0.0, np.inf)
    # Only zeros: the mean has no logarithm, and no run says that the ratio is anything else.
    if plain.mean == 0:
        return plain
    # The cap keeps both ends finite where two runs differ by orders of magnitude.
    factor = float(np.exp(min((plain.high - plain.mean) / plain.mean, _MOST_LOG)))
    return Interval(plain.mean, plain.mean / factor, plain.mean * factor)


def share_interval(hits: int, trials: int, level: float = LEVEL) -> Interval:
    """A share with Clopper and Pearson's interval, which is exact for any number of trials.

    Examples
    --------
    >>> print(share_interval(0, 20))
    0.00 (0.00 to 0.17)
    """
    from scipy import stats  # takes half a second to import

    ends = stats.binomtest(hits, trials).proportion_ci(level, "exact")
    return Interval(hits / trials, float(ends.low), float(ends.high))
