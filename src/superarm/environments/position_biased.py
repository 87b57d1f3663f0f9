"""A list whose lower places are looked at less often.

The position-based model: Richardson, Dominowska, Ragno, WWW 2007; as a bandit: Lagrée, Vernade,
Cappé: "Multiple-play bandits in the position-based model", NeurIPS 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_place_weights
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class PositionBiasedArms:
    """The arm in place j is looked at with probability w_j, then succeeds with probability mu_i.

    The order of the arms in ``pull`` is the order in which they are shown. An outcome is
    Bern(w_j · mu_i): a failure says less in a low place, since perhaps nobody looked. So the mean
    of the outcomes is not mu, and a belief that assumes this is wrong: use `PositionBiasedBelief`.

    ``pull`` costs O(k) draws. Takes 8 bytes per arm.

    Parameters
    ----------
    mu
        Shape (n_arms,): the probabilities of success, given a look, in [0, 1]; copied.
    weights
        Shape (n_places,): how often each place is looked at, in (0, 1]. A set can't have more arms
        than there are places.

    Examples
    --------
    >>> environment = PositionBiasedArms([0.5, 1.0, 0.5], weights=[1.0, 0.25])
    >>> environment.expected([1, 0])
    array([1.   , 0.125])
    >>> environment.pull([1, 0], rng=np.random.default_rng(0))
    array([1., 0.])
    """

    __repr__ = one_line

    def __init__(self, mu: ArrayLike, weights: ArrayLike) -> None:
        self.mu: FloatArray = as_means(mu)
        self.weights = as_place_weights(weights)
        self.n_arms = len(self.mu)

    def expected(self, arms: ArrayLike) -> FloatArray:
        """The means of the outcomes when these arms are pulled in this order, shape (k,)."""
        arms = as_arms(arms, self.n_arms)
        if len(arms) > len(self.weights):
            raise ValueError(
                f"arms must be at most {len(self.weights)}, one for each of the weights, "
                f"got {len(arms)}"
            )
        # The model: an arm is looked at, independently of whether it would succeed.
        return self.weights[: len(arms)] * self.mu[arms]

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome per arm: 1 if the arm was looked at and succeeded, else 0."""
        # One draw instead of two: looked at and succeeded, with the product of the probabilities.
        chances = self.expected(arms)
        return (rng.random(len(chances)) < chances).astype(np.float64)
