"""A belief that knows in which place each arm was shown.

The position-based model and its posterior: Lagrée, Vernade, Cappé: "Multiple-play bandits in the
position-based model", NeurIPS 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.beliefs import _beta
from superarm.beliefs._beta import as_prior
from superarm.beliefs._looked_at import matched
from superarm.beliefs._scores import with_shared
from superarm.beliefs.beta import flip
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_finite,
    as_fraction,
    as_place_weights,
    as_state,
)
from superarm.core.places import Places, as_places
from superarm.core.showing import one_line


class PositionBiasedBelief:
    """theta_i for arms that succeed with probability w_j · theta_i in place j; w is known.

    The order of the arms in ``update`` is the order in which they were shown. With S_i successes of
    arm i and F_ij failures in place j, the posterior is proportional to
    theta^(a + S_i - 1) (1 - theta)^(b - 1) prod_j (1 - w_j theta)^F_ij. This is a Beta distribution
    only if all weights are 1. Samples are drawn from the Beta distribution with the same mean and
    variance, which are computed from the counts whenever these change. So means and variances are
    exact for any order of the updates, and the shape is an approximation. With weights of 1 this is
    `BetaBelief`, up to rounding.

    ``sample`` costs n_arms Beta draws. ``update`` computes some dozen logarithms per arm and place.
    Takes 8 · (places + 6) bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    weights
        Shape (n_places,): how often each place is looked at, in (0, 1]. An update can't have more
        arms than there are places.
    prior, shared
        The (a, b) that every arm starts with, and how much of the seed all arms share, as in
        `SharedSeedBelief`.

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the Beta distributions that approximate the posteriors.
        Do not write to them.

    Examples
    --------
    >>> belief, rng = PositionBiasedBelief(3, weights=[1.0, 0.1]), np.random.default_rng(0)
    >>> for _ in range(20):
    ...     belief.update([0, 2], [0.0, 0.0], rng=rng)  # arm 2 was rarely looked at
    >>> belief.mean().round(3)
    array([0.045, 0.5  , 0.337])
    """

    __repr__ = one_line
    mean, posterior, sample = _beta.mean, _beta.posterior, _beta.sample

    def __init__(
        self,
        n_arms: int,
        weights: ArrayLike,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
        *,
        shared: float = 0.0,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.weights = as_place_weights(weights)
        self._prior_a, self._prior_b = as_prior(prior, self.n_arms)
        self._successes, self._looks = np.zeros(self.n_arms), np.zeros(self.n_arms)
        self._failures = np.zeros((self.n_arms, len(self.weights)))
        self.a, self.b = self._prior_a.copy(), self._prior_b.copy()

    @property
    def n_places(self) -> int:
        """How many places have a weight."""
        return len(self.weights)

    def unbiased(self) -> FloatArray:
        """Successes divided by the sum of the weights of their places, shape (n_arms,).

        NaN for arms without outcomes. Unbiased for any fixed places, since an outcome in place j
        has the mean w_j · mu_i. Has more variance than the posterior mean, and may exceed 1: use it
        to check a result, not to decide.
        """
        seen = self._looks > 0
        return np.divide(self._successes, self._looks, out=np.full(self.n_arms, np.nan), where=seen)

    def update(
        self, arms: ArrayLike, outcomes: ArrayLike, *, rng: Generator, places: Places = None
    ) -> None:
        """Learn one outcome per arm, in the places 0, 1, 2, ... by default.

        Give ``places`` if you have outcomes of some of the shown arms only, or in another order.
        Draws only for outcomes strictly between 0 and 1, as `BetaBelief` does.
        """
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        where = as_places(places, len(arms), self.n_places, "weights")
        coins = flip(outcomes, rng=rng)
        self._successes[arms] += coins
        self._failures[arms, where] += 1 - coins
        self._looks[arms] += self.weights[where]
        if len(arms):
            self._match(arms)

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Append n arms with a prior of their own, (1, 1) by default. O(n_arms)."""
        n = as_count(n, "n", least=1)
        new = PositionBiasedBelief(n, self.weights, (1.0, 1.0) if prior is None else prior)
        for name in ("_prior_a", "_prior_b", "_successes", "_looks", "_failures", "a", "b"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))
        self.n_arms += n

    def state(self) -> dict[str, Any]:
        """Weights, prior, counts (failures per place) and posteriors as plain JSON."""
        return {
            "belief": "PositionBiasedBelief",
            "n_arms": self.n_arms,
            "weights": self.weights.tolist(),
            "shared": self.shared,
            "a": self._prior_a.tolist(),
            "b": self._prior_b.tolist(),
            "successes": self._successes.tolist(),
            "looks": self._looks.tolist(),
            "failures": [place.tolist() for place in self._failures.T],
            "posterior_a": self.a.tolist(),
            "posterior_b": self.b.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, including the weights."""
        keys = ("a", "b", "successes", "looks", "posterior_a", "posterior_b")
        others, state = ("weights", "shared", "failures"), with_shared(state)
        arrays = as_state(state, "PositionBiasedBelief", self.n_arms, arrays=keys, others=others)
        prior, shared = (arrays["a"], arrays["b"]), state["shared"]
        # A new belief checks everything before anything changes here.
        new = PositionBiasedBelief(self.n_arms, state["weights"], prior, shared=shared)
        failures = as_finite(state["failures"], "state['failures']", ndim=2, least=0.0).T
        if failures.shape != new._failures.shape:
            raise ValueError(
                f"state['failures'] must have {self.n_arms} numbers for each of "
                f"{len(new.weights)} places, got shape {failures.T.shape}"
            )
        new.a, new.b = as_prior((arrays["posterior_a"], arrays["posterior_b"]), self.n_arms)
        new._successes, new._looks = arrays["successes"], arrays["looks"]
        new._failures = failures.copy()
        self.__dict__.update(new.__dict__)

    def _match(self, arms: IndexArray) -> None:
        """Set a and b of some arms to the mean and variance of their posteriors."""
        won, lost = self._prior_a[arms] + self._successes[arms], self._prior_b[arms]
        self.a[arms], self.b[arms] = matched(won, lost, self._failures[arms], self.weights)
