"""What environments may offer beyond `protocols`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray


@runtime_checkable
class Observes(Protocol):
    """An environment that also shows outcomes of arms that were not pulled."""

    def observe(
        self, arms: ArrayLike, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The arms whose outcomes are seen, and one outcome for each; used instead of ``pull``."""


@runtime_checkable
class KnownMeans(Protocol):
    """An environment whose true means are known, so that regret can be computed."""

    @property
    def mu(self) -> FloatArray:
        """Shape (n_arms,): the true means now; a new array when they change."""


@runtime_checkable
class KnownBest(Protocol):
    """An environment whose best value is known."""

    @property
    def best_value(self) -> float:
        """The value of the best set now."""


@runtime_checkable
class Expects(Protocol):
    """An environment whose outcomes do not average to ``mu``, as with position bias."""

    def expected(self, arms: ArrayLike) -> FloatArray:
        """The mean outcome of each arm that is seen, when these arms are pulled in this order."""
