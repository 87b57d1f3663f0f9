"""What bounds the values of arms in groups."""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._scores import AtScores
from superarm.core.arguments import FloatArray, IndexArray


class Bounds:
    """What bounds the values of the arms that are left in each group.

    Attributes
    ----------
    posteriors, scores
        Shape (n_groups,): the posteriors of groups, and the largest scores of arms that are left.
    values
        Shape (n_groups,): the values there; -inf for groups without arms, or that are not needed.
    first, is_strict
        Up to k groups to begin with, and whether these are k groups, the largest bound first, and
        all other bounds are lower.
    """

    def __init__(
        self,
        posteriors: AtScores,
        scores: FloatArray,
        values: FloatArray,
        first: IndexArray,
        is_strict: bool,
    ) -> None:
        self.posteriors, self.scores = posteriors, scores
        self.values, self.first, self.is_strict = values, first, is_strict

    @classmethod
    def of_all(cls, posteriors: AtScores, scores: FloatArray, k: int) -> Bounds:
        """The bounds of all groups."""
        values = posteriors.at(scores)
        first, is_strict = largest(np.arange(len(values)), values, k)
        return cls(posteriors, scores, values, first, is_strict)

    def use_up(self, of: IndexArray) -> None:
        """Some groups have no arms, until they `change`."""
        self.values[of] = -math.inf

    def change(self, of: IndexArray, scores: FloatArray) -> None:
        """Some groups have other scores from now on."""
        self.scores[of], self.values[of] = scores, self.posteriors.of(of).at(scores)

    def promising(self, level: float, n_drawn: FloatArray, k: int) -> IndexArray:
        """Up to k groups whose bounds are above the level, or equal to it."""
        # Among equal values, it does not matter which come first. While the level is
        # -inf, groups that are used up draw in vain: the streams that were recorded contain it.
        of = (self.values >= level).nonzero()[0]
        if len(of):
            of = of[(self.values.take(of) > level) | (n_drawn.take(of) < k)]
        return largest(of, self.values.take(of), k)[0]


def has_tie(ordered: FloatArray) -> bool:
    """Whether two neighbours are equal."""
    return bool((ordered[1:] == ordered[:-1]).any())


def largest(of: IndexArray, values: FloatArray, k: int) -> tuple[IndexArray, bool]:
    """The places of the k largest values, the largest first, and whether the order is strict.

    All places, as they are, if there are no more than k. With ties among the first k + 1, the order
    depends on the processor.
    """
    if len(of) <= k:
        return of, False
    order = (-values).argsort()[: k + 1]
    if has_tie(values.take(order)):
        # The streams that were recorded contain this order.
        return of.take(np.argpartition(-values, k)[:k]), False
    return of.take(order[:k]), True
