"""Probabilistic coverage: the weight of the targets that a set of arms reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, as_finite, as_set, as_theta, as_unit
from superarm.core.showing import one_line
from superarm.rewards.any_success import log_failure


class CoverageReward:
    """r(S; theta) = sum over targets u of w_u (1 - prod over i in S of (1 - reach_iu theta_i)).

    Arm i covers target u with probability ``reach_iu theta_i``, independently. With 0 and 1,
    ``reach`` is the graph of which arm can reach which target. The reward is submodular; it is the
    model of influence in two layers. ``lipschitz`` of arm i is ``sum_u w_u reach_iu``, the slope of
    the arm alone. ``upper`` is the value of all arms at means of 1. Both are attained, so they are
    tight. A batch costs O(n_targets · members of the pools).

    Parameters
    ----------
    reach
        Shape (n_arms, n_targets), in [0, 1].
    weights
        Shape (n_targets,), none negative; 1 each by default.

    Examples
    --------
    >>> reward = CoverageReward([[1, 1, 0], [0, 1, 1]])
    >>> reward([0], [0.5]), reward([0, 1], [0.5, 0.5])
    (1.0, 1.75)
    >>> reward.lipschitz, reward.upper
    (array([2., 2.]), 3.0)
    """

    monotone = zero_is_absent = concave = diminishing = True
    additive = False

    __repr__ = one_line

    def __init__(self, reach: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.reach = as_finite(reach, "reach", ndim=2, least=0.0)
        as_unit(self.reach, "reach", self.reach.shape)
        self.n_arms, self.n_targets = self.reach.shape
        given = np.ones(self.n_targets) if weights is None else weights
        self.weights = as_finite(given, "weights", ndim=1, least=0.0)
        if len(self.weights) != self.n_targets:
            raise ValueError(
                f"weights must have shape ({self.n_targets},), one per target, "
                f"got {self.weights.shape}"
            )
        self.lipschitz: FloatArray = self.reach @ self.weights
        # Read-only, because lipschitz and upper were computed from them.
        for array in (self.reach, self.weights, self.lipschitz):
            array.flags.writeable = False
        self.upper = float((1 - np.prod(1 - self.reach, axis=0)) @ self.weights)

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        arms, means = as_set(arms, means, self.n_arms)
        return float((1 - np.prod(1 - self.reach[arms] * means[:, None], axis=0)) @ self.weights)

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets."""
        theta = as_theta(theta, self.n_arms, pools)
        arms, pools = pools.compact()
        # For each pool and target, the log probability that no arm covers the target.
        missed = pools.sum(log_failure(self.reach[arms] * theta[arms, None]))
        return -np.expm1(missed) @ self.weights
