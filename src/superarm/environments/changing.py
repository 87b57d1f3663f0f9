"""Means that change abruptly, in rounds that are given in advance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_count, as_unit
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class ChangingArms:
    """Arm i gives X_i ~ Bern(mu_i), and mu changes in given rounds.

    Each pull is one round. An environment that is used again continues with the next round; make a
    new one to start from round 0. ``pull`` costs O(k) draws. Takes 8 bytes per arm and change.

    Parameters
    ----------
    schedule
        Pairs (first round, mu): from this round on the means are mu, shape (n_arms,), in [0, 1].
        The first pair is for round 0, and the rounds ascend.

    Attributes
    ----------
    rounds
        The number of pulls so far.

    Examples
    --------
    >>> environment = ChangingArms([(0, [0.0, 1.0]), (2, [1.0, 0.0])])
    >>> rng = np.random.default_rng(0)
    >>> [environment.pull([0, 1], rng=rng).tolist() for _ in range(4)]
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    __repr__ = one_line

    def __init__(self, schedule: Sequence[tuple[int, ArrayLike]]) -> None:
        pairs = [tuple(pair) for pair in schedule]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                f"schedule must be pairs (first round, mu), at least one, got {schedule!r}"
            )
        self._starts = [as_count(start, "a first round") for start, _ in pairs]
        if self._starts[0] != 0 or any(late <= early for early, late in pairwise(self._starts)):
            raise ValueError(f"first rounds must begin with 0 and ascend, got {self._starts}")
        self._means = [as_means(mu) for _, mu in pairs]
        for mu in self._means:
            as_unit(mu, "mu", self._means[0].shape)  # all of the same shape
        self.n_arms = len(self._means[0])
        self.rounds = 0

    @property
    def mu(self) -> FloatArray:
        """The means of the next pull, shape (n_arms,), read-only."""
        return self._means[int(np.searchsorted(self._starts, self.rounds, side="right")) - 1]

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, per arm."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
        # After the draw: a pull that was refused is not a round.
        self.rounds += 1
        return outcomes
