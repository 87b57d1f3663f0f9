"""What a belief may offer for some or many rounds at a time."""

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
        """What ``sample_top`` returns, for each of n independent samples: shape (n, k) each."""

    def update_many(
        self, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], *, rng: np.random.Generator
    ) -> None:
        """One ``update`` per row."""


@runtime_checkable
class SamplesTops(Protocol):
    """A belief that draws the next few samples at once; `superarm.sessions.each.ask_each` uses it.

    `WorksInBulk` begins afresh in each call, which pays for hundreds of samples. This one uses what
    ``sample_top`` keeps, and pays from a few samples on.
    """

    def sample_tops(
        self, n: int, k: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The same in law as n calls of ``sample_top``: shape (n, k) each."""
