"""The paper's uniform quantizer Q (section 3, eq. quantizer)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_positive


class Quantizer:
    """Q(r): the nearest of the levels {w, 2w, ..., M} with w = delta / (2 lipschitz).

    There are ``ceil(M / w)`` levels. Where M is no multiple of w the last interval is shorter than the others, and
    the last level is M itself. Zero is no level: the smallest answer is w. Halfway between two levels the lower one
    is taken, as argmin does. Values beyond the ends go to the nearest end.

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

    def __init__(self, delta: float, lipschitz: float, upper: float) -> None:
        self.delta = as_positive(delta, "delta")
        self.lipschitz = as_positive(lipschitz, "lipschitz")
        self.upper = as_positive(upper, "upper")
        self.width = self.delta / (2 * self.lipschitz)
        # 0.3 / 0.05 is 5.999...96 or 6.000...01 by rounding alone; neither must make a level more or less.
        self.n_levels = max(1, math.ceil(self.upper / self.width * (1 - 1e-12)))

    @property
    def levels(self) -> FloatArray:
        """The levels, ascending, shape (n_levels,)."""
        return self._level(np.arange(1.0, self.n_levels + 1))

    def __call__(self, values: ArrayLike) -> FloatArray:
        """The level nearest to each value. O(number of values), however many levels there are."""
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"values must be finite, got {values[~np.isfinite(values)].flat[0]}")
        if values.ndim and values.size and (quick := self._away_from_ties(values)) is not None:
            return quick
        # The one below or above: which of them is nearer is then asked as in the definition.
        below = np.clip(np.floor(values / self.width), 1, self.n_levels)
        below -= (below > 1) & (self._level(below) > values)
        above = np.minimum(below + 1, self.n_levels)
        nearer = np.abs(values - self._level(above)) < np.abs(values - self._level(below))
        return self._level(np.where(nearer, above, below))

    def _away_from_ties(self, values: FloatArray) -> FloatArray | None:
        """By rounding alone; None if a value is so near the middle of two levels that the last digit could decide.

        Or so near the end, where levels may be closer together.
        """
        steps = values / self.width
        steps -= 0.5
        nearest = np.ceil(steps)
        if not nearest.max() < min(self.n_levels - 1, 1e6):
            return None
        np.subtract(nearest, steps, out=steps)
        if not (steps.min() > 1e-9 and steps.max() < 1 - 1e-9):
            return None
        np.maximum(nearest, 1.0, out=nearest)
        nearest *= self.width
        return nearest

    def _level(self, index: FloatArray) -> FloatArray:
        return np.where(index < self.n_levels, index * self.width, self.upper)
