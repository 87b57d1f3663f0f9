"""KL-UCB: the tightest upper confidence bounds for Bernoulli arms.

Garivier, Cappé: "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011. For
sets: Combes, Talebi, Proutière, Lelarge: "Combinatorial bandits revisited", NeurIPS 2015.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.beliefs import outcome_counts
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.core.arguments import FloatArray, as_count, as_finite
from superarm.core.showing import one_line
from superarm.theory.divergence import kl_upper


class KLUCBBelief:
    """theta_i = the largest q with n_i · kl(mean_i, q) <= ln t + c · ln ln t.

    An arm without outcomes has theta_i = 1. kl is the divergence between Bernoulli distributions, t
    is one more than the number of updates, and n_i the number of outcomes of arm i. Draws nothing.
    ``sample`` costs a handful of Newton steps over all arms and ``update`` O(arms updated). The
    `OutcomeCounts` ``outcomes`` takes 16 bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    c
        The factor of ln ln t, at least 0. The proofs use 3, and the authors recommend 0. Below
        t = e, ln ln t counts as 0.

    Examples
    --------
    >>> belief, rng = KLUCBBelief(3), np.random.default_rng(0)
    >>> for _ in range(100):
    ...     belief.update([0], [0.25], rng=rng)
    >>> belief.sample(rng=rng).round(4)  # tighter than the 0.5131 of `UCBBelief`
    array([0.394, 1.   , 1.   ])
    """

    __repr__ = one_line

    def __init__(self, n_arms: int, c: float = 0.0) -> None:
        self.n_arms, self.c = as_count(n_arms, "n_arms", least=1), _as_c(c, "c")
        self.outcomes = OutcomeCounts.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The upper confidence bounds, shape (n_arms,)."""
        log_t = math.log(self.outcomes.rounds + 1)
        # Early on ln ln t is negative, or not a number.
        level = log_t + self.c * math.log(max(log_t, 1.0))
        counts = self.outcomes.counts
        theta: FloatArray = np.ones(self.n_arms)
        seen = counts > 0
        theta[seen] = kl_upper(self.outcomes.mean()[seen], level / counts[seen])
        return theta

    update = outcome_counts.update
    add_arms = outcome_counts.add_arms

    def state(self) -> dict[str, Any]:
        """The counts and the setting as plain JSON."""
        return self.outcomes.state("KLUCBBelief", c=self.c)

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        outcomes = OutcomeCounts.from_state(state, "KLUCBBelief", self.n_arms, settings=("c",))
        self.c = _as_c(state["c"], "state['c']")
        self.outcomes = outcomes


def _as_c(c: Any, name: str) -> float:
    return float(as_finite([c], name, ndim=1, least=0.0)[0])
