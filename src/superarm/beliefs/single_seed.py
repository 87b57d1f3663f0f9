"""Thompson sampling with a single seed: one uniform shared by all arms.

Jin, Zhao, Tan, Gu: "Avoiding exp(k*) scaling for Thompson sampling in combinatorial semi-bandits: from multiple seeds
to a single seed", COLT 2026. With a draw for each arm, all arms of the best set look good together with a chance that
falls exponentially in their number; with one draw for all they do about half of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from superarm.beliefs.beta import BetaBelief
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_state


class SingleSeedBelief:
    """theta_i = F_i^-1(u), F_i being the distribution function of Beta(a_i, b_i), and u one uniform for all arms.

    Each theta_i has the law of its posterior, as in `BetaBelief`, and all of them are high together or low together.
    The posteriors are those of `BetaBelief`, the update too. ``sample`` draws one number; arms of equal posteriors have
    equal values, so it costs O(n_arms log n_arms) to find the distinct ones, and for each an inverse distribution
    function. ``update`` costs O(arms told). 16 bytes an arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    prior
        The (a, b) that every arm starts with, as in `BetaBelief`.

    Attributes
    ----------
    posteriors
        A `BetaBelief`, which keeps what is known.

    Examples
    --------
    >>> belief = SingleSeedBelief(4)
    >>> belief.update([0, 2], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(3)
    array([0.798, 0.637, 0.397, 0.637])
    """

    def __init__(self, n_arms: int, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)) -> None:
        self.posteriors = BetaBelief(n_arms, prior)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.posteriors.n_arms

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        return self.posteriors.mean()

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """What is known of some arms now; it stays as it is when the belief learns."""
        return self.posteriors.posterior(arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The same quantile of every posterior, at a level drawn once."""
        pairs, which = np.unique(self.posteriors.a + 1j * self.posteriors.b, return_inverse=True)
        quantiles: FloatArray = np.asarray(
            betaincinv(pairs.real, pairs.imag, rng.random()), np.float64
        )
        return quantiles[which]

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Y_i ~ Bern(X_i), a_i += Y_i, b_i += 1 - Y_i. Draws only for outcomes strictly between 0 and 1."""
        self.posteriors.update(arms, outcomes, rng=rng)

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Make room for n more arms, which come last, with a prior of their own: (1, 1) unless given. O(n_arms)."""
        self.posteriors.add_arms(n, prior)

    def state(self) -> dict[str, Any]:
        """The posteriors, as plain JSON."""
        return {**self.posteriors.state(), "belief": "SingleSeedBelief"}

    def load(self, state: dict[str, Any]) -> None:
        """Take over the posteriors of ``state()``."""
        as_state(state, "SingleSeedBelief", self.n_arms, arrays=("a", "b"))
        self.posteriors.load({**state, "belief": "BetaBelief"})
