"""The k largest values of many samples from the same posteriors, with few quantiles per sample.

A value exceeds a level if its score exceeds a threshold, which depends on the posterior and on the
level alone. The thresholds of a ladder of levels are computed once, for all samples. The scores of
a sample then tell which levels each arm exceeds, and quantiles are computed only for the arms above
the highest level that k arms exceed. The law is that of whole samples; the draws differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.beliefs._scores import (
    _BEYOND,
    _HIGH,
    BoolArray,
    MixedPosteriors,
    PlainPosteriors,
    SharedScores,
    largest_score,
)
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betainc, ndtr, ndtri

_BLOCK = 1 << 17  # how many scores are drawn at a time, to bound the memory
_N_LEVELS = 12
_REACH = 3.0  # levels are placed for common scores of up to so many standard deviations
_FAR = 3.0  # own scores, in standard deviations
_FEW = 8  # with so many arms per place or fewer, all quantiles are computed


@dataclass(frozen=True, eq=False)
class ManyTops:
    """The k largest values of arms, again and again, while nothing is learned.

    Attributes
    ----------
    posteriors
        Those of all arms.
    shift, held
        Shape (n_arms,): what is added to the score of each arm, and whether its own score is
        `largest_score` instead of a draw.
    law
        The law of the scores.
    """

    posteriors: PlainPosteriors | MixedPosteriors
    shift: FloatArray
    held: BoolArray
    law: SharedScores

    def draw(self, n: int, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """Of each of n samples the k arms of the largest values, and these: shape (n, k) each.

        The arms are ascending. A tie at the k-th place is broken at random.
        """
        n_arms = len(self.shift)
        ladder = None if n_arms <= _FEW * k else Ladder.of(self, k, rng=rng)
        n_rows = max(1, _BLOCK // n_arms)
        parts = [
            self._block(min(n_rows, n - start), k, ladder, rng) for start in range(0, n, n_rows)
        ]
        arms, values = (np.concatenate(part).reshape(n, k) for part in zip(*parts, strict=True))
        order = np.argsort(arms, axis=1)
        return np.take_along_axis(arms, order, axis=1), np.take_along_axis(values, order, axis=1)

    def scores(self, common: FloatArray, *, rng: np.random.Generator) -> FloatArray:
        """Scores without their shift for some common parts, shape (n,): (n, n_arms)."""
        own = rng.standard_normal((len(common), len(self.shift)))
        own[:, self.held] = largest_score(len(self.shift))
        own *= self.law.own_std
        own += common[:, None]
        return own

    def values(self, arms: IndexArray, scores: FloatArray) -> FloatArray:
        """The values of some arms at scores without their shift."""
        return self.posteriors.of(arms).at(scores + self.shift[arms])

    def _block(
        self, n: int, k: int, ladder: Ladder | None, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        common = self.law.common_std * rng.standard_normal(n)
        scores = self.scores(common, rng=rng)
        if ladder is None:
            row, arms = (each.ravel() for each in np.indices(scores.shape))
        else:
            row, arms = ladder.candidates(common, scores, k)
        values = self.values(arms, scores[row, arms])
        # By rows, in each row the largest first, and equal ones in random order.
        order = np.lexsort((rng.random(len(row)), -values, row))
        starts = np.searchsorted(row[order], np.arange(n))
        best = order[(starts[:, None] + np.arange(k)).ravel()]
        return arms[best], values[best]


@dataclass(frozen=True, eq=False)
class Ladder:
    """Thresholds of scores for some levels.

    Attributes
    ----------
    common
        Shape (n_levels,), ascending: the common score that each level was placed for.
    thresholds
        Shape (n_levels, n_arms): the scores, without their shift, from which on values are at least
        the level.
    """

    common: FloatArray
    thresholds: FloatArray

    @classmethod
    def of(cls, tops: ManyTops, k: int, *, rng: np.random.Generator) -> Ladder:
        """Levels near the k-th largest values of samples. Where they are changes no draw's law."""
        law, every = tops.law, np.arange(len(tops.shift))
        common = law.common_std * np.linspace(-_REACH, _REACH, _N_LEVELS)
        scores = tops.scores(common, rng=rng)
        # Arms that are probably the largest of each row, by a straight line through two values.
        # The k-th largest value of some arms is at most that of all.
        low, high = (tops.values(every, np.full(len(every), x * law.own_std)) for x in (0.0, _FAR))
        rough = low + (high - low) * (scores - common[:, None]) / (_FAR * law.own_std or 1.0)
        few = np.argpartition(-rough, 4 * k, axis=1)[:, : 4 * k]
        near = np.take_along_axis(scores, few, axis=1)
        drawn = tops.values(few.ravel(), near.ravel()).reshape(few.shape)
        levels = np.sort(np.partition(drawn, -k, axis=1)[:, -k])
        above = [scores_above(tops.posteriors, level) - tops.shift for level in levels.tolist()]
        return cls(common, np.array(above))

    def candidates(
        self, common: FloatArray, scores: FloatArray, k: int
    ) -> tuple[IndexArray, IndexArray]:
        """Rows and arms, by rows, that include the k largest values of each row."""
        # Two levels lower than what its common score suggests, so that k arms exceed it.
        first = np.clip(np.searchsorted(self.common, common) - 2, 0, len(self.common) - 1)
        row, arms = np.nonzero(scores >= self.thresholds[first])
        reached = scores[row, arms]
        n_below = np.zeros(len(row), np.intp)
        for thresholds in self.thresholds:
            n_below += reached >= thresholds[arms]
        # The k-th largest number of levels per row; what is below it cannot be among the k.
        order = np.lexsort((-n_below, row))
        counts = np.bincount(row, minlength=len(common))
        starts = np.cumsum(counts) - counts
        is_enough = counts >= k
        least = np.zeros(len(common), np.intp)
        least[is_enough] = n_below[order[starts[is_enough] + k - 1]]
        kept = is_enough[row] & (n_below >= least[row])
        row, arms = row[kept], arms[kept]
        if is_enough.all():
            return row, arms
        # All arms of the rows in which fewer than k exceed the first level.
        other, all_arms = np.nonzero(np.broadcast_to(~is_enough[:, None], scores.shape))
        row, arms = np.concatenate([row, other]), np.concatenate([arms, all_arms])
        by_row = np.argsort(row, kind="stable")
        return row[by_row], arms[by_row]


def scores_above(posteriors: PlainPosteriors | MixedPosteriors, level: float) -> FloatArray:
    """The scores from which on values are at least ``level``, up to rounding: shape (n,)."""
    plain = _score_of(posteriors.a, posteriors.b, level)
    if isinstance(posteriors, PlainPosteriors):
        return plain
    # What `MixedPosteriors.at` does with the wide part, backwards.
    wide = _score_of(posteriors.wide_a, posteriors.wide_b, level)
    within = np.maximum(wide, _HIGH + (wide - _HIGH) / _BEYOND)
    return np.minimum(plain, -ndtri(posteriors.weight * ndtr(-within)) - posteriors.lift)


def _score_of(a: FloatArray, b: FloatArray, level: float) -> FloatArray:
    """The scores at which the quantiles of Beta(a, b) are ``level``."""
    below = betainc(a, b, level)
    # The smaller tail keeps its digits.
    above = -ndtri(betainc(b, a, 1 - level))
    return np.asarray(np.where(below < 0.5, ndtri(below), above), np.float64)
