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
# Stitching: epochs of V grow by _ETA, and the j-th one has a share of 1 / j^_POWER.
_ETA, _POWER, _ZETA = 2.0, 1.4, 3.10555  # the last one is a little more than zeta(1.4)


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
            slope = size - np.log(w / rho) - price - 1
            w = np.where(slope > 0, w - f(w) / slope, np.inf)
        w = w * _UP
        most = a + (1 + eta) * n * np.asarray(reach) ** 2
        sure = (f(w) >= 0) & ((f(most) >= 0) | (most <= w))
        return np.where(sure, w, np.inf)


def stitched(v: FloatArray, alpha: FloatArray | float, scale: float) -> FloatArray:
    """Theorem 1 of Howard and others 2021, from V = scale² on."""
    v = np.maximum(v, scale**2)
    root = _ETA**0.25
    k1, k2 = (root + 1 / root) / np.sqrt(2), (np.sqrt(_ETA) + 1) / 2
    epoch = np.log(v / scale**2) / np.log(_ETA)
    price = _POWER * np.log(epoch + 1) + np.log(_ZETA) - np.log(alpha)
    off = k2 * scale * price
    return np.sqrt(k1**2 * v * price + off**2) + off
