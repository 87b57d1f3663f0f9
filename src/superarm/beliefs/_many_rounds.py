"""Many rounds at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_feedback
from superarm.core.optional import SamplesTop

MOST_ARMS = 50_000  # with more arms, samples are drawn one by one


class Rounds(NamedTuple):
    """The arms and outcomes of many rounds, one after the other, and how many each round has."""

    arms: IndexArray
    outcomes: FloatArray
    sizes: IndexArray

    @property
    def is_certain(self) -> bool:
        """Whether all outcomes are 0 or 1."""
        return bool(((self.outcomes == 0) | (self.outcomes == 1)).all())

    @classmethod
    def of(cls, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], n_arms: int) -> Rounds:
        """Feedback of several rounds; refuses what ``update`` would refuse in one of them."""
        if found := cls._of_lists(arms, outcomes, n_arms):
            return found
        pairs = [as_feedback(*row, n_arms) for row in zip(arms, outcomes, strict=True)]
        sizes = np.array([len(row) for row, _ in pairs], np.intp)
        if not pairs:
            return cls(np.empty(0, np.intp), np.empty(0), sizes)
        numbers = np.concatenate([row for row, _ in pairs])
        return cls(numbers, np.concatenate([told for _, told in pairs]), sizes)

    @classmethod
    def _of_lists(
        cls, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], n_arms: int
    ) -> Rounds | None:
        """Feedback in lists of numbers, all checked at once; None if one may be refused."""
        lists: tuple[Any, Any] = arms, outcomes
        if not all(type(row) is list for given in lists for row in given):
            return None
        sizes = np.array([len(row) for row in lists[0]], np.intp)
        numbers, told = (np.array(list(chain.from_iterable(given))) for given in lists)
        if numbers.dtype != np.intp or told.dtype != np.float64 or len(numbers) != sizes.sum():
            return None
        # Arms must be distinct in each row.
        keys = np.repeat(np.arange(len(sizes)) * n_arms, sizes) + numbers
        fits = (
            [len(row) for row in lists[1]] == sizes.tolist()
            and numbers.min() >= 0
            and numbers.max() < n_arms
            and len(np.unique(keys)) == len(keys)
            and bool(((told >= 0) & (told <= 1)).all())
        )
        return cls(numbers, told, sizes) if fits else None


def one_by_one(
    belief: SamplesTop, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """What ``sample_top`` returns, for n samples."""
    rows = [belief.sample_top(k, rng=rng) for _ in range(n)]
    return np.array([arms for arms, _ in rows]), np.array([values for _, values in rows])
