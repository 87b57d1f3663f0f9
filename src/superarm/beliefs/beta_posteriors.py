"""Methods of beliefs that keep their posteriors in a `BetaBelief` and only sample in another way.

`SingleSeedBelief` and `SharedSeedBelief` have a `BetaBelief` as their attribute ``posteriors`` and
take over the functions below as methods (``update = beta_posteriors.update``).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs.beta import BetaBelief
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import FloatArray, IndexArray


class KeepsPosteriors(Protocol):
    """A belief that keeps a `BetaBelief`."""

    posteriors: BetaBelief


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
    self.posteriors.update(arms, outcomes, rng=rng)


def add_arms(
    self: KeepsPosteriors, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None
) -> None:
    """Append n arms, as `BetaBelief` does."""
    self.posteriors.add_arms(n, prior)
