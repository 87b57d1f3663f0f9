"""Which groups of arms have large values, without computing the values of the others.

A value is the quantile of a posterior at a score, and quantiles are expensive. It is above a level
exactly if the score is above a critical score, which depends on the posterior and on the level
alone. So critical scores are kept from round to round, and only the groups above a level need their
values: those of the other groups are lower.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._bounds import Bounds, has_tie
from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._scores import MixedPosteriors
from superarm.core.arguments import FloatArray, IndexArray

_STEP = 0.0025  # between levels, in logits
_FIRST_STEP, _MOST_TRIES = 8, 12  # of the search for a level
_COMMON_STEP = 0.1  # scores in common that differ by less begin with the same level
_PER_PLACE = 3  # groups above a level per place of the set
_FEW_UNKNOWN = 8  # groups without critical scores that may take part in every round
# Critical scores and values are exact up to these.
_SCORE_SLACK, _VALUE_SLACK = 1e-6, 1e-9
_MOST_NUMBERS = 1 << 21  # in memory, for all levels


class Levels:
    """Critical scores of groups at some levels, kept from round to round.

    What is found does not depend on what is kept.
    """

    def __init__(self) -> None:
        self._known_for: object = None
        self._critical: dict[int, FloatArray] = {}  # by level: two numbers per number of a group
        self._begin: dict[int, int] = {}  # the level to begin with, by score in common
        self._last = 0

    def of(
        self,
        groups: EqualArms,
        version: object,
        posteriors: MixedPosteriors,
        scores: FloatArray,
    ) -> GroupsAbove:
        """The groups above any level, for their posteriors and scores.

        ``version`` is what posteriors follow from, besides the key of a group.
        """
        known_for = version, groups.numbering
        if known_for != self._known_for:
            self._known_for = known_for
            self._critical.clear()
        return GroupsAbove(self, groups, posteriors, scores)

    def begin(self, common: float) -> int:
        """The number of the level to begin with, for a score in common."""
        return self._begin.get(round(common / _COMMON_STEP), self._last)

    def end(self, common: float, number: int) -> None:
        """The level that was right."""
        self._begin[round(common / _COMMON_STEP)] = self._last = number

    def room(self, number: int, n_numbers: int) -> FloatArray:
        """Where the critical scores of a level are kept: NaN where they are not known."""
        known = self._critical.get(number)
        if known is not None and known.shape[1] >= n_numbers:
            return known
        room = np.full((2, 2 * n_numbers), np.nan)
        if known is not None:
            room[:, : known.shape[1]] = known
        self._critical[number] = room
        while len(self._critical) > 1 and len(self._critical) * room.size > _MOST_NUMBERS:
            del self._critical[next(iter(self._critical))]
        return room


class GroupsAbove:
    """The groups whose values may be above a level, in one round.

    Attributes
    ----------
    posteriors, scores
        Those of all groups.
    """

    def __init__(
        self, levels: Levels, groups: EqualArms, posteriors: MixedPosteriors, scores: FloatArray
    ) -> None:
        self._levels, self._groups, self._numbers = levels, groups, groups.numbers()
        self.posteriors, self.scores = posteriors, scores
        self._lifted = scores + posteriors.lift

    def at_least(self, k: int, common: float) -> SomeBounds | None:
        """Values of a few groups, at least k of them above a level that no other group is above.

        None if no such level was found, or if there are ties among the first k + 1.
        """
        number, among, critical = self._find(k, common)
        if len(among) < k:
            return None
        values = self.posteriors.of(among).at(self.scores.take(among))
        order = (-values).argsort()[: k + 1]
        best = values.take(order)
        # Groups without critical scores need not be above the level.
        is_level = best.item(k - 1) > level_of(number)
        self._levels.end(common, number if is_level else number - _FIRST_STEP)
        if not is_level or has_tie(best):
            return None
        return SomeBounds(self, number, critical, among, values, among.take(order[:k]))

    def _find(self, k: int, common: float) -> tuple[int, IndexArray, FloatArray]:
        """The number of a level that at least k groups may be above, and what `above` returns."""
        number, step = self._levels.begin(common), _FIRST_STEP
        low: int | None = None  # many are above it
        high: int | None = None  # too few are above it
        found = number, np.empty(0, np.intp), np.empty(0)
        for _ in range(_MOST_TRIES):
            among, critical = self.above(number)
            if len(among) < k:
                high = number
            else:
                low, found = number, (number, among, critical)
                if len(among) <= _PER_PLACE * k + _FEW_UNKNOWN:
                    break
            if low is None or high is None:
                number, step = number + (step if high is None else -step), 2 * step
            elif high - low > 1:
                number = (low + high) // 2
            else:
                break
        return found

    def above(self, number: int) -> tuple[IndexArray, FloatArray]:
        """The groups that may be above a level, ascending, and the critical scores of all."""
        critical = self._critical(number)
        # Not a number where a group is new: it takes part.
        below = self.scores <= critical[0]
        below &= self._lifted <= critical[1]
        return (~below).nonzero()[0], critical

    def _critical(self, number: int) -> FloatArray:
        """The critical scores at a level, shape (2, n_groups); NaN for a few new groups."""
        known, numbers = self._levels.room(number, self._groups.n_numbers), self._numbers
        critical = known.take(numbers, axis=1)
        unknown = np.isnan(critical[0]).nonzero()[0]
        if len(unknown) > _FEW_UNKNOWN:
            found = np.array(self.posteriors.of(unknown).critical(level_of(number) - _VALUE_SLACK))
            found -= _SCORE_SLACK
            critical[:, unknown] = known[:, numbers.take(unknown)] = found
        return critical


class SomeBounds(Bounds):
    """The bounds of groups above a level, and those of other groups as soon as they are needed."""

    def __init__(
        self,
        above: GroupsAbove,
        number: int,
        critical: FloatArray,
        among: IndexArray,
        values: FloatArray,
        first: IndexArray,
    ) -> None:
        bounds = np.full(len(above.scores), -math.inf)
        bounds[among] = values
        super().__init__(above.posteriors, above.scores, bounds, first, True)
        self._above, self._number, self._critical, self._known = above, number, critical, among

    def is_low(self, group: int, score: float) -> bool:
        lifted = score + self._above.posteriors.lift.item(group)
        critical = self._critical
        return score <= critical.item(0, group) and lifted <= critical.item(1, group)

    def promising(self, level: float, n_drawn: FloatArray, k: int) -> IndexArray:
        if level <= level_of(self._number):
            # Values of arms are below the bounds of their groups where outcomes are measured.
            self._number = number_below(level)
            among, self._critical = self._above.above(self._number)
            new = np.setdiff1d(among, self._known, assume_unique=True)
            self.change(new, self.scores.take(new))
            self._known = np.union1d(among, self._known)
        return super().promising(level, n_drawn, k)


def level_of(number: int) -> float:
    """The level with a number."""
    return 1 / (1 + math.exp(-_STEP * number))


def number_below(value: float) -> int:
    """The number of a level below a value."""
    inside = min(max(value - _VALUE_SLACK, _VALUE_SLACK), 1 - _VALUE_SLACK)
    return math.floor(math.log(inside / (1 - inside)) / _STEP) - 1
