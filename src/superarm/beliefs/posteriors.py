"""The posteriors of some arms at one moment: a mean and an interval per arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.beliefs._logit_sites import mean_of_logit_normal
from superarm.core.arguments import FloatArray, as_fraction
from superarm.core.special import betainc, betaincinv, expit, ndtr, ndtri

_N_HALVES = 70  # halvings that find a quantile up to 1e-21


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
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        tail = (1 - as_fraction(level, "level")) / 2
        low = np.asarray(betaincinv(self.a, self.b, tail), np.float64)
        # 1 - theta_i is Beta(b_i, a_i): the upper tail keeps its digits close to 1.
        rest = np.asarray(betaincinv(self.b, self.a, tail), np.float64)
        return low, 1 - rest


@dataclass(frozen=True, eq=False)
class BetaMixturePosterior:
    """theta_i ~ Beta(a_ij, b_ij) with probability weights_ij, for some arms i.

    Attributes
    ----------
    weights, a, b
        Shape (n, n_parts): the probability of each part, and its parameters.

    Examples
    --------
    >>> law = BetaMixturePosterior(np.array([[0.9, 0.1]]), np.array([[2, 1]]), np.array([[38, 1]]))
    >>> law.mean().round(3), law.interval()[1].round(3)
    (array([0.095]), array([0.75]))
    """

    weights: FloatArray
    a: FloatArray
    b: FloatArray

    def mean(self) -> FloatArray:
        """The means, shape (n,)."""
        return np.asarray((self.weights * self.a / (self.a + self.b)).sum(axis=1), np.float64)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        tail = (1 - as_fraction(level, "level")) / 2
        low = _quantile_of_mixture(self.weights, self.a, self.b, tail)
        # 1 - theta_i has the parameters exchanged: the upper tail keeps its digits close to 1.
        return low, 1 - _quantile_of_mixture(self.weights, self.b, self.a, tail)


def _quantile_of_mixture(
    weights: FloatArray, a: FloatArray, b: FloatArray, share: float
) -> FloatArray:
    """By bisection: the quantile is between the least and the largest of the parts."""
    of_parts = betaincinv(a, b, share)
    low, high = of_parts.min(axis=1), of_parts.max(axis=1)
    for _ in range(_N_HALVES):
        middle = (low + high) / 2
        is_above = (weights * betainc(a, b, middle[:, None])).sum(axis=1) > share
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray((low + high) / 2, np.float64)


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
        # The mean of a truncated normal distribution:
        # location + std (phi(low) - phi(high)) / (Phi(high) - Phi(low)).
        density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
        return np.clip(self.location + std * density / (ndtr(high) - ndtr(low)), 0.0, 1.0)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        tail = (1 - as_fraction(level, "level")) / 2
        return self._quantile(tail), self._quantile(1 - tail)

    def _quantile(self, share: float) -> FloatArray:
        std = np.sqrt(self.var)
        low, high = ndtr(-self.location / std), ndtr((1 - self.location) / std)
        return np.clip(self.location + std * ndtri(low + (high - low) * share), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class CutGaussianPosterior:
    """theta_i ~ N(location_i, var_i), where values outside [0, 1] count as 0 or 1.

    The attributes are those of `GaussianPosterior`.

    Examples
    --------
    >>> low, high = CutGaussianPosterior(np.array([0.9]), np.array([0.01])).interval()
    >>> low.round(3), high
    (array([0.704]), array([1.]))
    """

    location: FloatArray
    var: FloatArray

    def mean(self) -> FloatArray:
        """The means before the cut, cut to [0, 1], shape (n,)."""
        return np.clip(self.location, 0.0, 1.0)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        half = float(ndtri((1 + as_fraction(level, "level")) / 2)) * np.sqrt(self.var)
        return np.clip(self.location - half, 0.0, 1.0), np.clip(self.location + half, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class LogitNormalPosterior:
    """logit theta_i ~ N(location_i, var_i) for some arms.

    ``location`` and ``var``, shape (n,) each, are the mean and the variance of the log-odds.

    Examples
    --------
    >>> low, high = LogitNormalPosterior(np.array([-3.0]), np.array([0.25])).interval()
    >>> low.round(3), high.round(3)
    (array([0.018]), array([0.117]))
    """

    location: FloatArray
    var: FloatArray

    def mean(self) -> FloatArray:
        """The means of theta, shape (n,), by quadrature."""
        return mean_of_logit_normal(self.location, self.var)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        half = np.sqrt(self.var) * -ndtri((1 - as_fraction(level, "level")) / 2)
        return expit(self.location - half), expit(self.location + half)
