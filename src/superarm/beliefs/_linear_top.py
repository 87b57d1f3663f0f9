"""The k largest of a sample of a linear model, for many arms whose features do not change.

The means are x·w for the features x, with weights w of the round. `Memories` has bounds of them
from earlier rounds. Once the posterior is narrow, few arms can be among the k largest, and only
these are scored. Where bounds do not help, as for a new context in every round, all arms are scored
in float32. Arms without outcomes differ by their features and by one normal number each, most of
which are never drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.beliefs._linear_memory import BLOCK, SLACK, Memories, Remembered
from superarm.beliefs._mixed import MixedModel
from superarm.beliefs._own_noise import OwnNoise
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k

# The first candidates, whose k-th value all others have to beat, as a multiple of k.
_FIRST = 8


class LinearTop:
    """Draws the k largest of a sample, from bounds that are remembered between rounds.

    Arms are scored in the order of their bounds, until all others are excluded: in float32, and
    those that matter once more in float64. Forgetting the memory costs time and changes no draw.

    Attributes
    ----------
    n_scored
        How many arms were scored in the last round.
    """

    def __init__(self) -> None:
        self.n_scored = 0
        self._memories: Memories | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> LinearTop:
        return LinearTop()  # a copy of the memory would take longer than it saves

    def draw(
        self,
        model: MixedModel,
        place: Place,
        k: int,
        scores: LawOfScores,
        *,
        rng: np.random.Generator,
    ) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values."""
        this = _Round(model, place, scores, rng=rng)
        memories = self._prepared(this)
        memory = memories.nearest(this.folded)
        distance = memory.distance(this.folded)
        first = _union(this.noise.large, memory.order[: _FIRST * k])
        arms, values = this.best(first, k, -np.inf, rng=rng)
        known = this.known(memory.most(model.seen, distance), float(values.min()))
        arms, values = this.best(_union(arms, known), k, float(values.min()), rng=rng)
        arms = self._among_new(this, memory, arms, float(values.min()), rng=rng)
        memories.spend(self.n_scored / model.n_arms)
        # Again for these arms alone, so that the last digits do not depend on the memory.
        return this.best(arms, k, -np.inf, rng=rng)

    def _prepared(self, this: _Round) -> Memories:
        memories, place = self._memories, this.place
        if memories is None or memories.n_arms != this.model.n_arms:
            memories = Memories(place.features, in_contexts=place.fold is not None)
        if memories.is_due:
            memories.remember(*place.posterior(this.model), this.scores.spread)
        self._memories = memories
        return memories

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
        k, raised, distance = len(arms), this.fresh_most(), memory.distance(this.folded)
        start, size = 0, BLOCK
        while (end := min(start + size, memory.n_above(least - raised, distance))) > start:
            others = memory.above(this.folded, least - raised, start, end)
            others = others[this.model.counts[others] == 0]
            if len(others):
                arms, values = this.best(_union(arms, others), k, least, rng=rng)
                least = float(values.min())
            start, size = end, 2 * size
        self.n_scored = start
        return arms


@dataclass(frozen=True, eq=False)
class Place:
    """The rows of a round: ``features @ fold``, of which the means are features·(fold w).

    Attributes
    ----------
    features
        Shape (n_arms, f), the same in every round.
    fold
        Shape (f, d): what the context of the round makes of them; None without contexts.
    """

    features: FloatArray
    fold: FloatArray | None

    def folded(self, weights: FloatArray) -> FloatArray:
        """The weights of the features in this round; for n draws of w as well, shape (n, d)."""
        return weights if self.fold is None else (self.fold @ weights.T).T

    def posterior(self, model: MixedModel) -> tuple[FloatArray, FloatArray]:
        """A root R of the covariance R^T R of these weights, and their mean."""
        root, mean = model.factor()
        if self.fold is None:
            return root, mean
        folded = np.linalg.qr(root @ self.fold.T, mode="r")
        return np.asarray(folded, np.float64), self.fold @ mean


@dataclass(frozen=True)
class LawOfScores:
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
        place: Place,
        scores: LawOfScores,
        *,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.place, self.scores = model, place, scores
        self.weights = model.draw_weights(scores.spread, rng=rng)
        self.folded = place.folded(self.weights)
        # What is expected of the outcomes of arms in earlier contexts, whose rows were others.
        self._expected = None if model.row_sums is None else model.expected(self.weights)
        self.common = scores.common_std * rng.standard_normal()
        self.noise = OwnNoise(model.n_arms, rng=rng)

    def best(
        self, arms: IndexArray, k: int, least: float, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The k largest values of some arms, of which k are at least ``least``; ascending arms."""
        left, shift, std = self._parts(arms)
        values, own = left * (self.place.features[arms] @ self.folded) + shift, self._own(std)
        # Before the normal numbers are computed: most arms are out whatever theirs are.
        may = self.noise.is_large(arms) | (values + own * self.noise.level + SLACK > least)
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
        return self.model.seen[values + SLACK > least]

    def _own(self, std: FloatArray) -> FloatArray:
        return self.scores.own_std * std

    def _parts(self, arms: IndexArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A value is left · x·w + shift + own_std · std · e_i."""
        model, counts = self.model, self.model.counts[arms]
        std = np.sqrt(model.own_var(counts))
        share, sums = std**2 / model.variances.noise, model.sums[arms]
        raised = std * (self.scores.rise(std) + self.common)
        if self._expected is None:  # it is counts · x·w
            return 1 - share * counts, share * sums + raised, std
        has, expected = counts > 0, np.zeros(len(arms))
        expected[has] = self._expected[np.searchsorted(model.seen, arms[has])]
        return np.ones(len(arms)), share * (sums - expected) + raised, std


def _union(one: IndexArray, other: IndexArray) -> IndexArray:
    """Like np.union1d, which takes many times as long for few arms."""
    both = np.sort(np.concatenate([one, other]))
    return both[np.append(True, both[1:] != both[:-1])]
