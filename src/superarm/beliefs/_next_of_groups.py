"""The next samples of `TopOfGroups` at once, by few calls of numpy: same law, other draws.

How much is drawn depends on values alone, and not on which of them are computed besides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from superarm.beliefs._large_of_samples import LargeOfSamples
from superarm.beliefs._members import Members
from superarm.beliefs._scores import largest_score
from superarm.beliefs._tails import LargeValues
from superarm.beliefs._top_of_groups import TopOfGroups
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import ndtri_exp

_MORE = 1  # groups more than k whose values are computed in any case
_BLOCK = 1 << 20  # scores at a time, to bound the memory
_ALL = slice(None)


def next_tops(
    top: TopOfGroups, large: LargeValues, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """What ``top.draw`` returns, for n independent samples: shape (n, k) each."""
    n_rows = max(1, _BLOCK // len(top.shift))
    of_all, starts = LargeOfSamples(large), range(0, n, n_rows)
    parts = [Samples(top, of_all, min(n_rows, n - start), k, rng).draw() for start in starts]
    arms, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.arange(n)[:, None], arms.argsort(axis=1)
    return arms[order], values[order]


class Found(NamedTuple):
    """Arms of samples, shape (n_found,) each: the sample, the group, the value, and the arm."""

    row: IndexArray
    group: IndexArray
    values: FloatArray
    arms: IndexArray

    def at(self, places: IndexArray) -> Found:
        """Some of them."""
        return Found(*[column.take(places) for column in self])

    @classmethod
    def joined(cls, parts: list[Found]) -> Found:
        """All of several."""
        return cls(*[np.concatenate(columns) for columns in zip(*parts, strict=True)])


class Open(NamedTuple):
    """Groups of samples that may have more of the largest values, shape (n_open,) each.

    Attributes
    ----------
    row, group
        The sample, and the group.
    log_u, n_drawn
        The logarithm of Phi of the last own score, and how many arms were drawn.
    """

    row: IndexArray
    group: IndexArray
    log_u: FloatArray
    n_drawn: IndexArray


class Samples:
    """The k largest values of each of n samples.

    As in `TopOfGroups`, the arms of a group are drawn in the order of their own scores. Another arm
    of a group is drawn only if the one before it may be among the k largest values so far.
    """

    def __init__(
        self, top: TopOfGroups, large: LargeOfSamples, n: int, k: int, rng: np.random.Generator
    ) -> None:
        self._top, self._large, self._k, self._rng = top, large, k, rng
        self._sizes, self._n = top.groups.sizes(), n
        self._common = top.scores.common_std * rng.standard_normal(n)
        self._members = Members(top.groups)
        self._found: list[Found] = []
        self._level = np.full(n, -np.inf)  # the k-th largest value of each sample so far

    def draw(self) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, the largest first, and these values: (n, k) each."""
        open, most = self._first(), max(1, self._k // len(self._sizes))
        while len(open.row):
            open, most = self._next(open, most), min(2 * most, self._k)
        best = self._best()
        arms = best.arms
        if self._top.posteriors is None:
            arms = self._members.next(best.row, best.group, self._rng.random(len(arms)))
        return arms.reshape(self._n, self._k), best.values.reshape(self._n, self._k)

    def _first(self) -> Open:
        """The arm with the largest own score of each group, as far as it matters."""
        n, n_groups, k = self._n, len(self._sizes), self._k
        log_u = np.log1p(-self._rng.random((n, n_groups))) / self._sizes
        # Which arm it is matters only where arms of a group differ.
        which = None if self._top.posteriors is None else self._rng.random((n, n_groups))
        scores = self._scores(_ALL, log_u, self._common[:, None])
        n_first = min(k + _MORE, n_groups)
        row = np.arange(n).repeat(n_first)
        group = self._large.guessed(scores, n_first).ravel()
        self._find(row, group, scores[row, group], None if which is None else which[row, group])
        if n_first < n_groups:
            row, group = self._large.others(scores, self._level, (row, group))
            self._find(row, group, scores[row, group], None if which is None else which[row, group])
        found = Found.joined(self._found)
        at = found.row, found.group
        n_drawn = np.ones(len(found.row), np.intp)
        return self._still_open(Open(*at, log_u[at], n_drawn), found.values, scores[at])

    def _next(self, open: Open, most: int) -> Open:
        """Up to ``most`` more arms of some groups. Returns the groups that may have even more."""
        left = (self._sizes[open.group] - open.n_drawn)[:, None] - np.arange(most)
        steps = np.log1p(-self._rng.random(left.shape)) / np.maximum(left, 1)
        log_u = open.log_u[:, None] + steps.cumsum(axis=1)
        which = None if self._top.posteriors is None else self._rng.random(left.shape)
        entry, place = (left > 0).nonzero()
        row, group = open.row[entry], open.group[entry]
        scores = self._scores(group, log_u[entry, place], self._common[row])
        kept = (~self._large.are_below(group, scores, self._level[row])).nonzero()[0]
        row, group, entry, place, scores = (
            each.take(kept) for each in (row, group, entry, place, scores)
        )
        values = self._find(row, group, scores, None if which is None else which[entry, place])
        last = (place == most - 1).nonzero()[0]
        entry = entry.take(last)
        drawn = open.n_drawn[entry] + most
        open = Open(row.take(last), group.take(last), log_u[entry, -1], drawn)
        return self._still_open(open, values.take(last), scores.take(last))

    def _find(
        self, row: IndexArray, group: IndexArray, scores: FloatArray, which: FloatArray | None
    ) -> FloatArray:
        """Compute values of arms, and the k-th largest values with them."""
        if not len(row):
            return scores
        if self._top.posteriors is None or which is None:
            arms, posteriors = row, self._top.bounds.of(group)  # arms are drawn in the end
        else:
            arms = self._members.next(row, group, which)
            posteriors = self._top.posteriors(arms)
        values = posteriors.at(scores)
        self._found.append(Found(row, group, values, arms))
        self._level = self._kth(Found.joined(self._found))
        return values

    def _kth(self, found: Found) -> FloatArray:
        """The k-th largest value of each sample; -inf if there are fewer."""
        order = np.lexsort((-found.values, found.row))
        n_found = np.bincount(found.row, minlength=self._n)
        places = n_found.cumsum() - n_found + self._k - 1
        is_full = n_found >= self._k
        level = np.full(self._n, -np.inf)
        level[is_full] = found.values[order[places[is_full]]]
        return level

    def _still_open(self, open: Open, values: FloatArray, scores: FloatArray) -> Open:
        """The groups with arms left whose last bounds are among the k largest values."""
        left = (self._sizes[open.group] > open.n_drawn).nonzero()[0]
        row, group, log_u, n_drawn = (column.take(left) for column in open)
        if self._top.posteriors is None:
            bounds = values.take(left)
        else:
            bounds = self._top.bounds.of(group).at(scores.take(left))
        level = self._level[row]
        # Among equal values those that come first are as good as the others.
        of = ((bounds > level) | ((bounds == level) & (n_drawn < self._k))).nonzero()[0]
        of = of[np.lexsort((group[of], row[of]))]
        return Open(row[of], group[of], log_u[of], n_drawn[of])

    def _best(self) -> Found:
        """The k largest values of each sample, the largest first, and equal ones at random."""
        found = Found.joined(self._found)
        found = found.at((found.values >= self._level[found.row]).nonzero()[0])
        found = found.at(np.lexsort((found.group, -found.values, found.row)))
        if len(found.row) > self._n * self._k:
            ties = self._rng.random(len(found.row))
            found = found.at(np.lexsort((ties, -found.values, found.row)))
            n_found = np.bincount(found.row, minlength=self._n)
            starts = n_found.cumsum() - n_found
            found = found.at((starts[:, None] + np.arange(self._k)).ravel())
        return found

    def _scores(
        self, of: IndexArray | slice, log_u: FloatArray, common: FloatArray
    ) -> FloatArray:
        top = self._top
        scores = top.shift[of] + common
        if (own_std := top.scores.own_std) > 0:
            own = np.where(top.held[of], largest_score(top.groups.n_arms), ndtri_exp(log_u))
            scores = scores + own_std * own
        return scores
