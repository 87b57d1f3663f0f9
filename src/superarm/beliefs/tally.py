"""What was seen of each arm: the memory that beliefs other than the Beta one share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_count, as_feedback, as_state


@dataclass
class Tally:
    """How many outcomes each arm had, their sum, and the number of updates that said anything. 16 bytes an arm."""

    counts: FloatArray
    sums: FloatArray
    rounds: int = 0

    @classmethod
    def empty(cls, n_arms: int) -> Tally:
        """Nothing seen yet."""
        return cls(np.zeros(n_arms), np.zeros(n_arms))

    def mean(self) -> FloatArray:
        """The means of the outcomes, 0 where there were none, shape (n_arms,)."""
        return self.sums / np.maximum(self.counts, 1)

    def add(self, arms: ArrayLike, outcomes: ArrayLike) -> None:
        """One more outcome for each of some distinct arms; O(arms)."""
        arms, outcomes = as_feedback(arms, outcomes, len(self.counts))
        self.counts[arms] += 1
        self.sums[arms] += outcomes
        self.rounds += len(arms) > 0

    def grow(self, n: int, prior: object, belief: str) -> int:
        """Make room for n more arms, nothing seen of them yet; refuses a prior of their own. How many there are now."""
        n = as_count(n, "n", least=1)
        if prior is not None:
            raise TypeError(
                f"a {belief} has no prior for each arm, got prior={prior!r}; leave it out"
            )
        self.counts, self.sums = (
            np.append(self.counts, np.zeros(n)),
            np.append(self.sums, np.zeros(n)),
        )
        return len(self.counts)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {"rounds": self.rounds, "counts": self.counts.tolist(), "sums": self.sums.tolist()}

    @classmethod
    def read(cls, state: Any, belief: str, n_arms: int, *, others: tuple[str, ...]) -> Tally:
        """The tally in the state of a belief, which must also have the ``others``."""
        arrays = as_state(
            state, belief, n_arms, arrays=("counts", "sums"), others=("rounds", *others)
        )
        if (arrays["sums"] > arrays["counts"]).any():
            raise ValueError(
                "state must have sums of outcomes in [0, 1], got a sum above its count"
            )
        return cls(arrays["counts"], arrays["sums"], as_count(state["rounds"], "state['rounds']"))
