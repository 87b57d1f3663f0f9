"""Methods of beliefs that keep their posteriors in a `BetaBelief` and only sample in another way.

`SingleSeedBelief` and `SharedSeedBelief` have a `BetaBelief` as their attribute ``posteriors`` and
take over the functions below as methods (``update = beta_posteriors.update``).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._known_groups import FEWEST_ARMS, KnownGroups
from superarm.beliefs._scores import SharedScores
from superarm.beliefs._top_of_groups import whole_is_faster
from superarm.beliefs.beta import BetaBelief
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_k
from superarm.core.k_of_m import top_k

# A place of a set takes about as long as this many arms of a whole sample.
_ARMS_PER_PLACE = 16


class KeepsPosteriors(Protocol):
    """A belief that keeps a `BetaBelief`, and samples at scores that arms share in part."""

    posteriors: BetaBelief
    shared: float
    _known: KnownGroups

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior."""


def n_arms_of(self: KeepsPosteriors) -> int:
    """How many arms there are."""
    return self.posteriors.n_arms


def mean(self: KeepsPosteriors) -> FloatArray:
    """The posterior means, shape (n_arms,)."""
    return self.posteriors.mean()


def posterior(self: KeepsPosteriors, arms: IndexArray) -> BetaPosterior:
    """The posteriors of some arms, as in `BetaBelief`."""
    return self.posteriors.posterior(arms)


def update(
    self: KeepsPosteriors, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator
) -> None:
    """Update the posteriors, as `BetaBelief` does."""
    self._known.update(self.posteriors, arms, outcomes, rng=rng)


def sample_top(
    self: KeepsPosteriors, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """The arms of the k largest values of a sample, ascending, and these values.

    The law is that of ``sample`` followed by the k largest, with ties broken at random; the draws
    differ. Given the seed that arms share, the values are independent, so that arms with equal
    posteriors can be drawn together. Few arms, and many places, are drawn by ``sample``.
    """
    n_arms = self.posteriors.n_arms
    k = as_k(k, n_arms)
    if n_arms >= FEWEST_ARMS and not whole_is_faster(k, n_arms, _ARMS_PER_PLACE):
        return self._known.top(self.posteriors, k, SharedScores(self.shared), rng=rng)
    theta = self.sample(rng=rng)
    arms = top_k(theta, k, rng=rng)
    return arms, theta[arms]


def add_arms(
    self: KeepsPosteriors, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None
) -> None:
    """Append n arms, as `BetaBelief` does."""
    self.posteriors.add_arms(n, prior)
