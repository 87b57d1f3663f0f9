"""Which of the answered points of an arm are kept."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray

# Keeps a division by a distance or a slope finite when it is 0.
TINY = 1e-300


def least_useful(xs: FloatArray, newest: int) -> int:
    """The place of the point that is least missed: the gap it leaves is small for its distance."""
    crowd = np.full(len(xs), np.inf)  # the ends stay
    distance = np.maximum(np.abs(xs[1:-1] - xs[newest]), TINY)
    crowd[1:-1] = (xs[2:] - xs[:-2]) / distance
    crowd[newest] = np.inf
    return int(np.argmin(crowd))
