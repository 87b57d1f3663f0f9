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
from scipy.special import ndtr, ndtri

from superarm.beliefs._mixed import MixedModel
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k

# About so many arms of a round have a normal number above the level that bounds all others.
_N_LARGE = 500
# The first candidates, whose k-th value all others have to beat, as a multiple of k.
_FIRST = 8
# Rows of features that are looked at together, so that they stay in the processor's cache.
_BLOCK = 8192
# To remember anew costs about so many scores per arm. A look at a bound costs a part of a score.
_COST, _LOOK = 8.0, 0.05
# If more arms than this share are to be scored, all of them are: rows in order are read faster.
_MOST = 0.1
# Bounds are raised by this share, far above what rounding can do.
_SLACK = 1e-9


class OwnNoise:
    """One standard normal number per arm, computed for any arms at any time.

    The numbers above ``level`` are drawn: how many there are, whose they are, and what they are.
    All others follow from a key and the number of the arm (splitmix64), so that they do not depend
    on which of them are looked at.

    Parameters
    ----------
    n_arms
        How many arms there are.
    rng
        Where the numbers come from.
    """

    def __init__(self, n_arms: int, *, rng: np.random.Generator) -> None:
        above = min(0.5, _N_LARGE / n_arms)
        self.level = float(-ndtri(above))
        n_large = rng.binomial(n_arms, above)
        self.large = np.sort(rng.choice(n_arms, n_large, replace=False, shuffle=False))
        self._values = -ndtri(above * (1 - rng.random(n_large)))
        self._below, self._key = float(ndtr(self.level)), rng.integers(2**64, dtype=np.uint64)

    def of(self, arms: IndexArray) -> FloatArray:
        """The numbers of some arms."""
        bits = (arms.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + self._key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
        uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        values = np.asarray(ndtri(self._below * uniform), np.float64)
        place = np.searchsorted(self.large, arms)
        place[place == len(self.large)] = 0
        is_large = self.large[place] == arms if len(self.large) else np.zeros(len(arms), bool)
        values[is_large] = self._values[place[is_large]]
        return values


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
    """

    weights: FloatArray
    metric: FloatArray
    scores: FloatArray
    widths: FloatArray
    radius: float
    order: IndexArray
    bounds: FloatArray

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
        return cls(mean, metric, scores, widths, radius, order, bounds[order])

    def distance(self, weights: FloatArray) -> float:
        """|w - v|, a bit more."""
        return float(np.linalg.norm(self.metric @ (weights - self.weights))) * (1 + _SLACK)

    def above(self, least: float, distance: float) -> IndexArray:
        """The arms whose scores may be above ``least``, the largest bounds first."""
        excess = max(0.0, distance - self.radius) * float(self.widths.max())
        n_first = int(np.searchsorted(self.bounds, -(least - excess) + _SLACK, side="right"))
        arms = self.order[:n_first]
        return arms[self.scores[arms] + distance * self.widths[arms] + _SLACK > least]


class LinearTop:
    """Draws the k largest of a sample, from bounds that are remembered between rounds.

    Forgetting the memory costs time and changes no draw. Takes 32 bytes per arm.

    Attributes
    ----------
    n_scored
        How many arms were scored in the last round.
    """

    def __init__(self) -> None:
        self.n_scored = 0
        self._memory: Remembered | None = None
        self._spent = 0.0

    def draw(
        self, model: MixedModel, k: int, scores: Scores, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values."""
        weights = model.draw_weights(scores.spread, rng=rng)
        this = _Round(model, weights, scores, rng=rng)
        memory = self._memory
        if memory is None or len(memory.scores) != model.n_arms or self._spent > _COST:
            memory = self._memory = Remembered.of(model, weights)
            self._spent = 0.0
        self.n_scored = 0
        arms = np.union1d(this.noise.large, memory.order[: _FIRST * k])
        arms, values = this.best(arms, k, self._count(arms, model.n_arms), rng=rng)
        for others in this.candidates(memory, float(values.min())):
            pool = np.union1d(arms, others)
            arms, values = this.best(pool, k, self._count(others, model.n_arms), rng=rng)
        self._spent += (self.n_scored + _LOOK * this.n_looked) / model.n_arms
        # Again for these arms alone, so that the last digits do not depend on the memory.
        return this.best(arms, k, at_once=False, rng=rng)

    def _count(self, arms: IndexArray, n_arms: int) -> bool:
        """Count scores; whether there are so many that all arms are better scored at once."""
        self.n_scored += len(arms)
        return len(arms) > _MOST * n_arms


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
        self.n_looked = 0

    def best(
        self, arms: IndexArray, k: int, at_once: bool, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k largest values of some arms, ascending arms; ``at_once`` for many arms."""
        rows = self.model.rows
        assert rows is not None
        score = (rows @ self.weights)[arms] if at_once else rows[arms] @ self.weights
        left, shift, std = self._parts(arms)
        values = left * score + shift + std * self.scores.own_std * self.noise.of(arms)
        first = top_k(values, min(k, len(arms)), rng=rng)
        return arms[first], values[first]

    def candidates(self, memory: Remembered, least: float) -> list[IndexArray]:
        """Arms whose values may be above ``least``: those with outcomes, and those without."""
        distance = memory.distance(self.weights)
        # Arms without outcomes have the same law but for x·w, and no large numbers: these are in.
        new = np.zeros(1)
        std = np.sqrt(self.model.own_var(new))
        raised = std * (self._rise(std) + self.common + self.scores.own_std * self.noise.level)
        fresh = memory.above(least - float(raised[0]), distance)
        self.n_looked = len(fresh) + len(self.model.seen)
        return [fresh[self.model.counts[fresh] == 0], self._known(memory, least, distance)]

    def _known(self, memory: Remembered, least: float, distance: float) -> IndexArray:
        seen = self.model.seen
        left, shift, std = self._parts(seen)
        most = memory.scores[seen] + distance * memory.widths[seen]
        level = np.full(len(seen), self.noise.level)
        values = left * most + shift + std * self.scores.own_std * level
        return seen[values + _SLACK > least]

    def _parts(self, arms: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A value is left · score + shift + std · own_std · e_i."""
        counts = self.model.counts[arms]
        std = np.sqrt(self.model.own_var(counts))
        share = std**2 / self.model.variances.noise
        shift = share * self.model.sums[arms] + std * (self._rise(std) + self.common)
        return 1 - share * counts, shift, std

    def _rise(self, std: FloatArray) -> FloatArray:
        return self.scores.rise(std, self.model.variances.noise)
