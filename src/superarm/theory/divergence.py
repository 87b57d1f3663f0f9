"""The divergence between two coins, and how far a mean may be from the mean of its outcomes."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.core.special import rel_entr, xlogy

# A handful of steps is enough. The limit only keeps rounding from looping for ever.
_MOST_NEWTON_STEPS = 100
# Steps smaller than this, relative to 1 - q, change nothing but the last digit.
_LAST_DIGIT = 4e-16
# Stands for 0 where a logarithm or a division needs a number above 0.
_TINY = 1e-300


def kl_bernoulli(p: FloatArray, q: FloatArray | float) -> FloatArray:
    """kl(p, q) between Bernoulli distributions, with 0 log 0 = 0."""
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q), np.float64)


def kl_upper(p: FloatArray, level: FloatArray) -> FloatArray:
    """The largest q in [p, 1] with kl(p, q) <= level, by Newton's method from above.

    kl(p, .) is convex and increasing on [p, 1], so Newton's steps from a point beyond the solution
    approach it without passing it. The starting point solves a lower bound for q:
    kl(p, q) >= -H(p) - (1 - p) log(1 - q) = level.
    """
    q = np.ones_like(p)
    q[level <= 0] = p[level <= 0]
    is_open = np.flatnonzero((p < 1) & (level > 0))
    low, bound = p[is_open], level[is_open]
    entropy = -xlogy(low, low) - xlogy(1 - low, 1 - low)
    # Steps are taken in rest = 1 - q, which keeps its digits where q is close to 1.
    rest = np.maximum(np.exp(-(bound + entropy) / (1 - low)), _TINY)
    for _ in range(_MOST_NEWTON_STEPS):
        now = np.maximum(1 - rest, np.maximum(low, _TINY))  # rounding must not take q below p
        excess = -entropy - xlogy(low, now) - (1 - low) * np.log(rest) - bound
        slope = (1 - low) / rest - low / now
        step = np.where(excess > 0, excess / np.where(slope > 0, slope, np.inf), 0.0)
        rest = np.minimum(rest + step, 1 - low)
        if (step <= _LAST_DIGIT * rest).all():
            break
    q[is_open] = 1 - rest
    return q


def kl_lower(p: FloatArray, level: FloatArray) -> FloatArray:
    """The least q in [0, p] with kl(p, q) <= level."""
    return 1 - kl_upper(1 - p, level)
