"""CUCB: upper confidence bounds instead of random draws.

Chen, Wang, Yuan: "Combinatorial multi-armed bandit: general framework, results and applications",
ICML 2013, has the bounds as they are. The journal version cuts them at 1 (Chen, Wang, Yuan, Wang:
"Combinatorial multi-armed bandit and its extension to probabilistically triggered arms", 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs import outcome_counts
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.core.arguments import FloatArray, as_count, as_flag, as_positive
from superarm.core.showing import one_line


class UCBBelief:
    """theta_i = min(1, mean_i + sqrt(exploration · ln t / n_i)), or 1 for an arm without outcomes.

    t is one more than the number of updates, and n_i the number of outcomes of arm i. Draws
    nothing: while many arms are at 1, the oracle's random tie-breaking chooses among them.
    ``sample`` costs O(n_arms) and ``update`` O(arms updated). Takes 16 bytes per arm, for the
    counts and sums in its `OutcomeCounts`, ``outcomes``.

    Parameters
    ----------
    n_arms
        How many arms there are.
    exploration
        The factor of ln t / n_i; 3/2 in the paper of CUCB.
    clip
        Cut bounds above 1 at 1. While most bounds are above 1, cut bounds are all equal and the
        choice is random; with False their order is kept. Since theta must be in [0, 1], they are
        all divided by the largest one then. For sums this changes no decision.

    Examples
    --------
    >>> belief = UCBBelief(3)
    >>> for _ in range(100):
    ...     belief.update([0], [0.25], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(4)  # 0.25 + sqrt(1.5 ln(101) / 100)
    array([0.5131, 1.    , 1.    ])
    """

    __repr__ = one_line

    def __init__(self, n_arms: int, exploration: float = 1.5, *, clip: bool = True) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.exploration = as_positive(exploration, "exploration")
        self.clip = as_flag(clip, "clip")
        self.outcomes = OutcomeCounts.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The upper confidence bounds, shape (n_arms,)."""
        counts, log_t = self.outcomes.counts, np.log(self.outcomes.rounds + 1)
        # sqrt(3 ln t / (2 n_i)) of the paper. An arm without outcomes is set to 1 below; the
        # maximum only keeps the division finite.
        width = np.sqrt(self.exploration * log_t / np.maximum(counts, 1))
        bounds = self.outcomes.mean() + width
        if not self.clip:
            bounds = _scaled(bounds, counts > 0)
        return np.where(counts > 0, np.minimum(1.0, bounds), 1.0)

    update = outcome_counts.update
    add_arms = outcome_counts.add_arms

    def state(self) -> dict[str, Any]:
        """The counts and the setting as plain JSON."""
        return self.outcomes.state("UCBBelief", exploration=self.exploration, clip=self.clip)

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        # Files that were saved before `clip` existed do not have it.
        state = {"clip": True, **state} if isinstance(state, dict) else state
        settings = ("exploration", "clip")
        outcomes = OutcomeCounts.from_state(state, "UCBBelief", self.n_arms, settings=settings)
        clip = as_flag(state["clip"], "state['clip']")
        self.exploration = as_positive(state["exploration"], "state['exploration']")
        self.clip = clip
        self.outcomes = outcomes


def _scaled(bounds: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """The bounds in [0, 1] with their order; an arm without outcomes stays above all others."""
    largest = bounds[seen].max(initial=0.0)
    # An arm that was never seen has an infinite bound. It gets 1, and all others less than 1/2.
    return bounds / max(1.0, largest if seen.all() else 2 * largest)
