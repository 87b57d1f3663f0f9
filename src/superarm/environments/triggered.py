"""Arms that set off other arms.

Probabilistically triggered arms: Chen, Wang, Yuan, Wang: "Combinatorial multi-armed bandit and its extension to
probabilistically triggered arms", JMLR 2016. Thompson sampling for it: Hüyük, Tekin, AISTATS 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_finite, as_unit


class TriggeredArms:
    """Pulling arm i triggers arm j with chance P[i, j]; what is triggered, inside the set or outside, is seen.

    An arm is triggered if any arm of the set triggers it, each independently, and succeeds with chance mu_j whatever
    triggered it. So outcomes that are seen are Bern(mu_j), and the right belief is the plain one, `BetaBelief`, told
    of all that was triggered: ``observe`` says it, and `simulate` asks for it. A reward is about the arms of its set,
    so what happens outside teaches something and is worth nothing.

    A round draws twice for every arm, O(k · n_arms) time; 8 · n_arms² bytes.

    Parameters
    ----------
    mu
        Shape (n_arms,): the chance that an arm that is triggered succeeds, in [0, 1]. Kept as a read-only copy.
    P
        Shape (n_arms, n_arms), in [0, 1]: P[i, j] is the chance that arm i of a set triggers arm j. Ones on the
        diagonal mean that an arm that is pulled is always seen.

    Examples
    --------
    >>> world = TriggeredArms([0.0, 1.0, 1.0], P=[[1, 0, 1], [0, 0, 0], [0, 0, 1]])
    >>> world.observe([0, 1], rng=np.random.default_rng(0))  # arm 0 triggers itself and arm 2, arm 1 nothing
    (array([0, 2]), array([0., 1.]))
    >>> world.pull([0, 1], rng=np.random.default_rng(0))
    array([ 0., nan])
    """

    def __init__(self, mu: ArrayLike, P: ArrayLike) -> None:
        given, matrix = as_finite(mu, "mu", ndim=1), as_finite(P, "P", ndim=2)
        self.mu: FloatArray = as_unit(given, "mu", given.shape)
        self.n_arms = len(self.mu)
        self.P: FloatArray = as_unit(matrix, "P", (self.n_arms, self.n_arms))
        self.mu.flags.writeable = self.P.flags.writeable = False

    def observe(
        self, arms: ArrayLike, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The arms that a pull of these triggers, ascending, and one outcome, 0 or 1, for each."""
        arms = as_arms(arms, self.n_arms)
        chances = 1 - np.prod(1 - self.P[arms], axis=0)
        triggered = np.flatnonzero(rng.random(self.n_arms) < chances)
        return triggered, (rng.random(self.n_arms) < self.mu)[triggered].astype(np.float64)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, for each arm that is triggered; NaN for the others. Nothing of arms outside."""
        arms = as_arms(arms, self.n_arms)
        triggered, did = self.observe(arms, rng=rng)
        outcomes = np.full(self.n_arms, np.nan)
        outcomes[triggered] = did
        return outcomes[arms]
