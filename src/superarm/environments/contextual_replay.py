"""Exact replay of a table of recorded outcomes whose rounds have contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_finite
from superarm.core.showing import one_line
from superarm.environments.replay import ReplayEnvironment


class ContextualReplay:
    """A `ReplayEnvironment` that shows what is known of a row before the row is played.

    `simulate` passes the contexts to the policy.

    Parameters
    ----------
    replay
        The table of outcomes.
    contexts
        Shape (n_rounds, c): the context of each row of the table.

    Examples
    --------
    >>> replay = ReplayEnvironment([[1, 0], [0, 1]])
    >>> environment = ContextualReplay(replay, [[0.5], [2.0]])
    >>> rng = np.random.default_rng(0)
    >>> environment.context(rng=rng), environment.pull([0], rng=rng)
    (array([0.5]), array([1.]))
    >>> environment.context(rng=rng), environment.pull([0], rng=rng)
    (array([2.]), array([0.]))
    """

    __repr__ = one_line

    def __init__(self, replay: ReplayEnvironment, contexts: ArrayLike) -> None:
        self.replay, self.contexts = replay, as_finite(contexts, "contexts", ndim=2)
        if len(self.contexts) != replay.n_rounds:
            raise ValueError(
                f"contexts must have one row for each of {replay.n_rounds} rows of the table, "
                f"got {len(self.contexts)}"
            )

    @property
    def n_arms(self) -> int:
        """How many arms it has."""
        return self.replay.n_arms

    def fresh(self) -> ContextualReplay:
        """A copy before its first pull, sharing the table; use one per run."""
        other: Any = object.__new__(ContextualReplay)  # the contexts are known to be valid
        other.replay, other.contexts = self.replay.fresh(), self.contexts
        return other

    def context(self, *, rng: np.random.Generator) -> FloatArray:
        """The context of the next row."""
        return self.contexts[self.replay.next_row(rng=rng)]

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """The cells of these arms in the next row, NaN where missing."""
        return self.replay.pull(arms, rng=rng)
