"""At least one success: the reward of a set of items that needs one click."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, as_count, as_set, as_theta
from superarm.core.showing import one_line

# Stands for log(0) in sums, where -inf would turn 0 * -inf into NaN. Its exp is 0.
LOG_ZERO = -800.0


def log_failure(probability: FloatArray) -> FloatArray:
    """log(1 - probability), finite even where the probability is 1."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log1p(-probability), LOG_ZERO)


class AnySuccess:
    """r(S; theta) = 1 - prod over S of (1 - theta_i): the probability of at least one success.

    ``lipschitz`` is 1, the slope of a single arm, and ``upper`` is 1. Both are attained, so they
    are tight. A batch costs O(members of the pools).

    Parameters
    ----------
    n_arms
        How many arms there are.

    Examples
    --------
    >>> AnySuccess(3)([0, 2], [0.5, 0.5])
    0.75
    """

    lipschitz = upper = 1.0
    monotone = zero_is_absent = concave = diminishing = True
    additive = False

    __repr__ = one_line

    def __init__(self, n_arms: int) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        _, means = as_set(arms, means, self.n_arms)
        return float(1 - np.prod(1 - means))

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets."""
        theta = as_theta(theta, self.n_arms, pools)
        # A product over each pool is the exponential of a sum of logarithms.
        arms, pools = pools.compact()
        return -np.expm1(pools.sum(log_failure(theta[arms])))
