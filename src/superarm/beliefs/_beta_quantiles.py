"""Quantiles of many Beta distributions at scores, in less time where both parameters are large."""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._scores import beta_at
from superarm.core.arguments import FloatArray
from superarm.core.special import betainc, ndtri

# From here on, and up to these scores, quantiles are off by less than 1e-8 standard deviations.
_LARGE, _FAR = 64.0, 5.0
_LOG_NORMAL = 0.5 * math.log(2 * math.pi)


def beta_quantiles(
    a: FloatArray, b: FloatArray, log_scale: FloatArray, scores: FloatArray
) -> FloatArray:
    """What `beta_at` computes, up to rounding, with log_scale = -log(b B(a, b)). Shape (n,) each.

    Up to scores, a Beta distribution of large parameters is nearly normal. So the quantile that
    belongs to a score is nearly linear in it, and one step of second order is enough from where an
    expansion begins (Abramowitz, Stegun, 26.5.22).
    """
    is_large = (np.minimum(a, b) >= _LARGE) & (np.abs(scores) <= _FAR)
    large = is_large.nonzero()[0]
    if len(large) == len(a):
        return _improved(_expanded(a, b, scores), a, b, log_scale, scores)
    values = np.empty(len(a))
    small = (~is_large).nonzero()[0]
    values[small] = beta_at(a.take(small), b.take(small), scores.take(small))
    if len(large):
        a, b, log_scale, scores = (each.take(large) for each in (a, b, log_scale, scores))
        values[large] = _improved(_expanded(a, b, scores), a, b, log_scale, scores)
    return values


def _expanded(a: FloatArray, b: FloatArray, z: FloatArray) -> FloatArray:
    """About the quantiles of Beta(a, b) at Phi(z)."""
    per_a, per_b = 1 / (2 * a - 1), 1 / (2 * b - 1)
    h, square = 2 / (per_a + per_b), (z * z - 3) / 6
    w = z * np.sqrt(h + square) / h + (per_b - per_a) * (square + 5 / 6 - 2 / (3 * h))
    return np.asarray(a / (a + b * np.exp(-2 * w)), np.float64)


def _improved(
    x: FloatArray, a: FloatArray, b: FloatArray, log_scale: FloatArray, z: FloatArray
) -> FloatArray:
    """Quantiles at Phi(z) from numbers close to them: Taylor's series of x as a function of z."""
    at = -ndtri(betainc(b, a, 1 - x))
    # The density of Beta(a, b), and its logarithm's derivative.
    log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) + log_scale + np.log(b)
    slope = np.exp(-at * at / 2 - _LOG_NORMAL - log_density)
    curvature = -slope * (at + slope * ((a - 1) / x - (b - 1) / (1 - x)))
    step = z - at
    return np.asarray(x + step * (slope + step / 2 * curvature), np.float64)
