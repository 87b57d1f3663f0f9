"""When two values count as equal."""

from __future__ import annotations

import numpy as np

from superarm.core import Reward
from superarm.core.arguments import FloatArray

# Sums of some thousand terms in another order differ by less than this share. Values that differ
# by a real reason differ by more.
ROUNDING = 1e-12


def rounding_at(*values: float) -> float:
    """How far from each other values of this size count as equal.

    Always a share of the largest of them, never a number with a unit: whoever measures a reward in
    other units gets the same decisions. Sums may cancel to a small value by chance, so pass what
    `scale_of` says of several sets where there are some.
    """
    return ROUNDING * max(map(abs, values), default=0.0)


def scale_of(values: FloatArray, reward: Reward) -> float:
    """The largest of these values, whose terms may have cancelled in others, for `rounding_at`.

    At most ``upper``: a value beyond it, such as -1e12 for a set that must not be, is a penalty and
    has no terms in common with the others.
    """
    return min(float(np.abs(values).max()), reward.upper)
