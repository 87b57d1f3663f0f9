"""Sparse random cells: which of many independent cells are 1, without a draw for every cell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Below this p, it is cheaper to draw the gaps between the cells that are 1 than a bit per cell.
SPARSE_BELOW = 1 / 64
# A smaller rate would overflow; with this one and a smaller one, no cell is 1.
_LEAST_RATE = 1e-300
# Below this p, a gap may be so large that a sum of gaps overflows.
_GAPS_MAY_OVERFLOW = 1e-12
# Gaps drawn at a time: the expected number, this many standard deviations more, and a few.
_DEVIATIONS, _FEW_MORE = 4, 8


def random_cells(n_cells: int, p: float, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which of ``n_cells`` independent Bern(p) cells are 1, ascending, by the gaps between them."""
    if p == 0 or n_cells == 0:
        return np.zeros(0, np.int64)
    # An exponential number over the rate, rounded up, is geometric: the same law as rng.geometric,
    # with a single logarithm.
    rate = max(-math.log1p(-p), _LEAST_RATE)
    found = []
    last = -1
    while last < n_cells:
        expected = (n_cells - last) * p
        gaps = rng.standard_exponential(int(expected + _DEVIATIONS * expected**0.5) + _FEW_MORE)
        gaps /= rate
        np.ceil(gaps, out=gaps)
        if p < _GAPS_MAY_OVERFLOW:
            # How far a gap leads beyond the end does not matter.
            np.minimum(gaps, n_cells + 1, out=gaps)
        cells = gaps.astype(np.int64)
        cells[0] += last
        np.cumsum(cells, out=cells)
        last = int(cells[-1])
        found.append(cells[: cells.searchsorted(n_cells)])
    return found[0] if len(found) == 1 else np.concatenate(found)
