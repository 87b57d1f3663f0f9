"""Thompson sampling with a single seed: one uniform number shared by all arms.

Jin, Zhao, Tan, Gu: "Avoiding exp(k*) scaling for Thompson sampling in combinatorial semi-bandits:
from multiple seeds to a single seed", COLT 2026. With one draw per arm, the probability that all
arms of the best set look good at once falls exponentially in their number. With one draw for all
arms it is about one half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs import beta_posteriors
from superarm.beliefs._known_groups import KnownGroups
from superarm.beliefs.beta import BetaBelief
from superarm.core.arguments import FloatArray, as_state
from superarm.core.showing import one_line
from superarm.core.special import betaincinv


class SingleSeedBelief:
    """theta_i = F_i^-1(u), where F_i is the distribution function of Beta(a_i, b_i).

    u is one uniform number for all arms. Each theta_i has the law of its posterior, as in
    `BetaBelief`, and all theta_i are high together or low together. A `BetaBelief`, the attribute
    ``posteriors``, keeps the posteriors and updates them.

    ``sample`` draws one number. Arms with equal posteriors have equal values, so it costs
    O(n_arms log n_arms) to find the distinct posteriors, and one inverse distribution function for
    each of them. ``sample_top`` of many arms keeps the distinct posteriors from call to call, as
    `SharedSeedBelief` does. ``update`` costs O(arms updated). Takes 16 bytes per arm.

    Parameters
    ----------
    n_arms, prior
        How many arms there are, and the (a, b) that every arm starts with, as in `BetaBelief`.

    Examples
    --------
    >>> belief = SingleSeedBelief(4)
    >>> belief.update([0, 2], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(3)
    array([0.798, 0.637, 0.397, 0.637])
    """

    shared = 1.0  # in the words of `SharedSeedBelief`

    __repr__ = one_line

    def __init__(self, n_arms: int, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)) -> None:
        self.posteriors = BetaBelief(n_arms, prior)
        self._known = KnownGroups()

    n_arms = property(beta_posteriors.n_arms_of)
    mean, posterior = beta_posteriors.mean, beta_posteriors.posterior

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The same quantile of every posterior, at one random level."""
        # Pairs (a, b) as complex numbers: numpy finds distinct numbers faster than distinct rows.
        pairs, which = np.unique(self.posteriors.a + 1j * self.posteriors.b, return_inverse=True)
        u = rng.random()
        quantiles: FloatArray = np.asarray(betaincinv(pairs.real, pairs.imag, u), np.float64)
        return quantiles[which]

    sample_top, update = beta_posteriors.sample_top, beta_posteriors.update
    add_arms = beta_posteriors.add_arms

    def state(self) -> dict[str, Any]:
        """The posteriors as plain JSON."""
        return {**self.posteriors.state(), "belief": "SingleSeedBelief"}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        as_state(state, "SingleSeedBelief", self.n_arms, arrays=("a", "b"))
        # Same arrays, other law of a sample: a state of one kind must not be loaded as the other.
        self.posteriors.load({**state, "belief": "BetaBelief"})
