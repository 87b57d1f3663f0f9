"""Means with intervals, of runs and of paired runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from superarm.core.arguments import as_finite


@dataclass(frozen=True)
class Interval:
    """A mean over runs, with the ends of its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.mean)} ({_short(self.low)} to {_short(self.high)})"


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of independent values with Student's interval; a single value has an unbounded one.

    Examples
    --------
    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2.00 (-0.48 to 4.48)
    """
    numbers = as_finite(values, "values", ndim=1)
    mean = float(numbers.mean())
    if len(numbers) == 1:
        return Interval(mean, -np.inf, np.inf)
    error = float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
    reach = float(special.stdtrit(len(numbers) - 1, (1 + level) / 2)) * error
    return Interval(mean, mean - reach, mean + reach)


def paired_ratio(values: ArrayLike, others: ArrayLike, level: float = 0.95) -> Interval:
    """The mean over paired runs of ``values / others``.

    Examples
    --------
    >>> print(paired_ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]))
    2.00 (2.00 to 2.00)
    """
    return mean_interval(np.asarray(values, np.float64) / np.asarray(others, np.float64), level)


def paired_difference(values: ArrayLike, others: ArrayLike, level: float = 0.95) -> Interval:
    """The mean over paired runs of ``values - others``."""
    return mean_interval(np.asarray(values, np.float64) - np.asarray(others, np.float64), level)


def share_interval(hits: int, trials: int, level: float = 0.95) -> Interval:
    """A share with Clopper and Pearson's interval, exact for any number of trials.

    Examples
    --------
    >>> print(share_interval(0, 20))
    0.00 (0.00 to 0.17)
    """
    tail = (1 - level) / 2
    low = float(special.betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return Interval(hits / trials, low, high)


def _short(value: float) -> str:
    if not np.isfinite(value):
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
