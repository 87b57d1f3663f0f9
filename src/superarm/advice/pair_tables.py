"""From the values of all pairs of some arms to the pairs that stand out."""

from __future__ import annotations

import math

import numpy as np

from superarm.core.arguments import FloatArray

_FEW = 0.15  # of all pairs: if more stand out, no pair does
_MOST = 32  # pairs


def n_among(n_pairs: int, n_arms: int) -> int:
    """The largest number of arms, at most ``n_arms``, that have at most ``n_pairs`` pairs.

    Examples
    --------
    >>> n_among(780, 100), n_among(779, 100), n_among(5_000, 40), n_among(0, 5)
    (40, 39, 40, 1)
    """
    return min(n_arms, (1 + math.isqrt(1 + 8 * max(0, n_pairs))) // 2)


def candidates(table: FloatArray, alone: FloatArray, n: int) -> tuple[list[tuple[int, int]], float]:
    """The n pairs that are worth most above what a separable reward allows, and n far below.

    In a separable reward, an arm that is worth no less alone is worth no less with every partner.

    Parameters
    ----------
    table
        Shape (n_arms, n_arms): the values of the pairs, NaN on the diagonal.
    alone
        Shape (n_arms,): the value of each arm alone.
    n
        How many pairs of each kind.

    Returns
    -------
    pairs, largest
        Places of two arms each, and by how much the order is violated at most.

    Examples
    --------
    >>> alone = np.array([1.0, 2.0, 3.0, 4.0])
    >>> table = alone[:, None] + alone
    >>> np.fill_diagonal(table, np.nan)
    >>> candidates(table, alone, 1)
    ([], 0.0)
    >>> table[0, 1] = table[1, 0] = 9.0
    >>> candidates(table, alone, 1)  # the first pair is above others, and the second below it
    ([(0, 1), (0, 2)], 5.0)
    """
    ranked = np.argsort(alone, kind="stable")
    rows = table[np.ix_(ranked, ranked)]
    # Above: worth more than with a partner that is worth no less alone.
    least = np.fmin.accumulate(rows[:, ::-1], axis=1)[:, ::-1]
    most = np.fmax.accumulate(rows, axis=1)
    found: dict[tuple[int, int], None] = {}
    largest = 0.0
    for excess in (rows - least, most - rows):
        largest = max(largest, float(np.nanmax(excess)))
        # In a pair that stands out, each arm stands out with the other, except for the best arm.
        both = np.nan_to_num(excess + excess.T, nan=0.0)
        order = np.argsort(-np.triu(both, 1), axis=None, kind="stable")[:n]
        for i, j in zip(*np.unravel_index(order, both.shape), strict=True):
            if both[i, j] > 0:
                one, other = sorted((int(ranked[i]), int(ranked[j])))
                found[one, other] = None
    return list(found), largest


def positive(extra: FloatArray) -> tuple[list[tuple[int, int]], float]:
    """Pairs that are worth much more than their sum, if they are few, and by how much at most.

    Much is half of the largest difference.

    Examples
    --------
    >>> extra = np.zeros((6, 6))
    >>> extra[1, 4] = extra[4, 1] = 2.0
    >>> positive(extra)
    ([(1, 4)], 2.0)
    """
    upper = np.triu(np.nan_to_num(extra, nan=0.0), 1)
    largest = max(0.0, float(upper.max()))
    stands_out = upper > largest / 2
    n_out, n_pairs = int(stands_out.sum()), math.comb(len(extra), 2)
    if not largest or n_out > _FEW * n_pairs:
        # Too many to name, and one shows that the reward is not submodular.
        n_out = int(largest > 0)
    order = np.argsort(-upper, axis=None, kind="stable")[: min(n_out, _MOST)]
    places = np.unravel_index(order, upper.shape)
    return [(int(i), int(j)) for i, j in zip(*places, strict=True)], largest
