"""The k largest values, with ties broken at random."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray

# Up to this many numbers, Python's sort is faster than a partition.
_FEW = 32
# The bound below the k-th largest value comes from at least this many groups per k.
_GROUPS_PER_K = 8
# Groups of fewer values than this are not worth the trouble.
_LEAST_SIZE = 4


def top_k(
    values: ArrayLike, k: int, *, rng: np.random.Generator, tolerance: float = 0.0
) -> IndexArray:
    """The k arms of the largest values, ascending.

    A tie at the k-th place is broken uniformly at random, and nothing is drawn without a tie.
    Values within ``tolerance`` of the k-th largest count as tied with it. O(len(values)) time.

    Examples
    --------
    >>> top_k(np.array([0.3, 0.9, 0.1, 0.5]), 2, rng=np.random.default_rng(0))
    array([1, 3])
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not 1 <= k <= len(values):
        raise ValueError(
            f"k must be between 1 and the number of values, "
            f"got {k} of values of shape {values.shape}"
        )
    bound = _below_kth_largest(values, k)
    if math.isnan(bound):
        raise ValueError("values must be numbers to be ordered, got NaN")
    if k == len(values):
        return np.arange(k)
    # A cheap bound leaves few candidates, so that one pass over all values is enough.
    likely = (values >= bound - tolerance).nonzero()[0]
    worth = values.take(likely)
    least = _least_of_top(worth, k)
    at_least = likely[worth >= least - tolerance]
    if len(at_least) == k:
        return at_least
    # Arms above the tie are in; the others draw lots for the places that are left.
    is_sure = values[at_least] > least + tolerance
    sure, tied = at_least[is_sure], at_least[~is_sure]
    return np.sort(np.concatenate([sure, rng.choice(tied, k - len(sure), replace=False)]))


def _least_of_top(values: FloatArray, k: int) -> float:
    if len(values) <= _FEW:  # the usual case when k is small
        return sorted(values.tolist())[-k]
    ordered = values.copy()
    ordered.partition(len(ordered) - k)
    return float(ordered[-k])


def kth_largest(values: FloatArray, k: int) -> float:
    """The k-th largest of numbers without NaN; several times faster than a partition of all."""
    return _least_of_top(values[values >= _below_kth_largest(values, k)], k)


def _below_kth_largest(values: FloatArray, k: int) -> float:
    """A number that is at most the k-th largest value, and that few values exceed.

    NaN if one of the values is NaN. The values are split into groups. k of the groups have a
    maximum of at least the k-th largest maximum, so there are k values of at least this number.
    """
    n_groups = max(_GROUPS_PER_K * k, int(len(values) ** 0.5))
    size = len(values) // n_groups
    if size < _LEAST_SIZE:
        return float(values.min())
    maxima = values[: size * n_groups].reshape(size, n_groups).max(axis=0)
    # The values that are left over when the groups are filled.
    rest = values[size * n_groups :]
    np.maximum(maxima[: len(rest)], rest, out=maxima[: len(rest)])
    # A maximum over a NaN is NaN, and sorting puts it last.
    maxima.sort()
    return math.nan if math.isnan(maxima[-1]) else float(maxima[-k])
