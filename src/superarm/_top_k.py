"""The k largest, with ties broken by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.checks import FloatArray, IndexArray


def top_k(values: ArrayLike, k: int, *, rng: np.random.Generator, tolerance: float = 0.0) -> IndexArray:
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
        raise ValueError(f"k must be between 1 and the number of values, got {k} of values of shape {values.shape}")
    if np.isnan(values).any():
        raise ValueError("values must be numbers to be ordered, got NaN")
    if k == len(values):
        return np.arange(k)
    least = kth_largest(values, k)
    at_least = np.flatnonzero(values >= least - tolerance)
    if len(at_least) == k:
        return at_least
    sure = at_least[values[at_least] > least + tolerance]
    tied = at_least[values[at_least] <= least + tolerance]
    return np.sort(np.concatenate([sure, rng.choice(tied, k - len(sure), replace=False)]))


def kth_largest(values: FloatArray, k: int) -> float:
    """The k-th largest value.

    Split into groups, k of the groups have a maximum of at least the k-th largest maximum. So the k-th largest value
    is not below it, and few values are left to look at: several times faster than a partition of all.
    """
    n_groups = max(8 * k, int(len(values) ** 0.5))
    size = len(values) // n_groups
    if size >= 4:
        maxima = values[: size * n_groups].reshape(size, n_groups).max(axis=0)
        values = values[values >= -np.partition(-maxima, k - 1)[k - 1]]
    return -float(np.partition(-values, k - 1)[k - 1])
