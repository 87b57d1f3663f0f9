"""Bounds on quantiles of Beta distributions, much cheaper than the quantiles.

Skorski, "Bernstein-type bounds for beta distribution", Modern Stochastics 2023, theorem 1: for X of
Beta(a, b) with mean m and variance v, and c = 2 (b - a) / ((a + b) (a + b + 2)),

    P(X > m + e) <= exp(-e^2 / (2 (v + c e / 3)))  for b >= a, and exp(-e^2 / (2 v)) otherwise.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from superarm.core.arguments import FloatArray

# Room for rounding, far below any difference of values that matters.
_ROOM = 1e-9


def beta_at_most(a: FloatArray, b: FloatArray, scores: FloatArray) -> FloatArray:
    """Upper bounds on the quantiles of Beta(a, b) at Phi(scores)."""
    n = a + b
    mean = a / n
    var = mean * (1 - mean) / (n + 1)
    # The e at which the bound on the tail is 1 - Phi(score), from a quadratic equation.
    log_tail = -log_ndtr(-scores)
    third = np.maximum(b - a, 0.0) * (2 / 3) / (n * (n + 2)) * log_tail
    above = third + np.sqrt(third**2 + 2 * var * log_tail)
    return np.asarray(mean + above + _ROOM, np.float64)
