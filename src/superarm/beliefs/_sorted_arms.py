"""Arms in ascending order, of which one comes or goes in less time than a list of all takes."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator

from superarm.core.arguments import IndexArray

# A block has at most twice as many arms. A million arms are 250 blocks, and to move one block in
# memory takes about as long as to walk over 250.
_BLOCK = 4096


class SortedArms:
    """Distinct arms, ascending, in blocks. ``add`` and ``remove`` move the arms of one block.

    An arm is found by its place, which does not depend on how the arms fall into blocks. Takes 8
    bytes per arm.

    Parameters
    ----------
    arms
        Shape (n,): the arms at the start, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> arms = SortedArms(np.array([2, 5, 9]))
    >>> arms.remove(5)
    >>> arms.add(3)
    >>> list(arms), arms.at(2), len(arms)
    ([2, 3, 9], 9, 3)
    """

    def __init__(self, arms: IndexArray) -> None:
        starts = range(0, len(arms), _BLOCK)
        self._blocks = [array("q", arms[start : start + _BLOCK].tolist()) for start in starts]
        self._last = [block[-1] for block in self._blocks]
        self._n_arms = len(arms)

    @classmethod
    def one(cls, arm: int) -> SortedArms:
        """A single arm."""
        made = cls.__new__(cls)
        made._blocks, made._last, made._n_arms = [array("q", (arm,))], [arm], 1
        return made

    def __len__(self) -> int:
        return self._n_arms

    def __iter__(self) -> Iterator[int]:
        return (arm for block in self._blocks for arm in block)

    def at(self, place: int) -> int:
        """The arm that has ``place`` arms before it."""
        for block in self._blocks:
            if place < len(block):
                return block[place]
            place -= len(block)
        raise IndexError("place must be below the number of arms")

    def add(self, arm: int) -> None:
        """Insert an arm that is not there."""
        self._n_arms += 1
        if not self._blocks:
            self._blocks, self._last = [array("q", [arm])], [arm]
            return
        index = min(bisect_left(self._last, arm), len(self._blocks) - 1)
        block = self._blocks[index]
        insort(block, arm)
        if len(block) <= 2 * _BLOCK:
            self._last[index] = block[-1]
        else:
            self._replace(index, [block[:_BLOCK], block[_BLOCK:]])

    def remove(self, arm: int) -> None:
        """Take out an arm that is there."""
        self._n_arms -= 1
        index = bisect_left(self._last, arm)
        block = self._blocks[index]
        del block[bisect_left(block, arm)]
        if block:
            self._last[index] = block[-1]
        else:
            self._replace(index, [])

    def _replace(self, index: int, parts: list[array[int]]) -> None:
        self._blocks[index : index + 1] = parts
        self._last[index : index + 1] = [part[-1] for part in parts]
