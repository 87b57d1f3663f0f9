"""A list whose lower places are looked at less often.

The position-based model: Richardson, Dominowska, Ragno, WWW 2007; as a bandit: Lagrée, Vernade, Cappé:
"Multiple-play bandits in the position-based model", NeurIPS 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_finite, as_unit


class PositionBiasedArms:
    """The arm in place j is looked at with chance w_j and then succeeds with chance mu_i; the two look alike from here.

    The order of the arms in ``pull`` is the order in which they are shown. An outcome is Bern(w_j · mu_i): a 0 says
    less in a low place, since it may be that nobody looked. So the mean of the outcomes is not mu, and a belief that
    takes it for that is wrong: see `PositionBiasedBelief`.

    ``pull`` costs O(k) draws. 8 bytes an arm.

    Parameters
    ----------
    mu
        Shape (n_arms,): the chance that an arm that is looked at succeeds, in [0, 1]. Kept as a read-only copy.
    weights
        Shape (n_places,): how often each place is looked at, in (0, 1]. No more arms than places can be shown.

    Examples
    --------
    >>> world = PositionBiasedArms([0.5, 1.0, 0.5], weights=[1.0, 0.25])
    >>> world.expected([1, 0])
    array([1.   , 0.125])
    >>> world.pull([1, 0], rng=np.random.default_rng(0))
    array([1., 0.])
    """

    def __init__(self, mu: ArrayLike, weights: ArrayLike) -> None:
        given, shares = as_finite(mu, "mu", ndim=1), as_finite(weights, "weights", ndim=1)
        self.mu: FloatArray = as_unit(given, "mu", given.shape)
        self.weights: FloatArray = as_unit(shares, "weights", shares.shape)
        if not self.weights.min() > 0:
            raise ValueError(
                f"weights must be above 0, got {self.weights.min()}; leave out places nobody looks at"
            )
        self.mu.flags.writeable = self.weights.flags.writeable = False
        self.n_arms = len(self.mu)

    def expected(self, arms: ArrayLike) -> FloatArray:
        """The means of the outcomes of a pull of these arms in this order, shape (k,)."""
        arms = as_arms(arms, self.n_arms)
        if len(arms) > len(self.weights):
            raise ValueError(
                f"arms must be at most {len(self.weights)}, one for each of the weights, got {len(arms)}"
            )
        return self.weights[: len(arms)] * self.mu[arms]

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, for each arm: 1 where it was looked at and succeeded."""
        chances = self.expected(arms)
        return (rng.random(len(chances)) < chances).astype(np.float64)
