"""Arms that trigger other arms.

Probabilistically triggered arms: Chen, Wang, Yuan, Wang: "Combinatorial multi-armed bandit and its
extension to probabilistically triggered arms", JMLR 2016. Thompson sampling for it: Hüyük, Tekin,
AISTATS 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_finite, as_unit
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class TriggeredArms:
    """Pulling arm i triggers arm j with probability P[i, j]; outcomes of triggered arms are seen.

    An arm is triggered if any arm of the set triggers it, each independently; it may be inside or
    outside the set. It succeeds with probability mu_j, whatever triggered it. So the outcomes that
    are seen are Bern(mu_j), and `BetaBelief`, updated with all triggered arms, is the right belief:
    ``observe`` returns these arms, and `simulate` calls ``observe``. A reward depends on the arms
    of its set only: outcomes outside the set are information without value.

    A round makes two draws per arm and takes O(k · n_arms) time. Takes 8 · n_arms² bytes.

    Parameters
    ----------
    mu
        Shape (n_arms,): the probability that a triggered arm succeeds, in [0, 1]. Kept as a
        read-only copy.
    P
        Shape (n_arms, n_arms), in [0, 1]: P[i, j] is the probability that arm i of a set triggers
        arm j. With ones on the diagonal, the outcomes of all pulled arms are seen.

    Examples
    --------
    >>> environment = TriggeredArms([0.0, 1.0, 1.0], P=[[1, 0, 1], [0, 0, 0], [0, 0, 1]])
    >>> rng = np.random.default_rng(0)
    >>> environment.observe([0, 1], rng=rng)  # arm 0 triggers itself and arm 2, arm 1 nothing
    (array([0, 2]), array([0., 1.]))
    >>> environment.pull([0, 1], rng=rng)
    array([ 0., nan])
    """

    __repr__ = one_line

    def __init__(self, mu: ArrayLike, P: ArrayLike) -> None:
        self.mu: FloatArray = as_means(mu)
        self.n_arms = len(self.mu)
        self.P: FloatArray = as_unit(as_finite(P, "P", ndim=2), "P", (self.n_arms, self.n_arms))
        self.P.flags.writeable = False

    def observe(
        self, arms: ArrayLike, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The triggered arms, ascending, and one outcome, 0 or 1, for each."""
        arms = as_arms(arms, self.n_arms)
        # An arm is not triggered only if every arm of the set fails to trigger it.
        chances = 1 - np.prod(1 - self.P[arms], axis=0)
        # Both draws are made for all arms, so that the stream does not depend on what is triggered.
        triggered = np.flatnonzero(rng.random(self.n_arms) < chances)
        return triggered, (rng.random(self.n_arms) < self.mu)[triggered].astype(np.float64)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, per triggered arm of the set; NaN for its other arms."""
        arms = as_arms(arms, self.n_arms)
        triggered, seen = self.observe(arms, rng=rng)
        outcomes = np.full(self.n_arms, np.nan)
        outcomes[triggered] = seen
        return outcomes[arms]
