"""The two-layer network of section 5 and appendix D."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, as_count, as_finite, as_positive, as_set, as_theta
from superarm.core.showing import one_line

# The slope of the sigmoid at 0, where it is steepest.
_STEEPEST = 1 / 4


class NetworkReward:
    """``r(S; theta) = <w2, sigmoid(W1 theta_S)>``, where theta_S is theta with zeros outside S.

    ``lipschitz`` of arm i is ``sum_n w2_n |W1_ni| / 4``, since the slope of the sigmoid is at most
    1/4. It is tight if all weights of the arm have the same sign. ``upper`` takes for each neuron
    the arms of positive weight, at means of 1. It is tight if no weight is negative. A batch costs
    O(n_hidden · members of the pools), or a matrix product for random tests of large p.

    Parameters
    ----------
    W1
        Shape (n_hidden, n_arms), any sign.
    w2
        Shape (n_hidden,), none negative, so that the reward is in [0, upper].

    Examples
    --------
    >>> reward = NetworkReward([[1.0, 2.0], [0.0, 4.0]], [1.0, 3.0])
    >>> round(reward([1], [0.5]), 6)  # sigmoid(1) + 3 sigmoid(2)
    3.37345
    >>> reward([], [])
    2.0
    >>> reward.lipschitz
    array([0.25, 3.5 ])
    """

    zero_is_absent = True
    additive = False

    __repr__ = one_line

    def __init__(self, W1: ArrayLike, w2: ArrayLike) -> None:
        self.W1 = as_finite(W1, "W1", ndim=2)
        self.w2 = as_finite(w2, "w2", ndim=1, least=0.0)
        if len(self.w2) != len(self.W1):
            raise ValueError(
                f"w2 must have one weight for each of the {len(self.W1)} rows of W1, "
                f"got {len(self.w2)}"
            )
        self.n_hidden, self.n_arms = self.W1.shape
        self.lipschitz: FloatArray = _STEEPEST * (self.w2 @ np.abs(self.W1))
        self.upper = float(self.w2 @ scipy.special.expit(np.maximum(self.W1, 0).sum(axis=1)))
        self.monotone = bool((self.W1[self.w2 > 0] >= 0).all())
        # The sigmoid is concave for inputs of at least 0.
        self.concave = self.diminishing = self.monotone
        # One contiguous row per arm: sets read few arms of many.
        self._columns = np.ascontiguousarray(self.W1.T)
        for array in (self.W1, self.w2, self.lipschitz):
            array.flags.writeable = False

    @classmethod
    def random(
        cls, n_arms: int, *, n_hidden: int = 20, std: float = 1.0, rng: np.random.Generator
    ) -> NetworkReward:
        """Weights |N(0, 1)| as in section 5, those of the hidden layer multiplied by ``std``."""
        shape = as_count(n_hidden, "n_hidden", least=1), as_count(n_arms, "n_arms", least=1)
        W1 = as_positive(std, "std") * np.abs(rng.standard_normal(shape))
        return cls(W1, np.abs(rng.standard_normal(n_hidden)))

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        arms, means = as_set(arms, means, self.n_arms)
        return float(self.w2 @ scipy.special.expit(means @ self._columns[arms]))

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets."""
        theta = as_theta(theta, self.n_arms, pools)
        arms, pools = pools.compact()
        return scipy.special.expit(pools.sum(self._columns[arms] * theta[arms, None])) @ self.w2
