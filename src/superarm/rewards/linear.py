"""The linear reward of section 5: the sum of the means, optionally weighted."""

from __future__ import annotations

from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, as_count, as_finite, as_set, as_theta
from superarm.core.showing import one_line


class LinearReward:
    """r(S; theta) = sum over S of w_i theta_i, with w_i = 1 by default.

    ``lipschitz`` is w_i for arm i (the number 1 without weights) and ``upper`` is the sum of all
    weights. Both are attained, so they are tight. A batch costs O(members of the pools), and
    O(n_arms) for all singletons.

    Parameters
    ----------
    n_arms
        How many arms there are.
    weights
        Shape (n_arms,), none negative, not all 0.

    Examples
    --------
    >>> reward = LinearReward(4)
    >>> reward([0, 3], [0.5, 0.25])
    0.75
    >>> reward.batch(Pools.of([[0, 3], [1]], 4), [0.5, 0.125, 0.0, 0.25])
    array([0.75 , 0.125])
    >>> reward.lipschitz, reward.upper
    (1.0, 4.0)
    """

    monotone = zero_is_absent = concave = diminishing = True

    __repr__ = one_line

    def __init__(self, n_arms: int, weights: ArrayLike | None = None) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.weights: FloatArray | None = None
        self.additive = True
        self.lipschitz: float | FloatArray = 1.0
        self.upper = float(self.n_arms)
        if weights is not None:
            self.weights = as_finite(weights, "weights", ndim=1, least=0.0)
            if len(self.weights) != self.n_arms:
                raise ValueError(
                    f"weights must have shape ({self.n_arms},), got {self.weights.shape}"
                )
            if not self.weights.any():
                raise ValueError("weights must not all be 0: the value of every set would be 0")
            self.weights.flags.writeable = False
            # With equal weights the order of theta is the order of the values.
            self.additive = bool((self.weights == self.weights[0]).all())
            self.lipschitz = self.weights
            self.upper = float(self.weights.sum())

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        arms, means = as_set(arms, means, self.n_arms)
        return float(means.sum() if self.weights is None else self.weights[arms] @ means)

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets."""
        theta = as_theta(theta, self.n_arms, pools)
        if self.weights is None:
            return pools.sum(theta)
        # Only the arms that occur in the pools are multiplied.
        arms, pools = pools.compact()
        return pools.sum(self.weights[arms] * theta[arms])
