"""Boundaries that sums of noise cross with a small probability only, at any time.

``superarm.oracles._noise`` says which of them holds for which noise.
"""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.core.special import ndtr

# At about this many answers times 10 the boundary of a mixture is the tightest.
RHO = 8.0
_NEWTON_STEPS = 12
_UP = 1 + 1e-9  # Newton's method comes from below: this outweighs its rounding
# The l of the lines, times the scale: from close to 1 down to one for 10^13 answers.
_SLOPES = 1 / (1 + 0.1 * 2.0 ** np.arange(24))
_PSI = -np.log1p(-_SLOPES) - _SLOPES
# They fall slowly, so that no line is expensive. Those of infinitely many lines would add up to 1.
_WEIGHTS = 4 / (np.arange(4.0, 28.0) * np.arange(5.0, 29.0))


def radius(n: FloatArray, alpha: FloatArray | float, std: float) -> FloatArray:
    """How far the mean of n answers may be off, at any n, except with probability alpha.

    Examples
    --------
    >>> radius(np.array([1.0, 100.0, 10_000.0]), 0.05, std=1.0).round(3)
    array([7.415, 0.305, 0.036])
    """
    with np.errstate(divide="ignore"):
        return std * np.sqrt((n + RHO) * (np.log((n + RHO) / RHO) - 2 * np.log(alpha))) / n


def one_sided(alpha: float) -> float:
    """The alpha of a two-sided mixture that crosses upwards with this probability.

    The one-sided mixture is the two-sided one times 2 Phi(S / root(V + rho)), and at its boundary
    S / root(V + rho) is at least root(-2 log(2 alpha)).
    """
    return 2 * alpha * float(ndtr(np.sqrt(max(0.0, -2 * np.log(2 * alpha)))))


def solved(
    n: FloatArray,
    v: FloatArray,
    rho: float,
    alpha: FloatArray | float,
    reach: FloatArray,
    apart: FloatArray,
) -> FloatArray:
    """The largest d that the boundary of symmetric noise does not exclude; inf if there is none."""
    price = -2 * np.log(alpha)
    w = largest_w(n, v, rho, price, reach, apart)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(w), np.sqrt(w * (np.log(w / rho) + price)) / n, np.inf)


def largest_w(
    n: FloatArray,
    v: FloatArray,
    rho: float,
    price: FloatArray | float,
    reach: FloatArray,
    apart: FloatArray,
) -> FloatArray:
    """The largest V + rho that the boundary of symmetric noise does not exclude; inf if unknown.

    With the mean off by d, the sum of squares is v + n d². Answers with different means add up to
    ``apart`` to its root, so W = V + rho is at most a + (1 + eta) n d² for any eta > 0. With
    d² = W (log(W / rho) + price) / n² at the boundary, W solves f(W) = 0 below. f is concave,
    and d is not excluded where f < 0: up to the smaller root, and again far out. Where that is
    within reach, nothing is known.
    """
    apart = np.broadcast_to(apart, np.shape(v))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        eta = np.where(apart > 0, np.minimum(1.0, apart / np.sqrt(v)), 0.0)
        a = (1 + eta) * v + np.where(apart > 0, (1 + 1 / eta) * apart**2, 0.0) + rho
        size = n / (1 + eta)

        def f(w: FloatArray) -> FloatArray:
            return size * (w - a) - w * (np.log(w / rho) + price)

        w = a
        for _ in range(_NEWTON_STEPS):
            # A tangent lies above f, so that Newton's method never passes the smaller root.
            log = np.log(w / rho)
            slope = size - log - price - 1
            better = np.where(slope > 0, w - (size * (w - a) - w * (log + price)) / slope, np.inf)
            if np.array_equal(better, w):
                break  # further steps would change nothing
            w = better
        w = w * _UP
        most = a + (1 + eta) * n * np.asarray(reach) ** 2
        sure = (f(w) >= 0) & ((f(most) >= 0) | (most <= w))
        return np.where(sure, w, np.inf)


def lines(v: FloatArray, alpha: FloatArray | float, scale: float) -> FloatArray:
    """A boundary for sub-exponential sums with this scale, as the least of some lines in V.

    For every l in (0, 1 / scale), exp(l S - psi(l) V) is a supermartingale, where
    psi(l) = (-log(1 - scale l) - scale l) / scale². So S < (psi(l) V - log(alpha w)) / l at all
    times, except with probability alpha w (Ville's inequality). The weights w add up to 1. Each l
    is the best one for some V. Stitched boundaries bound the lines once more, and are up to twice
    as wide.

    Examples
    --------
    >>> lines(np.array([0.0, 10.0, 1000.0]), 0.05, scale=1.0).round(1)
    array([  5.1,  14.7, 121. ])
    """
    price = -np.log(np.asarray(alpha, np.float64))[..., None] - np.log(_WEIGHTS)
    v = np.asarray(v, np.float64)[..., None] / scale**2
    return scale * ((price + _PSI * v) / _SLOPES).min(axis=-1)
