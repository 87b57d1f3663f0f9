"""The k largest of a sample of a linear model, for many arms whose features do not change.

Remembered scores bound new ones: for weights w and remembered weights v, and any precision matrix,

    x·w <= x·v + |x| |w - v|,  |x|² = x^T precision^-1 x,  |w - v|² = (w - v)^T precision (w - v),

by Cauchy and Schwarz. With the precision of the posterior, |x| is the deviation of x·w. Once the
posterior is narrow, few arms can be among the k largest, and only these are scored. Arms without
outcomes differ by their features and by one normal number each, most of which are never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

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
# If more arms than this share may be among the largest, all of them are scored, in float32.
_MOST = 0.05
# Costs in units of such a round: to remember anew; to look at a bound and to score an arm out of
# order, each for all arms.
_COST, _LOOK, _SCORE = 40.0, 0.3, 5.0
# As long as remembering does not help, it is tried less often, down to this part.
_RARELY = 4.0
# Bounds are raised by this share, far above what rounding can do.
_SLACK = 1e-9


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
    most_width
        The largest width.
    """

    weights: FloatArray
    metric: FloatArray
    scores: FloatArray
    widths: FloatArray
    radius: float
    order: IndexArray
    bounds: FloatArray
    most_width: float

    @classmethod
    def of(cls, model: MixedModel, weights: FloatArray) -> Remembered:
        """The scores for the mean of w, in a memory for weights like the given ones."""
        root, mean = model.factor()
        rows = model.rows
        assert rows is not None
        scores, widths = np.empty(len(rows)), np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            scores[block] = rows[block] @ mean
            widths[block] = np.sqrt(((rows[block] @ root.T) ** 2).sum(axis=1))
        # root is the inverse of the lower factor L, and |w - v| = ||L^T (w - v)||.
        metric = np.asarray(np.linalg.inv(root).T, np.float64)
        # The means of later rounds are about one posterior deviation per dimension away.
        radius = float(np.linalg.norm(metric @ (weights - mean)) + np.sqrt(model.d))
        bounds = -(scores + radius * widths)
        order = np.argsort(bounds)
        most_width = float(widths.max())
        return cls(mean, metric, scores, widths, radius, order, bounds[order], most_width)

    def distance(self, weights: FloatArray) -> float:
        """|w - v|, a bit more."""
        return float(np.linalg.norm(self.metric @ (weights - self.weights))) * (1 + _SLACK)

    def n_above(self, least: float, distance: float) -> int:
        """How many arms come before all whose scores are below ``least``; O(log n_arms)."""
        excess = max(0.0, distance - self.radius) * self.most_width
        return int(np.searchsorted(self.bounds, -(least - excess) + _SLACK, side="right"))

    def most(self, arms: IndexArray, distance: float) -> FloatArray:
        """The bounds of the scores of some arms."""
        return self.scores[arms] + distance * self.widths[arms] + _SLACK


class Narrow:
    """All scores in float32, and how far they can be from the exact ones.

    Parameters
    ----------
    rows
        Shape (n_arms, d).
    """

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows.astype(np.float32)
        squares = np.einsum("ij,ij->i", self.rows, self.rows)
        # A sum of d products is off by at most d + 2 roundings of the sum of their sizes.
        self._error = (rows.shape[1] + 3) * 2.0**-23 * float(np.sqrt(squares.max()))

    def scores(self, weights: FloatArray) -> tuple[NDArray[np.float32], float]:
        """The scores for some weights, shape (n_arms,), and their largest error."""
        narrow, scores = weights.astype(np.float32), np.empty(len(self.rows), np.float32)
        for start in range(0, len(scores), _BLOCK):
            block = slice(start, start + _BLOCK)
            np.matmul(self.rows[block], narrow, out=scores[block])
        return scores, self._error * float(np.linalg.norm(weights)) + _SLACK


class LinearTop:
    """Draws the k largest of a sample, from bounds that are remembered between rounds.

    While the posterior is wide, bounds do not help: then all scores are computed in float32, and
    the few that matter once more in float64. Forgetting the memory costs time and changes no draw.
    Takes 32 + 4 d bytes per arm.

    Attributes
    ----------
    n_scored
        How many arms were scored in the last round.
    """

    def __init__(self) -> None:
        self.n_scored = 0
        self._memory: Remembered | None = None
        self._narrow: Narrow | None = None
        self._spent, self._patience = 0.0, _COST

    def draw(
        self, model: MixedModel, k: int, scores: Scores, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values."""
        weights = model.draw_weights(scores.spread, rng=rng)
        this = _Round(model, weights, scores, rng=rng)
        self._prepare(model, weights)
        first = np.arange(min(_FIRST * k, model.n_arms))
        if self._memory is not None:
            first = self._memory.order[first]
        arms, values = this.best(np.union1d(this.noise.large, first), k, -np.inf, rng=rng)
        least = float(values.min())
        pool = np.union1d(arms, self._candidates(this, least))
        arms, _ = this.best(pool, k, least, rng=rng)
        # Again for these arms alone, so that the last digits do not depend on the memory.
        return this.best(arms, k, -np.inf, rng=rng)

    def _prepare(self, model: MixedModel, weights: FloatArray) -> None:
        if self._narrow is None or len(self._narrow.rows) != model.n_arms:
            assert model.rows is not None
            self._memory, self._narrow = None, Narrow(model.rows)
        if self._spent > self._patience:
            self._memory, self._spent = Remembered.of(model, weights), 0.0
            self._patience = _RARELY * _COST

    def _candidates(self, this: _Round, least: float) -> IndexArray:
        """The arms whose values may be above ``least``."""
        memory, n_arms, seen = self._memory, this.model.n_arms, this.model.seen
        fresh_least = least - this.fresh_most()
        if memory is not None:
            distance = memory.distance(this.weights)
            n_first = memory.n_above(fresh_least, distance)
            if n_first <= _MOST * n_arms:
                self._patience = _COST
                fresh = memory.order[:n_first]
                fresh = fresh[memory.most(fresh, distance) > fresh_least]
                known = this.known(memory.most(seen, distance), least)
                self.n_scored = len(fresh) + len(known)
                self._spent += (_LOOK * n_first + _SCORE * self.n_scored) / n_arms
                return np.append(fresh[this.model.counts[fresh] == 0], known)
        assert self._narrow is not None
        scores, error = self._narrow.scores(this.weights)
        self.n_scored, self._spent = n_arms, self._spent + 1
        fresh = np.flatnonzero(scores > fresh_least - error)
        known = this.known(scores[seen].astype(np.float64) + error, least)
        return np.append(fresh[this.model.counts[fresh] == 0], known)


@dataclass(frozen=True)
class Scores:
    """The law of the scores z_i of a round: what `LinearBelief` documents.

    Attributes
    ----------
    spread, common_std, own_std
        Deviations of w, in posterior ones, and of the parts of z_i that arms share, or do not.
    optimism, to_come
        z_i is raised by optimism · log(1 + to_come · variance / noise).
    """

    spread: float
    common_std: float
    own_std: float
    optimism: float
    to_come: float

    def rise(self, std: FloatArray, noise: float) -> FloatArray:
        """What raises the scores, for deviations of theta_i given w."""
        return self.optimism * np.log1p(self.to_come * std**2 / noise)


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
        is_large = np.isin(arms, self.noise.large)
        may = is_large | (values + own * self.noise.level + _SLACK > least)
        arms, values = arms[may], values[may] + own[may] * self.noise.of(arms[may])
        first = top_k(values, min(k, len(arms)), rng=rng)
        return arms[first], values[first]

    def fresh_most(self) -> float:
        """How far the value of an arm without outcomes can be above its score.

        Not for arms of large normal numbers.
        """
        std = np.sqrt(self.model.own_var(np.zeros(1)))
        return float((std * (self._rise(std) + self.common) + self._own(std) * self.noise.level)[0])

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
        shift = share * self.model.sums[arms] + std * (self._rise(std) + self.common)
        return 1 - share * counts, shift, std

    def _rise(self, std: FloatArray) -> FloatArray:
        return self.scores.rise(std, self.model.variances.noise)
