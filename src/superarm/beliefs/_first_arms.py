"""The arms of groups that are drawn in every sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.beliefs._scores import BoolArray
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import ndtri_exp


@dataclass(frozen=True, eq=False)
class FirstArms:
    """The first arms of groups, in the order of their own scores, one per column.

    They are the first arm of every group, and more of the largest group: that is often the group of
    the arms without outcomes, which has several of the largest values.

    Attributes
    ----------
    group, n_drawn
        Shape (n_columns,): the group, and how many of its arms are drawn with this one.
    left
        Shape (n_columns,): how many arms of the group are left with this one.
    is_last
        Shape (n_columns,): whether the group has more arms, which are not drawn.
    several, place
        The columns of groups with several arms, and for these columns where they are among them.
    """

    group: IndexArray
    n_drawn: IndexArray
    left: FloatArray
    is_last: BoolArray
    several: IndexArray
    place: IndexArray

    @classmethod
    def of(cls, sizes: FloatArray, most: int) -> FirstArms:
        """One arm of every group, and up to ``most`` of the largest."""
        n_groups, largest = len(sizes), int(sizes.argmax())
        n_more = int(min(sizes[largest], most)) - 1
        group = np.concatenate([np.arange(n_groups), np.full(n_more, largest)])
        n_drawn = np.concatenate([np.ones(n_groups, np.intp), np.arange(2, 2 + n_more)])
        left = sizes.take(group) - n_drawn + 1
        is_last = left > 1
        if n_more:
            is_last[largest] = is_last[n_groups:-1] = False
        is_several = sizes.take(group) > 1
        return cls(group, n_drawn, left, is_last, is_several.nonzero()[0], is_several.cumsum() - 1)

    def draw(self, n: int, *, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Own scores of n samples, shape (n, n_columns), and logarithms of Phi of some of them.

        The latter only for ``several``: see `TopOfGroups`.
        """
        own = rng.standard_normal((n, len(self.group)))
        log_u = np.log1p(-rng.random((n, len(self.several)))) / self.left.take(self.several)
        if n_more := int(self.n_drawn[-1]) - 1:
            first = log_u[:, self.place[self.group[-1]], None]
            log_u[:, -n_more:] = first + log_u[:, -n_more:].cumsum(axis=1)
        own[:, self.several] = ndtri_exp(log_u)
        return own, log_u
