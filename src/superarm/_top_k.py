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
    if np.count_nonzero(np.isnan(values)):
        raise ValueError("values must be numbers to be ordered, got NaN")
    if k == len(values):
        return np.arange(k)
    at_least = (values >= _not_above(values, k) - tolerance).nonzero()[0]
    contenders = values[at_least]
    least = _kth(contenders.copy(), k)
    chosen = contenders >= least - tolerance
    at_least = at_least[chosen]
    if len(at_least) == k:
        return at_least
    contenders = contenders[chosen]
    sure, tied = at_least[contenders > least + tolerance], at_least[contenders <= least + tolerance]
    return np.sort(np.concatenate([sure, rng.choice(tied, k - len(sure), replace=False)]))


def kth_largest(values: FloatArray, k: int) -> float:
    """The k-th largest value."""
    return _kth(values[values >= _not_above(values, k)], k)


def _not_above(values: FloatArray, k: int) -> float:
    """A number that is not above the k-th largest value, and above almost all others.

    Split into groups, k of the groups have a maximum of at least the k-th largest maximum. So the k-th largest value
    is not below it, and few values are left to look at: several times faster than a partition of all.
    """
    n_groups = max(8 * k, int(len(values) ** 0.5))
    size = len(values) // n_groups
    if size < 4:
        return -np.inf
    return _kth(np.maximum.reduce(values[: size * n_groups].reshape(size, n_groups)), k)


def _kth(values: FloatArray, k: int) -> float:
    """The k-th largest of values that may be put into another order."""
    values.partition(len(values) - k)
    return float(values[len(values) - k])
