"""Quantiles of Beta distributions by the expansion of Cornish and Fisher, and how far it is off."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray

# Where both parameters are at least the first number, quantiles exceed the expansion by less than a
# sixth of std (1 + |z|^3) / min(a, b), for scores z of up to 8. The second number has a margin.
_LEAST, _OFF = 8.0, 0.5
_ROUNDING = 1e-9  # more than that of values


def skew(a: FloatArray, b: FloatArray) -> FloatArray:
    """A sixth of the skewness of Beta(a, b)."""
    total = a + b
    return np.asarray((b - a) * np.sqrt((total + 1) / (a * b)) / (3 * (total + 2)), np.float64)


def guess_at(moments: Any, scores: FloatArray) -> FloatArray:
    """About the quantiles at Phi(scores), from the mean, the standard deviation, and `skew`."""
    mean, std, sixth = moments
    return np.asarray(mean + std * (scores + sixth * (scores * scores - 1)), np.float64)


def at_most(a: FloatArray, b: FloatArray, moments: Any, scores: FloatArray) -> FloatArray:
    """Upper bounds of the quantiles of Beta(a, b) at Phi(scores); inf where none is known."""
    size, least = np.abs(scores), np.minimum(a, b)
    off = _OFF * moments[1] / least * (1 + size * size * size) + _ROUNDING
    is_known = (least >= _LEAST) & (size <= 8)
    return np.where(is_known, guess_at(moments, scores) + off, np.inf)
