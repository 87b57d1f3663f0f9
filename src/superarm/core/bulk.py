"""What a belief may offer for many rounds at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray


@runtime_checkable
class WorksInBulk(Protocol):
    """A belief that samples and learns many rounds at a time; `EdgeBandit.ask_many` uses this."""

    def sample_top_many(
        self, n: int, k: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """Of each of n independent samples what ``sample_top`` returns: shape (n, k) each."""

    def update_many(
        self, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], *, rng: np.random.Generator
    ) -> None:
        """One ``update`` per row."""
