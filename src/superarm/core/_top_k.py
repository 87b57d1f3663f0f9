"""The k largest, with ties broken by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray

_FEW = 32  # up to so many numbers, Python's sort is faster than a partition


def top_k(
    values: ArrayLike, k: int, *, rng: np.random.Generator, tolerance: float = 0.0
) -> IndexArray:
    """The k arms of the largest values, ascending; a tie at the k-th place is broken uniformly at random.

    Values within ``tolerance`` of the k-th largest count as tied with it. Nothing is drawn where there is no tie.
    Costs O(len(values)).

    Examples
    --------
    >>> top_k(np.array([0.3, 0.9, 0.1, 0.5]), 2, rng=np.random.default_rng(0))
    array([1, 3])
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not 1 <= k <= len(values):
        raise ValueError(
            f"k must be between 1 and the number of values, got {k} of values of shape {values.shape}"
        )
    bound = _below_kth_largest(values, k)
    if math.isnan(bound):
        raise ValueError("values must be numbers to be ordered, got NaN")
    if k == len(values):
        return np.arange(k)
    likely = (values >= bound - tolerance).nonzero()[0]
    worth = values.take(likely)
    least = _least_of_top(worth, k)
    at_least = likely[worth >= least - tolerance]
    if len(at_least) == k:
        return at_least
    is_sure = values[at_least] > least + tolerance
    sure, tied = at_least[is_sure], at_least[~is_sure]
    return np.sort(np.concatenate([sure, rng.choice(tied, k - len(sure), replace=False)]))


def _least_of_top(values: FloatArray, k: int) -> float:
    if len(values) <= _FEW:  # as many as are left where k is small
        return sorted(values.tolist())[-k]
    ordered = values.copy()
    ordered.partition(len(ordered) - k)
    return float(ordered[-k])


def kth_largest(values: FloatArray, k: int) -> float:
    """The k-th largest of numbers of which none is NaN; several times faster than a partition of all."""
    return _least_of_top(values[values >= _below_kth_largest(values, k)], k)


def _below_kth_largest(values: FloatArray, k: int) -> float:
    """A number that the k-th largest value is not below, and few values are above; NaN if one of the values is.

    Split into groups, k of the groups have a maximum of at least the k-th largest maximum, so there are k such values.
    """
    n_groups = max(8 * k, int(len(values) ** 0.5))
    size = len(values) // n_groups
    if size < 4:
        return float(values.min())
    maxima = values[: size * n_groups].reshape(size, n_groups).max(axis=0)
    rest = values[size * n_groups :]
    np.maximum(maxima[: len(rest)], rest, out=maxima[: len(rest)])
    # A maximum over a NaN is NaN, and sorting puts it last.
    maxima.sort()
    return math.nan if math.isnan(maxima[-1]) else float(maxima[-k])
