"""Counts and sums of the outcomes of each arm, for beliefs that need nothing else.

`UCBBelief`, `KLUCBBelief` and `GaussianBelief` keep an `OutcomeCounts` as their attribute
``outcomes`` and take over the functions below as methods (``update = outcome_counts.update``).
`MeanBelief` shows the same methods written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_count, as_feedback, as_state
from superarm.core.states import as_numbers


@dataclass
class OutcomeCounts:
    """The number of outcomes of each arm, their sums, and the number of updates.

    Takes 16 bytes per arm.

    Attributes
    ----------
    counts, sums
        Shape (n_arms,): how many outcomes each arm had, and their sum.
    rounds
        How many updates had at least one outcome.

    Examples
    --------
    >>> outcomes = OutcomeCounts.empty(3)
    >>> outcomes.add([0, 2], [1.0, 0.5])
    >>> outcomes.add([0], [0.0])
    >>> outcomes.counts, outcomes.mean(), outcomes.rounds
    (array([2., 0., 1.]), array([0.5, 0. , 0.5]), 2)
    """

    counts: FloatArray
    sums: FloatArray
    rounds: int = 0

    @classmethod
    def empty(cls, n_arms: int) -> OutcomeCounts:
        """No outcomes yet."""
        return cls(np.zeros(n_arms), np.zeros(n_arms))

    def mean(self) -> FloatArray:
        """The means of the outcomes, 0 for arms without outcomes, shape (n_arms,)."""
        return self.sums / np.maximum(self.counts, 1)

    def add(self, arms: ArrayLike, outcomes: ArrayLike) -> None:
        """One more outcome for each of some distinct arms; O(arms)."""
        arms, outcomes = as_feedback(arms, outcomes, len(self.counts))
        self.counts[arms] += 1
        self.sums[arms] += outcomes
        # t of the confidence bounds: a round without feedback does not make them wider.
        self.rounds += len(arms) > 0

    def add_arms(self, n: int, prior: object, belief: str) -> int:
        """Append n arms without outcomes, and return the new number of arms.

        A prior is refused, because these beliefs have none per arm.
        """
        n = as_count(n, "n", least=1)
        if prior is not None:
            raise TypeError(
                f"a {belief} has no prior for each arm, got prior={prior!r}; leave it out"
            )
        self.counts = np.append(self.counts, np.zeros(n))
        self.sums = np.append(self.sums, np.zeros(n))
        return len(self.counts)

    def state(self, belief: str, **settings: Any) -> dict[str, Any]:
        """The state of a belief with these settings and counts, as plain JSON."""
        about = {"belief": belief, "n_arms": len(self.counts), **settings, "rounds": self.rounds}
        return {**about, "counts": as_numbers(self.counts), "sums": as_numbers(self.sums)}

    @classmethod
    def from_state(
        cls, state: Any, belief: str, n_arms: int, *, settings: tuple[str, ...]
    ) -> OutcomeCounts:
        """The counts in the state of a belief, which must have its settings as well."""
        arrays = as_state(
            state, belief, n_arms, arrays=("counts", "sums"), others=("rounds", *settings)
        )
        # Such a mean would be above 1, and every bound from it meaningless.
        if (arrays["sums"] > arrays["counts"]).any():
            raise ValueError(
                "state must have sums of outcomes in [0, 1], got a sum above its count"
            )
        return cls(arrays["counts"], arrays["sums"], as_count(state["rounds"], "state['rounds']"))


class HasOutcomes(Protocol):
    """A belief that keeps an `OutcomeCounts`."""

    n_arms: int
    outcomes: OutcomeCounts


def update(
    self: HasOutcomes, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator
) -> None:
    """Count the outcomes, and one more round; draws nothing."""
    self.outcomes.add(arms, outcomes)


def add_arms(self: HasOutcomes, n: int, prior: None = None) -> None:
    """Append n arms without outcomes. O(n_arms)."""
    self.n_arms = self.outcomes.add_arms(n, prior, type(self).__name__)
