"""The mean of what was seen, and nothing else: for policies that explore by other means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs.tally import Tally
from superarm.core.arguments import FloatArray, as_count, as_fraction


class MeanBelief:
    """theta_i = the mean of the outcomes of arm i, and ``unseen`` for an arm never told about. Draws nothing.

    By itself it hardly explores: with ``unseen`` at 1, as here and in the upper confidence bounds, every arm is tried
    once. `EpsilonRandom` and `ExploreThenCommit` explore around it, and `ESCBIndex` with the counts that it keeps.
    ``sample`` costs O(n_arms), ``update`` O(arms told). 16 bytes an arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    unseen
        What an arm counts for before anything is known of it, in [0, 1]: 1 has it tried soon, 0 only by chance.

    Attributes
    ----------
    tally
        What was seen of each arm.

    Examples
    --------
    >>> belief = MeanBelief(3)
    >>> for outcome in (1.0, 0.0, 0.0, 0.0):
    ...     belief.update([0, 2], [outcome, 0.5], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0))
    array([0.25, 1.  , 0.5 ])
    """

    def __init__(self, n_arms: int, unseen: float = 1.0) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.unseen = as_fraction(unseen, "unseen", low="[", high="]")
        self.tally = Tally.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The means of the outcomes."""
        # At most 1 by definition; the sum of many outcomes may be a rounding above their number.
        return np.where(self.tally.counts > 0, np.minimum(1.0, self.tally.mean()), self.unseen)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Add the outcomes to what was seen; draws nothing."""
        self.tally.add(arms, outcomes)

    def add_arms(self, n: int, prior: None = None) -> None:
        """Make room for n more arms, which come last, with nothing seen of them. O(n_arms)."""
        self.n_arms = self.tally.grow(n, prior, "MeanBelief")

    def state(self) -> dict[str, Any]:
        """What was seen, as plain JSON."""
        return {
            "belief": "MeanBelief",
            "n_arms": self.n_arms,
            "unseen": self.unseen,
            **self.tally.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        tally = Tally.read(state, "MeanBelief", self.n_arms, others=("unseen",))
        self.unseen = as_fraction(state["unseen"], "state['unseen']", low="[", high="]")
        self.tally = tally
