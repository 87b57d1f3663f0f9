"""CUCB: optimism in place of a draw.

Chen, Wang, Yuan: "Combinatorial multi-armed bandit: general framework, results and applications", ICML 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs.tally import Tally
from superarm.core.arguments import FloatArray, as_count, as_positive


class UCBBelief:
    """theta_i = min(1, mean_i + sqrt(exploration · ln t / n_i)), and 1 for an arm never told about.

    t is one more than the number of updates so far, n_i how often arm i was told about. Draws nothing: where many
    arms are at 1, the oracle's random tie-break chooses among them. ``sample`` costs O(n_arms), ``update`` O(arms
    told). 16 bytes an arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    exploration
        The factor of ln t / n_i; 3/2 in the paper of CUCB.

    Attributes
    ----------
    tally
        What was seen of each arm.

    Examples
    --------
    >>> belief = UCBBelief(3)
    >>> for _ in range(100):
    ...     belief.update([0], [0.25], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(4)  # 0.25 + sqrt(1.5 ln(101) / 100)
    array([0.5131, 1.    , 1.    ])
    """

    def __init__(self, n_arms: int, exploration: float = 1.5) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.exploration = as_positive(exploration, "exploration")
        self.tally = Tally.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The upper confidence bounds."""
        counts = self.tally.counts
        width = np.sqrt(self.exploration * np.log(self.tally.rounds + 1) / np.maximum(counts, 1))
        return np.where(counts > 0, np.minimum(1.0, self.tally.mean() + width), 1.0)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Add the outcomes to what was seen, and count a round; draws nothing."""
        self.tally.add(arms, outcomes)

    def add_arms(self, n: int, prior: None = None) -> None:
        """Make room for n more arms, which come last, with nothing seen of them. O(n_arms)."""
        self.n_arms = self.tally.grow(n, prior, "UCBBelief")

    def state(self) -> dict[str, Any]:
        """What was seen, as plain JSON."""
        return {
            "belief": "UCBBelief",
            "n_arms": self.n_arms,
            "exploration": self.exploration,
            **self.tally.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        tally = Tally.read(state, "UCBBelief", self.n_arms, others=("exploration",))
        self.exploration = UCBBelief(self.n_arms, exploration=state["exploration"]).exploration
        self.tally = tally
