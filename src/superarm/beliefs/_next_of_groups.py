"""The next samples of `TopOfGroups` at once, by few calls of numpy: same law, other draws.

How much is drawn depends on values alone, and not on which of them are computed besides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superarm.beliefs._first_arms import FirstArms
from superarm.beliefs._large_of_samples import LargeOfSamples
from superarm.beliefs._members import Members
from superarm.beliefs._scores import largest_score
from superarm.beliefs._tails import LargeValues
from superarm.beliefs._top_of_groups import TopOfGroups
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import ndtri_exp

_BLOCK = 1 << 20  # scores at a time, to bound the memory
_AT_ONCE = 4  # arms of a group that may have more, then 16, and so on: each round takes time


def next_of_groups(
    top: TopOfGroups, large: LargeValues, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """What ``top.draw`` returns, for n independent samples: shape (n, k) each."""
    # Where arms of a group differ, one after the other is drawn.
    first = FirstArms.of(top.groups.sizes(), k if top.posteriors is None else 1)
    of_all = LargeOfSamples(large, first.group, n * k)
    n_rows = max(1, _BLOCK // len(first.group))
    parts = [
        Samples(top, of_all, min(n_rows, n - start), k, rng).draw(first)
        for start in range(0, n, n_rows)
    ]
    arms, values = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    order = np.arange(n)[:, None], arms.argsort(axis=1)
    return arms[order], values[order]


class Found(NamedTuple):
    """Arms of samples whose values are known, shape (n_found,) each.

    Attributes
    ----------
    row, group, values
        The sample, the group, and the value.
    arms
        The arm, if that matters; otherwise it is drawn in the end.
    """

    row: IndexArray
    group: IndexArray
    values: FloatArray
    arms: IndexArray

    def at(self, places: IndexArray) -> Found:
        """Some of them."""
        row, group, values, arms = self
        return Found(row.take(places), group.take(places), values.take(places), arms.take(places))

    @classmethod
    def joined(cls, parts: list[Found]) -> Found:
        """All of several."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))


class Open(NamedTuple):
    """Groups of samples that may have more of the largest values, shape (n_open,) each.

    Attributes
    ----------
    row, group
        The sample, and the group.
    log_u, n_drawn
        The logarithm of Phi of the last own score, and how many arms were drawn.
    bounds
        What bounds the value of the last arm.
    """

    row: IndexArray
    group: IndexArray
    log_u: FloatArray
    n_drawn: IndexArray
    bounds: FloatArray


class Samples:
    """The k largest values of each of n samples.

    As in `TopOfGroups`, the arms of a group are drawn in the order of their own scores. After the
    first ones, another arm of a group is drawn only if the one before it may be among the k largest
    values so far.
    """

    def __init__(
        self, top: TopOfGroups, large: LargeOfSamples, n: int, k: int, rng: np.random.Generator
    ) -> None:
        self._top, self._large, self._n, self._k, self._rng = top, large, n, k, rng
        self._sizes, self._members = top.groups.sizes(), Members(top.groups)
        self._common = top.scores.common_std * rng.standard_normal(n)
        self._found, self._is_sorted = list[Found](), False
        self._level = np.full(n, -np.inf)  # the k-th largest value of each sample so far

    def draw(self, first: FirstArms) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, the largest first, and these values: (n, k) each."""
        open, most = self._first(first), _AT_ONCE
        while len(open.row):
            open, most = self._next(open, min(most, self._k)), _AT_ONCE * most
        best = self._best()
        arms = best.arms
        if self._top.posteriors is None:
            arms = self._members.next(best.row, best.group, self._rng.random(len(arms)))
        return arms.reshape(self._n, self._k), best.values.reshape(self._n, self._k)

    def _first(self, first: FirstArms) -> Open:
        """The first arms of all groups, as far as they matter."""
        n_known, k = min(self._k, len(first.group)), self._k
        own, log_u = first.draw(self._n, rng=self._rng)
        which = self._uniform(own.shape)
        scores = self._scores(first.group, own, self._common[:, None])
        row = np.arange(self._n).repeat(n_known)
        column = self._large.guessed(scores, n_known).ravel()
        values = self._find(
            row, first.group.take(column), scores[row, column], _at(which, row, column)
        )
        if n_known >= k:
            # Any k values bound the k-th largest value from below.
            self._level = values.reshape(self._n, n_known).min(axis=1)
        if n_known < len(first.group):
            new = self._large.others(scores, self._level, (row, column))
            if len(new[0]):
                more = self._find(new[0], first.group.take(new[1]), scores[new], _at(which, *new))
                row, column = np.concatenate([row, new[0]]), np.concatenate([column, new[1]])
                values = np.concatenate([values, more])
                self._sort()
        last = first.is_last.take(column).nonzero()[0]
        row, column = row.take(last), column.take(last)
        group = first.group.take(column)
        bounds = self._bounds(group, scores[row, column], values.take(last))
        log_u, n_drawn = log_u[row, first.place.take(column)], first.n_drawn.take(column)
        return self._still_open(Open(row, group, log_u, n_drawn, bounds))

    def _next(self, open: Open, most: int) -> Open:
        """Up to ``most`` more arms of some groups. Returns the groups that may have even more."""
        left = (self._sizes[open.group] - open.n_drawn)[:, None] - np.arange(most)
        steps = np.log1p(-self._rng.random(left.shape)) / np.maximum(left, 1)
        log_u = open.log_u[:, None] + steps.cumsum(axis=1)
        which = self._uniform(left.shape)
        entry, place = (left > 0).nonzero()
        row, group = open.row.take(entry), open.group.take(entry)
        scores = self._scores(group, ndtri_exp(log_u[entry, place]), self._common.take(row))
        kept = self._large.above(group, scores, self._level.take(row))
        row, group, scores = row.take(kept), group.take(kept), scores.take(kept)
        entry, place = entry.take(kept), place.take(kept)
        values = self._find(row, group, scores, _at(which, entry, place))
        self._sort()
        last = ((place == most - 1) & (left[entry, -1] > 1)).nonzero()[0]
        row, group, entry = row.take(last), group.take(last), entry.take(last)
        bounds = self._bounds(group, scores.take(last), values.take(last))
        n_drawn = open.n_drawn.take(entry) + most
        return self._still_open(Open(row, group, log_u[entry, -1], n_drawn, bounds))

    def _find(
        self, row: IndexArray, group: IndexArray, scores: FloatArray, which: FloatArray | None
    ) -> FloatArray:
        """Compute the values of some more arms."""
        if which is None or self._top.posteriors is None:
            arms, values = row, self._large.values(group, scores)
        else:
            arms = self._members.next(row, group, which)
            values = self._top.posteriors(arms).at(scores)
        new = (values >= self._level.take(row)).nonzero()[0]
        if len(new):
            self._found.append(Found(row, group, values, arms).at(new))
        return values

    def _bounds(self, group: IndexArray, scores: FloatArray, values: FloatArray) -> FloatArray:
        if self._top.posteriors is None:
            return values
        # By the same function as values of arms: equal ones have to be equal in all digits.
        return self._top.bounds.of(group).at(scores)

    def _sort(self) -> Found:
        """What was found by samples, the largest values first; sets the k-th largest values."""
        if len(self._found) == 1 and self._is_sorted:
            return self._found[0]
        found = Found.joined(self._found)
        found = found.at(np.lexsort((found.group, -found.values, found.row)))
        n_found = np.bincount(found.row, minlength=self._n)
        starts, is_full = n_found.cumsum() - n_found, n_found >= self._k
        self._level = np.full(self._n, -np.inf)
        self._level[is_full] = found.values.take(starts[is_full] + self._k - 1)
        self._found, self._is_sorted = [found], True
        return found

    def _still_open(self, open: Open) -> Open:
        """The groups whose last bounds are among the k largest values, by samples and groups."""
        level = self._level.take(open.row)
        # Among equal values, it does not matter which ones are drawn: take the first.
        is_open = (open.bounds > level) | ((open.bounds == level) & (open.n_drawn < self._k))
        of = is_open.nonzero()[0]
        of = of[np.lexsort((open.group.take(of), open.row.take(of)))]
        return Open(*[column.take(of) for column in open])

    def _best(self) -> Found:
        """The k largest values of each sample, the largest first, and equal ones at random."""
        found = self._sort()
        found = found.at((found.values >= self._level.take(found.row)).nonzero()[0])
        if len(found.row) > self._n * self._k:
            ties = self._rng.random(len(found.row))
            found = found.at(np.lexsort((ties, -found.values, found.row)))
            starts = np.searchsorted(found.row, np.arange(self._n))
            found = found.at((starts[:, None] + np.arange(self._k)).ravel())
        return found

    def _uniform(self, shape: tuple[int, ...]) -> FloatArray | None:
        """What tells which arms they are, where arms of a group differ."""
        return None if self._top.posteriors is None else self._rng.random(shape)

    def _scores(self, group: IndexArray, own: FloatArray, common: FloatArray) -> FloatArray:
        """The scores of arms of groups, the last axis, from own scores and common ones."""
        top = self._top
        held = top.held.take(group).nonzero()[0]
        if len(held):
            own[..., held] = largest_score(top.groups.n_arms)
        # An own score may be infinite, with the probability of a uniform number of exactly 0.
        own = top.scores.own_std * own if top.scores.own_std > 0 else np.zeros(own.shape)
        own += top.shift.take(group)
        own += common
        return own


def _at(table: FloatArray | None, row: IndexArray, column: IndexArray) -> FloatArray | None:
    return None if table is None else table[row, column]
