"""Arms grouped by what determines their posteriors and scores: equal arms are computed once.

With outcomes of 0 and 1, many arms have the same counts, and the arms without outcomes always do.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from superarm.beliefs._sorted_arms import SortedArms
from superarm.core.arguments import FloatArray, IndexArray

Key = tuple[float, ...]


class EqualArms:
    """Groups of arms with equal keys (x_i, y_i, ...), in the order of the keys.

    Keys and arms are kept sorted, so that the groups depend on the keys alone and not on the order
    of the updates. ``move`` costs a search per arm, and moves of small parts of memory.

    Parameters
    ----------
    columns
        Shape (n_arms,) each: the keys of the arms, one column per part of the key.

    Examples
    --------
    >>> groups = EqualArms(np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    >>> groups.keys, list(groups.arms_of(0))
    ([(0.0, 0.0), (2.0, 1.0)], [0, 2])
    >>> groups.move(np.array([2]), [(0.0, 0.0)], [(2.0, 1.0)])
    >>> list(groups.arms_of(1)), groups.sizes()
    ([1, 2], array([1, 2]))
    """

    def __init__(self, *columns: FloatArray) -> None:
        # Stable, and the first column decides first: arms of a group stay ascending.
        order = np.lexsort(columns[::-1])
        table = np.column_stack(columns)[order]
        starts = 1 + np.flatnonzero((table[1:] != table[:-1]).any(axis=1))
        first = np.append(0, starts)
        self.keys: list[Key] = [tuple(key) for key in table[first].tolist()]
        groups = (SortedArms(arms) for arms in np.split(order, starts))
        self._arms = dict(zip(self.keys, groups, strict=True))
        self.n_arms = len(order)

    def arms_of(self, group: int) -> SortedArms:
        """The arms of a group; do not change them."""
        return self._arms[self.keys[group]]

    def sizes(self) -> IndexArray:
        """How many arms each group has, in the order of ``keys``."""
        return np.array([len(self._arms[key]) for key in self.keys], np.intp)

    def columns(self) -> FloatArray:
        """The keys as columns, in their order, shape (parts of a key, n_groups)."""
        return np.array(self.keys, np.float64).T

    def move(self, arms: IndexArray, before: list[Key], after: list[Key]) -> None:
        """Some arms have new keys."""
        for arm, old, new in zip(arms.tolist(), before, after, strict=True):
            group = self._arms[old]
            group.remove(arm)
            if not len(group):
                del self._arms[old]
                del self.keys[bisect_left(self.keys, old)]
            if new not in self._arms:
                self._arms[new] = SortedArms(np.empty(0, np.intp))
                insort(self.keys, new)
            self._arms[new].add(arm)
