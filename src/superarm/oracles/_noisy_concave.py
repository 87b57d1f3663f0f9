"""What averages of noisy answers prove about a concave function.

Let f be concave on [0, 1] with f >= 0 and f(0) >= z, and let a be an average of f at some positions
x_j, whose mean is c. A bound on a comes from the noise.

From below, by Jensen's inequality f(c) >= a. To the left of c, f lies above its chord to (0, z); to
the right it lies above its chord to (1, 0), or does not fall at all if f is monotone.

From above, f at a position x_j < x lies above the chord from (0, z) to (x, f(x)), that is

    f(x_j) >= f(x) - (x - x_j) (f(x) - z) / x,

and if f is monotone, f(x_j) >= f(x) for x_j >= x. Let u be at least the mean of (x - x_j)+. Then
a >= f(x) - u (f(x) - z) / x, and f(x) <= (a - z u / x) / (1 - u / x). If f is not monotone, the
chord from (x, f(x)) to (1, 0) does the same to the right of x, with o for the mean of (x_j - x)+
and z = 0: f(x) <= a / (1 - u / x - o / (1 - x)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.core.arguments import FloatArray

__all__ = ["Concave"]


@dataclass(eq=False)
class Concave:
    """Groups of answers around x; all arrays have the shape of the groups, or broadcast to it.

    Attributes
    ----------
    x
        Where f is to be bounded.
    mean_x
        The means of the positions of the answers.
    over, under
        At least the averages of how far the answers lie above x, and below it.
    monotone
        Whether f is non-decreasing.
    at_zero
        A number that is at most f(0), and at least 0.
    """

    x: FloatArray
    mean_x: FloatArray
    over: FloatArray
    under: FloatArray
    monotone: bool
    at_zero: float

    def least(self, average: FloatArray, lipschitz: FloatArray) -> FloatArray:
        """f(x) is at least this, if the averages of f are at least these."""
        x, mean_x = self.x, self.mean_x
        left = x < mean_x
        with np.errstate(divide="ignore", invalid="ignore"):
            to_zero = self.at_zero + (average - self.at_zero) * x / mean_x
            to_one = average * (1 - x) / (1 - mean_x)
        # At the ends of the chords nothing is needed of the average, which may be -inf.
        to_zero, to_one = np.where(x > 0, to_zero, self.at_zero), np.where(x < 1, to_one, 0.0)
        to_right = average if self.monotone else np.where(x > mean_x, to_one, average)
        chord = np.where(left, to_zero, to_right)
        # From the mean of the positions, f falls by no more than its slope allows.
        fall = np.maximum(mean_x - x, 0.0) if self.monotone else np.abs(mean_x - x)
        return np.maximum(average - lipschitz * fall, chord)

    def most(self, average: FloatArray) -> FloatArray:
        """f(x) is at most this, if the averages of f are at most these."""
        zero = self.at_zero if self.monotone else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.under > 0, self.under / self.x, 0.0)
            left = 1 - share
            if not self.monotone:
                left = left - np.where(self.over > 0, self.over / (1 - self.x), 0.0)
            return np.where(left > 0, (average - zero * share) / left, np.inf)
