"""Means that change at once, in rounds that are known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_count, as_finite, as_unit


class ChangingArms:
    """Arm i gives X_i ~ Bern(mu_i), and from certain rounds on the means are others.

    A pull is a round. The world goes on where it is when it is used again; to begin anew, make a fresh one. ``pull``
    costs O(k) draws; 8 bytes an arm for each of the means.

    Parameters
    ----------
    schedule
        Pairs (first round, mu): from this round on the means are mu, shape (n_arms,), in [0, 1]. Rounds count from 0,
        where the first pair begins, and ascend.

    Attributes
    ----------
    rounds
        How often it has been pulled.

    Examples
    --------
    >>> world, rng = ChangingArms([(0, [0.0, 1.0]), (2, [1.0, 0.0])]), np.random.default_rng(0)
    >>> [world.pull([0, 1], rng=rng).tolist() for _ in range(4)]
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    def __init__(self, schedule: Sequence[tuple[int, ArrayLike]]) -> None:
        pairs = [tuple(pair) for pair in schedule]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                f"schedule must be pairs (first round, mu), at least one, got {schedule!r}"
            )
        starts = [as_count(start, "a first round") for start, _ in pairs]
        if starts[0] != 0 or any(late <= early for early, late in pairwise(starts)):
            raise ValueError(f"first rounds must begin with 0 and ascend, got {starts}")
        worlds = [as_finite(mu, "mu", ndim=1) for _, mu in pairs]
        for mu in worlds:
            as_unit(mu, "mu", worlds[0].shape)
            mu.flags.writeable = False
        self.n_arms = len(worlds[0])
        self.rounds = 0
        self._starts, self._worlds = starts, worlds

    @property
    def mu(self) -> FloatArray:
        """The means of the coming pull, shape (n_arms,), read-only."""
        return self._worlds[int(np.searchsorted(self._starts, self.rounds, side="right")) - 1]

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, for each arm."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
        self.rounds += 1
        return outcomes
