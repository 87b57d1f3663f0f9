"""The paper's uniform quantizer Q (section 3, eq. quantizer)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_positive
from superarm.core.showing import one_line

_ROUNDING = 1e-12
# Steps from the middle of two levels within which rounding could decide, for up to this many steps.
_NEAR_TIE = 1e-9
_MOST_STEPS = 1e6


class Quantizer:
    """Q(r): the nearest of the levels {w, 2w, ..., M} with w = delta / (2 lipschitz).

    There are ``ceil(M / w)`` levels. If M is not a multiple of w, the last level is M and the last
    interval is shorter. Zero is not a level: the smallest answer is w. A value halfway between two
    levels goes to the lower level, as argmin does. Values beyond the ends go to the nearest end.

    Parameters
    ----------
    delta
        The paper's Delta, the quantization level.
    lipschitz
        The paper's B, as one number.
    upper
        The paper's M.

    Examples
    --------
    >>> quantize = Quantizer(delta=0.5, lipschitz=1.0, upper=0.9)
    >>> quantize.levels
    array([0.25, 0.5 , 0.75, 0.9 ])
    >>> quantize([0.0, 0.3, 0.625, 0.85])
    array([0.25, 0.25, 0.5 , 0.9 ])
    """

    __repr__ = one_line

    def __init__(self, delta: float, lipschitz: float, upper: float) -> None:
        self.delta = as_positive(delta, "delta")
        self.lipschitz = as_positive(lipschitz, "lipschitz")
        self.upper = as_positive(upper, "upper")
        self.width = self.delta / (2 * self.lipschitz)
        # 0.3 / 0.05 may be 5.999...96 or 6.000...01; rounding must not change the number of levels.
        self.n_levels = max(1, math.ceil(self.upper / self.width * (1 - _ROUNDING)))

    @property
    def levels(self) -> FloatArray:
        """The levels, ascending, shape (n_levels,)."""
        return self._level(np.arange(1.0, self.n_levels + 1))

    def __call__(self, values: ArrayLike) -> FloatArray:
        """The level nearest to each value. O(number of values), for any number of levels."""
        values = np.asarray(values, np.float64)
        if values.ndim and values.size and (quick := self._away_from_ties(values)) is not None:
            return quick
        if not np.isfinite(values).all():
            raise ValueError(f"values must be finite, got {values[~np.isfinite(values)].flat[0]}")
        # The candidates are the levels below and above; the nearer one is the answer.
        below = np.clip(np.floor(values / self.width), 1, self.n_levels)
        below -= (below > 1) & (self._level(below) > values)
        above = np.minimum(below + 1, self.n_levels)
        nearer = np.abs(values - self._level(above)) < np.abs(values - self._level(below))
        return self._level(np.where(nearer, above, below))

    def _away_from_ties(self, values: FloatArray) -> FloatArray | None:
        """The levels by rounding, which is faster.

        None if a value is so close to the middle of two levels that the last digit could decide, or
        close to the last level, where the interval may be shorter; and if a value is not finite.
        """
        steps = values / self.width
        steps -= 0.5
        nearest = np.ceil(steps)
        # NaN and infinity fail the first comparison, and minus infinity is not above any value.
        largest = nearest.max()
        if not (largest < min(self.n_levels - 1, _MOST_STEPS) and nearest.min() > -_MOST_STEPS):
            return None
        np.subtract(nearest, steps, out=steps)
        if not (steps.min() > _NEAR_TIE and steps.max() < 1 - _NEAR_TIE):
            return None
        np.maximum(nearest, 1.0, out=nearest)
        nearest *= self.width
        return nearest

    def _level(self, index: FloatArray) -> FloatArray:
        return np.where(index < self.n_levels, index * self.width, self.upper)
