"""Arms grouped by what determines their posteriors and scores: equal arms are computed once.

With outcomes of 0 and 1, many arms have the same counts, and the arms without outcomes always do.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from superarm.beliefs._sorted_arms import SortedArms
from superarm.core.arguments import FloatArray

Key = tuple[float, ...]
_ROOM = 64  # groups that there is memory for at first
_FEW = 6  # with more new groups, arrays are faster


class EqualArms:
    """Groups of arms with equal keys (x_i, y_i, ...), in the order of the keys.

    Keys and arms are kept sorted, so that the groups depend on the keys alone and not on the order
    of the updates. ``move`` costs a search per arm, and moves of small parts of memory.

    Parameters
    ----------
    columns
        Shape (n_arms,) each: the keys of the arms, one column per part of the key.
    n_derived
        How many numbers per group `derived` keeps.

    Examples
    --------
    >>> groups = EqualArms(np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    >>> groups.keys, list(groups.arms_of(0))
    ([(0.0, 0.0), (2.0, 1.0)], [0, 2])
    >>> groups.move([2], [(0.0, 0.0)], [(2.0, 1.0)])
    >>> list(groups.arms_of(1)), groups.sizes()
    ([1, 2], array([1., 2.]))
    """

    def __init__(self, *columns: FloatArray, n_derived: int = 0) -> None:
        # Stable, and the first column decides first: arms of a group stay ascending.
        order = np.lexsort(columns[::-1])
        table = np.column_stack(columns)[order]
        starts = 1 + np.flatnonzero((table[1:] != table[:-1]).any(axis=1))
        first = np.append(0, starts)
        self.keys: list[Key] = [tuple(key) for key in table[first].tolist()]
        groups = [SortedArms(arms) for arms in np.split(order, starts)]
        self._arms = dict(zip(self.keys, groups, strict=True))
        self.n_arms = len(order)
        # One column per group, in the order of the keys: its size and key, derived numbers, and NaN
        # if these are not known.
        n_groups, n_parts = len(groups), len(columns)
        self._parts = slice(1, 1 + n_parts)
        self._known = slice(1 + n_parts, 1 + n_parts + n_derived)
        self._blank = (math.nan,) * (n_derived + 1)
        self._table = np.full((self._known.stop + 1, n_groups + _ROOM), math.nan)
        self._table[0, :n_groups] = [len(group) for group in groups]
        self._table[self._parts, :n_groups] = table[first].T
        self._version: Any = None
        self._all_known = False

    def arms_of(self, group: int) -> SortedArms:
        """The arms of a group; do not change them."""
        return self._arms[self.keys[group]]

    def sizes(self) -> FloatArray:
        """How many arms each group has, in the order of ``keys``; do not change them."""
        return self._table[0, : len(self.keys)]

    def columns(self) -> FloatArray:
        """The keys as columns, in their order, shape (parts of a key, n_groups); read only."""
        return self._table[self._parts, : len(self.keys)]

    def derived(
        self,
        version: Any,
        make: Callable[..., Iterable[FloatArray]],
        make_one: Callable[..., tuple[float, ...]],
    ) -> FloatArray:
        """``make(*columns)``, shape (n_derived, n_groups), kept from call to call; read only.

        Each group's numbers follow from its key, and from what ``version`` stands for. So they are
        computed once per group and version. ``make_one(*key)`` is the same for one group, and
        faster for few of them.
        """
        n_groups = len(self.keys)
        if version != self._version:
            self._version, self._all_known = version, False
            self._table[-1, :n_groups] = math.nan
        if not self._all_known:
            new = np.isnan(self._table[-1, :n_groups]).nonzero()[0]
            if len(new) <= _FEW:
                for place in new.tolist():
                    self._table[self._known, place] = make_one(*self.keys[place])
            else:
                columns = self._table[self._parts].take(new, axis=1)
                self._table[self._known, new] = tuple(make(*columns))
            self._table[-1, new] = 1.0
            self._all_known = True
        return self._table[self._known, :n_groups]

    def move(self, arms: list[int], before: list[Key], after: list[Key]) -> None:
        """Some arms have new keys."""
        for arm, old, new in zip(arms, before, after, strict=True):
            group = self._arms[old]
            if len(group) > 1:
                group.remove(arm)
                self._table[0, bisect_left(self.keys, old)] -= 1
                self._join(arm, new)
            elif new in self._arms:
                self._close(old)
                self._join(arm, new)
            elif new != old:
                self._rename(old, new)

    def _join(self, arm: int, key: Key) -> None:
        place = bisect_left(self.keys, key)
        if key in self._arms:
            self._arms[key].add(arm)
            self._table[0, place] += 1
            return
        n_groups = len(self.keys)
        if n_groups == self._table.shape[1]:
            self._table = np.append(self._table, np.full_like(self._table, math.nan), axis=1)
        self._table[:, place + 1 : n_groups + 1] = self._table[:, place:n_groups]
        self._arms[key] = SortedArms.one(arm)
        self.keys.insert(place, key)
        self._write(place, key)

    def _close(self, key: Key) -> None:
        """Remove a group of one arm."""
        n_groups, place = len(self.keys), bisect_left(self.keys, key)
        del self._arms[key], self.keys[place]
        self._table[:, place : n_groups - 1] = self._table[:, place + 1 : n_groups]

    def _rename(self, old: Key, new: Key) -> None:
        """A group of one arm gets another key: only what is between them moves."""
        table, place, goal = self._table, bisect_left(self.keys, old), bisect_left(self.keys, new)
        if goal > place:
            goal -= 1
            table[:, place:goal] = table[:, place + 1 : goal + 1]
        else:
            table[:, goal + 1 : place + 1] = table[:, goal:place]
        del self.keys[place]
        self.keys.insert(goal, new)
        self._arms[new] = self._arms.pop(old)
        self._write(goal, new)

    def _write(self, place: int, key: Key) -> None:
        """The column of a new group of one arm."""
        self._table[:, place] = (1.0, *key, *self._blank)
        self._all_known = False
