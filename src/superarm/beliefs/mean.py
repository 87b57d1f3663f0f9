"""The mean of the outcomes of each arm: the simplest belief, and a template for your own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.core.arguments import FloatArray, as_count, as_fraction
from superarm.core.showing import one_line


class MeanBelief:
    """theta_i = the mean of the outcomes of arm i, or ``unseen`` if it has none. Draws nothing.

    This belief alone explores little: with ``unseen`` = 1, every arm is tried once.
    `EpsilonRandom` and `ExploreThenCommit` add exploration, and `ESCBIndex` uses the counts that
    the belief keeps. ``sample`` costs O(n_arms) and ``update`` O(arms updated). Takes 16 bytes per
    arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    unseen
        The theta_i of an arm without outcomes, in [0, 1]. With 1 the arm is tried soon. With 0 it
        is tried only if the oracle explores at random.

    Attributes
    ----------
    outcomes
        The counts and sums of the outcomes of each arm.

    Examples
    --------
    >>> belief = MeanBelief(3)
    >>> for outcome in (1.0, 0.0, 0.0, 0.0):
    ...     belief.update([0, 2], [outcome, 0.5], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0))
    array([0.25, 1.  , 0.5 ])
    """

    __repr__ = one_line

    def __init__(self, n_arms: int, unseen: float = 1.0) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.unseen = as_fraction(unseen, "unseen", low="[", high="]")
        self.outcomes = OutcomeCounts.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The means of the outcomes, shape (n_arms,)."""
        # At most 1 by definition, but a sum of many outcomes may exceed their number by rounding.
        means = np.minimum(1.0, self.outcomes.mean())
        return np.where(self.outcomes.counts > 0, means, self.unseen)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Count the outcomes; draws nothing."""
        self.outcomes.add(arms, outcomes)

    def add_arms(self, n: int, prior: None = None) -> None:
        """Append n arms without outcomes. O(n_arms)."""
        self.n_arms = self.outcomes.add_arms(n, prior, "MeanBelief")

    def state(self) -> dict[str, Any]:
        """The counts and the setting as plain JSON."""
        return self.outcomes.state("MeanBelief", unseen=self.unseen)

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        outcomes = OutcomeCounts.from_state(state, "MeanBelief", self.n_arms, settings=("unseen",))
        self.unseen = as_fraction(state["unseen"], "state['unseen']", low="[", high="]")
        self.outcomes = outcomes
