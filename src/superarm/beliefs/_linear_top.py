"""The k largest of a sample of a linear model, for many arms whose features do not change.

Remembered scores bound new ones: for weights w and remembered weights v, and any precision matrix,

    x·w <= x·v + |x| |w - v|,  |x|² = x^T precision^-1 x,  |w - v|² = (w - v)^T precision (w - v),

by Cauchy and Schwarz. With the precision of the posterior, |x| is the deviation of x·w. Once the
posterior is narrow, few arms can be among the k largest, and only these are scored. Arms without
outcomes differ by their features and by one normal number each, most of which are never drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs._mixed import MixedModel
from superarm.beliefs._own_noise import OwnNoise
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k

# The first candidates, whose k-th value all others have to beat, as a multiple of k.
_FIRST = 8
# Rows of features that are looked at together, so that they stay in the processor's cache.
_BLOCK = 4096
# The radius that arms are ordered for, in deviations of a draw: few draws are further away.
_FURTHER = 1.15
# To remember anew costs as much as so many rounds that score all arms. While bounds exclude less
# than half of the arms, it is worth so many times as many rounds.
_COST, _RARELY = 20.0, 4.0
# Bounds are raised by this share, far above what rounding can do.
_SLACK = 1e-9
# The relative error of a sum of squares in float32, for any number of columns that fits in memory.
_NARROW = 1e-3


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

    def anew(self, model: MixedModel, spread: float) -> Remembered:
        """The scores for the present mean of w, ordered for draws about it."""
        root, mean = model.factor()
        scores, widths = np.empty((2, len(self.order)))
        narrow_mean, narrow_root = mean.astype(np.float32), root.T.astype(np.float32)
        for start in range(0, len(scores), _BLOCK):
            rows = self.rows[start : start + _BLOCK]
            scores[start : start + _BLOCK] = rows @ narrow_mean
            moved = rows @ narrow_root
            widths[start : start + _BLOCK] = np.einsum("ij,ij->i", moved, moved)
        # Upwards by what float32 may have lost: these are bounds.
        scores += self.error * float(np.linalg.norm(mean))
        widths = np.sqrt(widths) * (1 + _NARROW) + self.error * float(np.linalg.norm(root))
        # root is the inverse of the lower factor L, and |w - v| = ||L^T (w - v)||.
        metric = np.asarray(np.linalg.inv(root).T, np.float64)
        radius = float(_FURTHER * spread * np.sqrt(model.d))
        bounds = -(scores + radius * widths)
        places = np.argsort(bounds)
        # Back to the order of the arms.
        scores[self.order], widths[self.order] = scores.copy(), widths.copy()
        ordered = self.order[places], bounds[places], self.rows[places]
        return Remembered(mean, metric, scores, widths, radius, *ordered, self.error)

    def distance(self, weights: FloatArray) -> float:
        """|w - v|, a bit more."""
        return float(np.linalg.norm(self.metric @ (weights - self.weights))) * (1 + _SLACK)

    def n_above(self, least: float, distance: float) -> int:
        """How many arms come before all whose scores are below ``least``; O(log n_arms)."""
        excess = max(0.0, distance - self.radius) * self._most_width
        return int(np.searchsorted(self.bounds, -(least - excess) + _SLACK, side="right"))

    @cached_property
    def _most_width(self) -> float:
        return float(self.widths.max())

    def most(self, arms: IndexArray, distance: float) -> FloatArray:
        """The bounds of the scores of some arms."""
        return self.scores[arms] + distance * self.widths[arms] + _SLACK

    def above(self, weights: FloatArray, least: float, start: int, end: int) -> IndexArray:
        """The arms at some places of the order whose scores may be above ``least``."""
        narrow = weights.astype(np.float32)
        least = least - self.error * float(np.linalg.norm(weights)) - _SLACK
        found = [
            first + np.flatnonzero(self.rows[first : min(first + _BLOCK, end)] @ narrow > least)
            for first in range(start, end, _BLOCK)
        ]
        return self.order[np.concatenate(found)]


class LinearTop:
    """Draws the k largest of a sample, from bounds that are remembered between rounds.

    Arms are scored in the order of their bounds, until all others are excluded: in float32, and
    those that matter once more in float64. Forgetting the memory costs time and changes no draw.
    Takes 32 + 4 d bytes per arm.

    Attributes
    ----------
    n_scored
        How many arms were scored in the last round.
    """

    def __init__(self) -> None:
        self.n_scored = 0
        self._memory: Remembered | None = None
        self._spent = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> LinearTop:
        return LinearTop()  # a copy of the memory would take longer than it saves

    def draw(
        self, model: MixedModel, k: int, scores: Scores, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values."""
        weights = model.draw_weights(scores.spread, rng=rng)
        this = _Round(model, weights, scores, rng=rng)
        memory = self._prepared(model, scores.spread)
        distance = memory.distance(weights)
        first = _union(this.noise.large, memory.order[: _FIRST * k])
        arms, values = this.best(first, k, -np.inf, rng=rng)
        known = this.known(memory.most(model.seen, distance), float(values.min()))
        arms, values = this.best(_union(arms, known), k, float(values.min()), rng=rng)
        arms = self._among_new(this, memory, arms, float(values.min()), rng=rng)
        # Again for these arms alone, so that the last digits do not depend on the memory.
        return this.best(arms, k, -np.inf, rng=rng)

    def _prepared(self, model: MixedModel, spread: float) -> Remembered:
        rows, memory = model.rows, self._memory
        assert rows is not None
        if memory is None or len(memory.order) != model.n_arms:
            memory, self._spent = Remembered.nothing(rows), 0.0
        patience = _COST * (_RARELY if self.n_scored > model.n_arms / 2 else 1)
        if self._spent > patience:
            memory, self._spent = memory.anew(model, spread), 0.0
        self._memory = memory
        return memory

    def _among_new(
        self,
        this: _Round,
        memory: Remembered,
        arms: IndexArray,
        least: float,
        *,
        rng: np.random.Generator,
    ) -> IndexArray:
        """The best of some arms and of all arms without outcomes."""
        k, raised, distance = len(arms), this.fresh_most(), memory.distance(this.weights)
        start, size = 0, _BLOCK
        while (end := min(start + size, memory.n_above(least - raised, distance))) > start:
            others = memory.above(this.weights, least - raised, start, end)
            others = others[this.model.counts[others] == 0]
            if len(others):
                arms, values = this.best(_union(arms, others), k, least, rng=rng)
                least = float(values.min())
            start, size = end, 2 * size
        self.n_scored = start
        self._spent += start / this.model.n_arms
        return arms


@dataclass(frozen=True)
class Scores:
    """The law of the scores z_i of a round: what `LinearBelief` documents.

    Attributes
    ----------
    spread, common_std, own_std
        Deviations of w, in posterior ones, and of the parts of z_i that arms share, or do not.
    rise
        What raises the scores, for deviations of theta_i given w.
    """

    spread: float
    common_std: float
    own_std: float
    rise: Callable[[FloatArray], FloatArray]


class _Round:
    """One draw: all values are determined, and those of some arms are computed."""

    def __init__(
        self,
        model: MixedModel,
        weights: FloatArray,
        scores: Scores,
        *,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.weights, self.scores = model, weights, scores
        self.common = scores.common_std * rng.standard_normal()
        self.noise = OwnNoise(model.n_arms, rng=rng)

    def best(
        self, arms: IndexArray, k: int, least: float, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k largest values of some arms, of which k are at least ``least``; ascending arms."""
        assert self.model.rows is not None
        left, shift, std = self._parts(arms)
        values, own = left * (self.model.rows[arms] @ self.weights) + shift, self._own(std)
        # Before the normal numbers are computed: most arms are out whatever theirs are.
        may = self.noise.is_large(arms) | (values + own * self.noise.level + _SLACK > least)
        arms, values = arms[may], values[may] + own[may] * self.noise.of(arms[may])
        first = top_k(values, min(k, len(arms)), rng=rng)
        return arms[first], values[first]

    def fresh_most(self) -> float:
        """How far the value of an arm without outcomes can be above its score.

        Not for arms of large normal numbers.
        """
        std = np.sqrt(self.model.own_var(np.zeros(1)))
        return float(
            (std * (self.scores.rise(std) + self.common) + self._own(std) * self.noise.level)[0]
        )

    def known(self, most: FloatArray, least: float) -> IndexArray:
        """The arms with outcomes whose values may be above ``least``, given bounds of x·w."""
        left, shift, std = self._parts(self.model.seen)
        values = left * most + shift + self._own(std) * self.noise.level
        return self.model.seen[values + _SLACK > least]

    def _own(self, std: FloatArray) -> FloatArray:
        return self.scores.own_std * std

    def _parts(self, arms: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A value is left · x·w + shift + own_std · std · e_i."""
        counts = self.model.counts[arms]
        std = np.sqrt(self.model.own_var(counts))
        share = std**2 / self.model.variances.noise
        shift = share * self.model.sums[arms] + std * (self.scores.rise(std) + self.common)
        return 1 - share * counts, shift, std


def _union(one: IndexArray, other: IndexArray) -> IndexArray:
    """Like np.union1d, which takes many times as long for few arms."""
    both = np.sort(np.concatenate([one, other]))
    return both[np.append(True, both[1:] != both[:-1])]
