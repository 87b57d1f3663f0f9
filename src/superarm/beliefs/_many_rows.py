"""Many rounds at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_feedback
from superarm.core.optional import SamplesTop

MOST_ARMS = 50_000  # with more arms, samples are drawn one by one


class Rows(NamedTuple):
    """The arms and outcomes of many rounds, one after the other, and how many each round has."""

    arms: IndexArray
    outcomes: FloatArray
    sizes: IndexArray

    @property
    def is_certain(self) -> bool:
        """Whether all outcomes are 0 or 1."""
        return bool(((self.outcomes == 0) | (self.outcomes == 1)).all())

    @classmethod
    def of(cls, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], n_arms: int) -> Rows:
        """Feedback of several rounds; refuses what ``update`` would refuse in one of them."""
        pairs = [as_feedback(*row, n_arms) for row in zip(arms, outcomes, strict=True)]
        sizes = np.array([len(row) for row, _ in pairs], np.intp)
        if not pairs:
            return cls(np.empty(0, np.intp), np.empty(0), sizes)
        numbers = np.concatenate([row for row, _ in pairs])
        return cls(numbers, np.concatenate([told for _, told in pairs]), sizes)


def one_by_one(
    belief: SamplesTop, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """What ``sample_top`` returns, for n samples."""
    rows = [belief.sample_top(k, rng=rng) for _ in range(n)]
    return np.array([arms for arms, _ in rows]), np.array([values for _, values in rows])
