"""Arms grouped by two numbers that determine their posteriors: equal arms are computed once.

With outcomes of 0 and 1, many arms have the same counts, and the arms without outcomes always do.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray

_Pair = tuple[float, float]


class EqualArms:
    """Groups of arms with equal pairs (x_i, y_i), in the order of the pairs.

    Pairs and arms are kept sorted, so that the groups depend on the pairs alone and not on the
    order of the updates. ``move`` costs O(arms) searches in sorted lists, and one move of memory
    per arm.

    Parameters
    ----------
    x, y
        Shape (n_arms,): the pairs.

    Examples
    --------
    >>> groups = EqualArms(np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    >>> groups.pairs, groups.arms_of(0)
    ([(0.0, 0.0), (2.0, 1.0)], [0, 2])
    >>> groups.move(np.array([2]), [(0.0, 0.0)], [(2.0, 1.0)])
    >>> groups.arms_of(1), groups.sizes()
    ([1, 2], array([1, 2]))
    """

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        # Pairs as complex numbers: numpy finds distinct numbers faster than distinct rows.
        distinct, which = np.unique(x + 1j * y, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        groups = np.split(order, ends[:-1])
        self.pairs: list[_Pair] = [(pair.real, pair.imag) for pair in distinct.tolist()]
        self._arms = dict(zip(self.pairs, (arms.tolist() for arms in groups), strict=True))

    def arms_of(self, group: int) -> list[int]:
        """The arms of a group, ascending; do not change the list."""
        return self._arms[self.pairs[group]]

    def sizes(self) -> IndexArray:
        """How many arms each group has, in the order of ``pairs``."""
        return np.array([len(self._arms[pair]) for pair in self.pairs], np.intp)

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """The x and the y of the groups, in the order of ``pairs``."""
        table = np.array(self.pairs, np.float64)
        return table[:, 0], table[:, 1]

    def move(self, arms: IndexArray, before: list[_Pair], after: list[_Pair]) -> None:
        """Some arms have new pairs."""
        for arm, old, new in zip(arms.tolist(), before, after, strict=True):
            group = self._arms[old]
            del group[bisect_left(group, arm)]
            if not group:
                del self._arms[old]
                del self.pairs[bisect_left(self.pairs, old)]
            if new not in self._arms:
                self._arms[new] = []
                insort(self.pairs, new)
            insort(self._arms[new], arm)
