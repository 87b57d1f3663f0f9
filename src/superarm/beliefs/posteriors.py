"""What a belief says about some arms: a mean and an interval for each, as they were when it was asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from superarm.core.arguments import FloatArray, as_fraction


@dataclass(frozen=True, eq=False)
class BetaPosterior:
    """theta_i ~ Beta(a_i, b_i) for some arms.

    Attributes
    ----------
    a, b
        Shape (n,): the parameters.

    Examples
    --------
    >>> low, high = BetaPosterior(np.array([1.0]), np.array([1.0])).interval()
    >>> low.round(3), high.round(3)
    (array([0.025]), array([0.975]))
    """

    a: FloatArray
    b: FloatArray

    def mean(self) -> FloatArray:
        """The means, shape (n,)."""
        return self.a / (self.a + self.b)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The ends of the equal-tailed intervals, shape (n,) each."""
        tail = (1 - as_fraction(level, "level")) / 2
        low, rest = (
            np.asarray(betaincinv(*ab, tail), np.float64)
            for ab in ((self.a, self.b), (self.b, self.a))
        )
        return low, 1 - rest


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """theta_i ~ N(location_i, var_i) restricted to [0, 1], for some arms.

    Attributes
    ----------
    location, var
        Shape (n,): mean and variance before the restriction.

    Examples
    --------
    >>> GaussianPosterior(np.array([0.5]), np.array([0.01])).mean()
    array([0.5])
    """

    location: FloatArray
    var: FloatArray

    def mean(self) -> FloatArray:
        """The means of the restricted distributions, shape (n,)."""
        std = np.sqrt(self.var)
        low, high = -self.location / std, (1 - self.location) / std
        # The mean of a truncated normal: location + std (phi(low) - phi(high)) / (Phi(high) - Phi(low)).
        density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
        return np.clip(self.location + std * density / (ndtr(high) - ndtr(low)), 0.0, 1.0)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The ends of the equal-tailed intervals, shape (n,) each."""
        tail = (1 - as_fraction(level, "level")) / 2
        std = np.sqrt(self.var)
        low, high = ndtr(-self.location / std), ndtr((1 - self.location) / std)
        ends = (
            self.location + std * ndtri(low + (high - low) * share) for share in (tail, 1 - tail)
        )
        first, last = (np.clip(end, 0.0, 1.0) for end in ends)
        return first, last
