"""The arms of groups that are drawn in every sample, because they may have large values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.beliefs._scores import BoolArray
from superarm.core.arguments import FloatArray, IndexArray

_PER_PLACE, _MORE = 2, 8  # so many arms per place, and more, are thought to have large values


@dataclass(frozen=True, eq=False)
class FirstArms:
    """The first arms of groups, in the order of their own scores, one per column.

    First the first arm of every group, and then more arms of some groups.

    Attributes
    ----------
    group, n_drawn
        Shape (n_columns,): the group, and how many of its arms are drawn with this one.
    left
        Shape (n_columns,): how many arms of the group are left with this one.
    is_last
        Shape (n_columns,): whether the group has more arms, which are not drawn.
    start
        Shape (n_columns - n_groups,): where the columns of the same group begin.
    """

    group: IndexArray
    n_drawn: IndexArray
    left: FloatArray
    is_last: BoolArray
    start: IndexArray

    @classmethod
    def of(cls, sizes: FloatArray, groups: IndexArray, n_more: IndexArray) -> FirstArms:
        """One arm of every group, and up to ``n_more`` more of some ``groups``."""
        # Large groups first, whose logarithms are small: sums from left to right keep their digits.
        order = (-sizes.take(groups)).argsort(kind="stable")
        groups, n_more = groups.take(order), n_more.take(order)
        start = (n_more.cumsum() - n_more).repeat(n_more)
        place = np.arange(len(start)) - start
        group = np.concatenate([np.arange(len(sizes)), groups.repeat(n_more)])
        n_drawn = np.concatenate([np.ones(len(sizes), np.intp), 2 + place])
        left = sizes.take(group) - n_drawn + 1
        is_last = left > 1
        is_last[groups] = False
        is_last[len(sizes) :] &= place == n_more.repeat(n_more) - 1
        return cls(group, n_drawn, left, is_last, start)

    def log_u(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """Logarithms of Phi of own scores of n samples, shape (n, n_columns): see `TopOfGroups`."""
        log_u = np.log1p(-rng.random((n, len(self.group)))) / self.left
        if n_more := len(self.start):
            more = log_u[:, -n_more:]
            sums = more.cumsum(axis=1)
            before = (sums - more).take(self.start, axis=1)
            more[:] = log_u.take(self.group[-n_more:], axis=1) + (sums - before)
        return log_u


def promising(
    sizes: FloatArray, k: int, guess: Callable[[IndexArray, FloatArray], FloatArray]
) -> tuple[IndexArray, IndexArray]:
    """Groups that probably have several of the k largest values, and how many more than one.

    ``guess(groups, own)`` guesses values of arms with own scores. Which groups these are changes
    no law. The largest group is always among them, if it has several arms.
    """
    several, largest = (sizes > 1).nonzero()[0], int(sizes.argmax())
    place = np.arange(1, 1 + min(k, int(sizes[largest])))
    # About the largest, second, ... of n normal numbers.
    own = np.sqrt(2 * np.log(np.maximum(sizes.take(several)[:, None] / place, 1.0)))
    guessed = guess(several[:, None], own)
    guessed[place > sizes.take(several)[:, None]] = -np.inf
    n_wanted = _PER_PLACE * k + _MORE
    if guessed.size > n_wanted:
        single = guess(np.arange(len(sizes)), np.zeros(len(sizes)))
        every = np.concatenate([single, guessed.ravel()])
        guessed[guessed < np.partition(every, -n_wanted)[-n_wanted]] = -np.inf
    n_more = np.maximum((guessed > -np.inf).sum(axis=1) - 1, 0)
    n_more[several == largest] = len(place) - 1
    return several, n_more
