"""Remembered scores of a linear model, which bound new ones.

For weights w and remembered weights v, and any precision matrix,

    x·w <= x·v + |x| |w - v|,  |x|² = x^T precision^-1 x,  |w - v|² = (w - v)^T precision (w - v),

by Cauchy and Schwarz. With the precision of the posterior, |x| is the deviation of x·w. Weights are
those of the features in a round: a context changes them. So the bounds of a context are good for
the same context, and for those that change the weights little.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray

# Rows of features that are looked at together, so that they stay in the processor's cache.
BLOCK = 4096
# Bounds are raised by this share, far above what rounding can do.
SLACK = 1e-9
# The radius that arms are ordered for, in deviations of a draw: few draws are further away.
_FURTHER = 1.15
# Weights within this many radii of remembered ones belong to the same context, learned better.
_SAME = 2.0
# To remember anew costs as much as _COST rounds that score all arms. While bounds exclude less than
# half of the arms, this is done once in _RARELY times as many rounds. While bounds help in few
# rounds, because contexts rarely come near a remembered one, the wait doubles up to _MOST_RARELY.
_COST, _RARELY, _MOST_RARELY, _FEW_ROUNDS = 20.0, 4.0, 64.0, 0.05
# The relative error of a sum of squares in float32, for any number of columns that fits in memory.
_NARROW = 1e-3
# The most contexts that are remembered, and bytes for all of them.
_MOST, _BYTES = 16, 5e8


@dataclass(frozen=True, eq=False)
class Remembered:
    """The scores of all arms for some weights, and how far other weights can move them.

    Attributes
    ----------
    weights, metric
        Shapes (d,) and (d, d): v, and the matrix with |w - v| = ||metric @ (w - v)||.
    scores, widths
        Shape (n_arms,): x·v and |x| of each arm.
    radius
        The |w - v| that ``order`` is for.
    order, bounds
        Shape (n_arms,): the arms by descending bound x·v + radius |x|, and these, negative.
    rows
        Shape (n_arms, d): the features in this order, in float32, so that the first ones are read
        fast.
    error
        How far a score in float32 can be from the exact one, per length of w.
    """

    weights: FloatArray
    metric: FloatArray
    scores: FloatArray
    widths: FloatArray
    radius: float
    order: IndexArray
    bounds: FloatArray
    rows: NDArray[np.float32]
    error: float

    @classmethod
    def nothing(cls, rows: FloatArray) -> Remembered:
        """Bounds that exclude no arm."""
        n_arms, d = rows.shape
        narrow = rows.astype(np.float32)
        longest = np.sqrt(np.einsum("ij,ij->i", narrow, narrow).max())
        # A sum of d products is off by at most d + 2 roundings of the sum of their sizes.
        error = float((d + 3) * 2.0**-23 * longest)
        all_same = np.full(n_arms, np.inf), np.zeros(n_arms)
        return cls(
            np.zeros(d),
            np.eye(d),
            *all_same,
            np.inf,
            np.arange(n_arms),
            -all_same[0],
            narrow,
            error,
        )

    def anew(self, root: FloatArray, mean: FloatArray, spread: float) -> Remembered:
        """The scores for the present mean of w, with covariance root^T root, ordered for draws."""
        scores, widths = np.empty((2, len(self.order)))
        narrow_mean, narrow_root = mean.astype(np.float32), root.T.astype(np.float32)
        for start in range(0, len(scores), BLOCK):
            rows = self.rows[start : start + BLOCK]
            scores[start : start + BLOCK] = rows @ narrow_mean
            moved = rows @ narrow_root
            widths[start : start + BLOCK] = np.einsum("ij,ij->i", moved, moved)
        # Upwards by what float32 may have lost: these are bounds.
        scores += self.error * float(np.linalg.norm(mean))
        widths = np.sqrt(widths) * (1 + _NARROW) + self.error * float(np.linalg.norm(root))
        # The precision is root^-1 root^-T.
        metric = np.asarray(np.linalg.inv(root).T, np.float64)
        radius = float(_FURTHER * spread * np.sqrt(len(mean)))
        bounds = -(scores + radius * widths)
        places = np.argsort(bounds)
        # Back to the order of the arms.
        scores[self.order], widths[self.order] = scores.copy(), widths.copy()
        ordered = self.order[places], bounds[places], self.rows[places]
        return Remembered(mean, metric, scores, widths, radius, *ordered, self.error)

    def distance(self, weights: FloatArray) -> float:
        """|w - v|, a bit more."""
        return float(np.linalg.norm(self.metric @ (weights - self.weights))) * (1 + SLACK)

    def n_above(self, least: float, distance: float) -> int:
        """How many arms come before all whose scores are below ``least``; O(log n_arms)."""
        excess = max(0.0, distance - self.radius) * self._most_width
        return int(np.searchsorted(self.bounds, -(least - excess) + SLACK, side="right"))

    @cached_property
    def _most_width(self) -> float:
        return float(self.widths.max())

    def most(self, arms: IndexArray, distance: float) -> FloatArray:
        """The bounds of the scores of some arms."""
        return self.scores[arms] + distance * self.widths[arms] + SLACK

    def above(self, weights: FloatArray, least: float, start: int, end: int) -> IndexArray:
        """The arms at some places of the order whose scores may be above ``least``."""
        narrow = weights.astype(np.float32)
        least = least - self.error * float(np.linalg.norm(weights)) - SLACK
        found = [
            first + np.flatnonzero(self.rows[first : min(first + BLOCK, end)] @ narrow > least)
            for first in range(start, end, BLOCK)
        ]
        return self.order[np.concatenate(found)]


class Memories:
    """What is remembered of some contexts. The nearest one bounds the scores of a round.

    Takes 32 + 4 d bytes per arm and context, and is lost with no other harm than time.

    Parameters
    ----------
    rows
        Shape (n_arms, d): the features.
    in_contexts
        Whether there is more than one context.
    """

    def __init__(self, rows: FloatArray, *, in_contexts: bool) -> None:
        n_arms, d = rows.shape
        fitting = int(_BYTES / (n_arms * (32 + 4 * d)))
        self._most = max(1, min(_MOST, fitting)) if in_contexts else 1
        # In the order of their last use.
        self._all = [Remembered.nothing(rows)]
        self._spent, self._scored, self._rarely = 0.0, 0.0, _RARELY
        self._n_rounds, self._n_helped = 0, 0

    @property
    def n_arms(self) -> int:
        """How many arms there were when it was made."""
        return len(self._all[0].order)

    @property
    def is_due(self) -> bool:
        """Whether to remember the context of this round is worth its cost."""
        return self._spent > _COST * (self._rarely if self._scored > 0.5 else 1)

    def nearest(self, weights: FloatArray) -> Remembered:
        """The one with the lowest bounds for some weights."""
        found = min(self._all, key=lambda one: one.distance(weights))
        self._all = [one for one in self._all if one is not found] + [found]
        return found

    def spend(self, share: float) -> None:
        """A round has scored this share of the arms."""
        self._spent, self._scored = self._spent + share, share
        self._n_rounds, self._n_helped = self._n_rounds + 1, self._n_helped + (share < 0.5)

    def remember(self, root: FloatArray, mean: FloatArray, spread: float) -> None:
        """The context of this round, in place of one that is near, or was not used for long."""
        old = self.nearest(mean)
        is_near = not np.isfinite(old.radius) or old.distance(mean) < _SAME * old.radius
        if is_near or len(self._all) == self._most:
            self._all.pop(-1 if is_near else 0)
        self._all.append(old.anew(root, mean, spread))
        if self._most > 1:
            helps = self._n_helped > _FEW_ROUNDS * self._n_rounds
            self._rarely = _RARELY if helps else min(2 * self._rarely, _MOST_RARELY)
        self._spent, self._n_rounds, self._n_helped = 0.0, 0, 0
