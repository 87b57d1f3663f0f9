"""Thompson sampling with a seed that arms share in part: from one seed per arm to a single seed.

With one draw per arm, a set of k places is explored k times over. With one draw for all arms (Jin,
Zhao, Tan, Gu, COLT 2026, see `superarm.beliefs.single_seed`), all places explore at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs import beta_posteriors
from superarm.beliefs._known_groups import KnownGroups
from superarm.beliefs._scores import SharedScores, beta_at
from superarm.beliefs.beta import BetaBelief
from superarm.core.arguments import FloatArray, as_fraction, as_state
from superarm.core.showing import one_line


class SharedSeedBelief:
    """theta_i = F_i^-1(Phi(sqrt(shared) · z_0 + sqrt(1 - shared) · z_i)), for Beta(a_i, b_i).

    z_0 and all z_i are standard normal, and z_0 is the same for all arms. So each theta_i has the
    law of its posterior for any ``shared``, and the scores of two arms have the correlation
    ``shared``. With 0 the law is that of `BetaBelief`, with 1 that of `SingleSeedBelief`. The
    posteriors and their updates are those of `BetaBelief`.

    ``sample`` costs n_arms inverse distribution functions and ``update`` O(arms updated).
    ``sample_top`` costs one of them for each distinct pair (a_i, b_i), which are few for outcomes
    of 0 and 1. Takes 16 bytes per arm, and 8 more after ``sample_top`` of many arms.

    Parameters
    ----------
    n_arms, prior
        How many arms there are, and the (a, b) that every arm starts with, as in `BetaBelief`.
    shared
        From 0 to 1: how much of the seed all arms share.

    Attributes
    ----------
    posteriors
        The `BetaBelief` that keeps the posteriors. To change them by hand, assign whole arrays:
        after ``sample_top`` of many arms they are read-only.

    Examples
    --------
    >>> belief = SharedSeedBelief(4, shared=0.9)
    >>> belief.update([0, 2], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(3)
    array([0.729, 0.626, 0.337, 0.48 ])
    """

    __repr__ = one_line

    def __init__(
        self, n_arms: int, shared: float = 0.8, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)
    ) -> None:
        self.posteriors = BetaBelief(n_arms, prior)
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self._known = KnownGroups()

    n_arms = property(beta_posteriors.n_arms_of)
    mean, posterior = beta_posteriors.mean, beta_posteriors.posterior

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, at scores that arms share in part."""
        scores = SharedScores(self.shared).draw(self.n_arms, rng=rng)
        return beta_at(self.posteriors.a, self.posteriors.b, scores)

    sample_top, update = beta_posteriors.sample_top, beta_posteriors.update
    add_arms = beta_posteriors.add_arms

    def state(self) -> dict[str, Any]:
        """The posteriors and the setting as plain JSON."""
        state = {**self.posteriors.state(), "belief": "SharedSeedBelief"}
        return {**state, "shared": self.shared}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, including ``shared``."""
        as_state(state, "SharedSeedBelief", self.n_arms, arrays=("a", "b"), others=("shared",))
        shared = as_fraction(state["shared"], "state['shared']", low="[", high="]")
        # Same arrays, other law of a sample: a state of one kind must not be loaded as the other.
        self.posteriors.load({**state, "belief": "BetaBelief"})
        self.shared = shared
