"""Means that wander: a world that is never the same for long."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_finite, as_unit


class DriftingArms:
    """Arm i gives X_i ~ Bern(mu_i), and after every pull mu_i moves by N(0, std²), reflected at 0 and 1.

    A round draws an outcome and a step for *every* arm, so that worlds of equal generators wander alike whatever is
    pulled: policies that are compared with `replicate` meet the same means. O(n_arms) draws a round, 8 bytes an arm.
    A wandering world is used up by a run; for another one, make a fresh one.

    Parameters
    ----------
    mu
        Shape (n_arms,): the means at the first pull, in [0, 1].
    std
        The standard deviation of a step, at least 0. After t rounds a mean has moved by about std · sqrt(t).

    Attributes
    ----------
    mu
        Shape (n_arms,): the means of the coming pull, read-only; another array after it.

    Examples
    --------
    >>> world = DriftingArms([0.0, 1.0, 0.5], std=0.1)
    >>> world.pull([0, 1], rng=np.random.default_rng(0))
    array([0., 1.])
    >>> world.mu.round(3)
    array([0.01 , 0.946, 0.536])
    """

    def __init__(self, mu: ArrayLike, std: float) -> None:
        start = as_finite(mu, "mu", ndim=1)
        self.mu: FloatArray = as_unit(start, "mu", start.shape)
        self.std = float(as_finite([std], "std", ndim=1, least=0.0)[0])
        self.mu.flags.writeable = False
        self.n_arms = len(self.mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, for each arm; then all means move on."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(self.n_arms) < self.mu)[arms].astype(np.float64)
        moved = self.mu + self.std * rng.standard_normal(self.n_arms)
        self.mu = 1 - np.abs(1 - moved % 2)  # folded at 0 and 1, as often as it takes
        self.mu.flags.writeable = False
        return outcomes
