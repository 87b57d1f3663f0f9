"""At which means to evaluate arms, so that the answers serve longer than one round."""

from __future__ import annotations

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import kth_largest
from superarm.core.optional import Uniform, kind_has
from superarm.oracles._lazy.points import TINY
from superarm.oracles._lazy.single_arms import SingleArms

# B is plainly too large if the answers use less than this share of it.
PLAINLY_TOO_LARGE = 0.5
# An arm with at most this many answers is new.
NEW = 2
# How far to go towards the mean that would settle an arm: a little less, since this mean is a
# guess.
_SHORT_OF = 0.95


def look_ahead(
    known: SingleArms, arms: IndexArray, theta: FloatArray, low: float, high: float
) -> FloatArray:
    """At which means to evaluate arms: new ones at means whose answers serve longer.

    The value at the last place of the set is between ``low`` and ``high``. Judged by the slopes so
    far, an arm that will be left out can be evaluated at a higher mean, and one that will be in at
    a lower mean. The answer then settles all rounds with means in between.
    """
    n, at = known.n[arms], np.arange(len(arms))
    xs, fs = known.x[:, arms], known.f[:, arms]
    right = (xs <= theta).sum(axis=0)
    left = np.maximum(right - 1, 0)
    slope = np.maximum(known.used * known.lipschitz[arms], TINY)
    # The value at theta, if the slope is as it was so far.
    guess = fs[left, at] + slope * (theta - xs[left, at])
    wanted = theta + _SHORT_OF * (np.clip(guess, low, high) - guess) / slope
    # The answer must be between the neighbours of theta, or it would not bound f_i(theta_i).
    ceiling = np.where(right < n, xs[np.minimum(right, len(xs) - 1), at], 1.0)
    x = np.clip(wanted, xs[left, at], np.minimum(ceiling, 1.0))
    return np.where((n <= NEW) & (right > 0), x, theta)


def last_place(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, arms: IndexArray
) -> tuple[float, float]:
    """Bounds on the value at the last place of the set ``arms``, among the undecided arms."""
    if kind_has(type(feasible), Uniform):
        return kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    undecided = feasible.undecided
    lower, upper = lower[undecided], upper[undecided]
    k = int(np.clip(np.count_nonzero(undecided[arms]), 1, len(lower)))
    return kth_largest(lower, k), kth_largest(upper, k)
