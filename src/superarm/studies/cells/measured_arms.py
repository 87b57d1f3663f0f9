"""Arms whose outcomes are measured: numbers between 0 and 1, not coins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms


class MeasuredArms:
    """Outcomes of arm i have the law Beta(c · mu_i, c · (1 - mu_i)), with the mean mu_i.

    The variance is that of a coin of the same mean, divided by c + 1.

    Parameters
    ----------
    mu
        The means, shape (n_arms,), between 0 and 1 and neither of them.
    concentration
        The c above.
    """

    def __init__(self, mu: FloatArray, concentration: float) -> None:
        self.mu, self.concentration, self.n_arms = mu, concentration, len(mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome per arm."""
        means = self.mu[as_arms(arms, self.n_arms)]
        return rng.beta(self.concentration * means, self.concentration * (1 - means))
