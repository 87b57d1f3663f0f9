"""The k largest values of many samples from the same posteriors, with few draws per sample.

A value exceeds a level if its score exceeds a threshold, which depends on the posterior and on the
level alone. The thresholds of a ladder of levels are computed once, for all samples. A sample
starts with the arms above a low level of the ladder, which are drawn without the other arms. Their
scores tell which higher levels they exceed, and quantiles are computed only for the arms above the
highest level that k arms exceed. The law is that of whole samples; the draws differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
from superarm.beliefs.beta_top_k import n_wanted
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betainc, ndtr, ndtri

_N_PLACES = 24
_REACH = (-3.0, 5.0)  # levels are placed for common scores between, in standard deviations
_HOPELESS = 8.0  # an own score that no sample has; its probability is below that of rounding errors
_FAR = 3.0  # own scores, in standard deviations
_FEW = 8  # with at most this many arms per place, all quantiles are computed
_LIKELY = 0.25  # arms that exceed a level more often than this get a score in every sample
_ROWS, _BLOCK = 1000, 1 << 23  # samples, and scores, at a time, to bound the memory


class Scored(NamedTuple):
    """Arms of samples, and their scores without their shift, in the order of the rows."""

    row: IndexArray
    arms: IndexArray
    scores: FloatArray

    def at(self, places: IndexArray | BoolArray) -> Scored:
        """Some of them."""
        return Scored(self.row[places], self.arms[places], self.scores[places])

    @classmethod
    def joined(cls, parts: list[Scored]) -> Scored:
        """All of several."""
        row, arms = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return cls(row, arms, np.concatenate([part.scores for part in parts]))


@dataclass(frozen=True, eq=False)
class ManyTops:
    """The k largest values of arms, again and again, while nothing is learned.

    Attributes
    ----------
    posteriors
        Those of all arms. Arms of equal a and b are equal in everything.
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
        """The k arms of the largest values of each of n samples, and these values: (n, k) each.

        The arms are ascending. A tie at the k-th place is broken at random.
        """
        ladder = None if len(self.shift) <= _FEW * k else Ladder.of(self, k, rng=rng)
        n_rows = max(1, min(_ROWS, _BLOCK // len(self.shift)))
        parts = [
            self._block(min(n_rows, n - start), k, ladder, rng) for start in range(0, n, n_rows)
        ]
        arms, values = (np.concatenate(part).reshape(n, k) for part in zip(*parts, strict=True))
        order = np.argsort(arms, axis=1)
        return np.take_along_axis(arms, order, axis=1), np.take_along_axis(values, order, axis=1)

    def scores(
        self, common: FloatArray, arms: IndexArray, *, rng: np.random.Generator
    ) -> FloatArray:
        """Scores of some arms without their shift, for common parts of shape (n,): (n, arms)."""
        own = rng.standard_normal((len(common), len(arms)))
        own[:, self.held[arms]] = largest_score(len(self.shift))
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
        if ladder is None:
            scores = self.scores(common, np.arange(len(self.shift)), rng=rng)
            row, arms = (each.ravel() for each in np.indices(scores.shape))
            found = Scored(row, arms, scores.ravel())
            values = self.values(found.arms, found.scores)
        else:
            found = ladder.candidates(self, common, k, rng=rng)
            values = self._values(found, ladder.group)
        # By rows, in each row the largest first, and equal ones in random order.
        order = np.lexsort((rng.random(len(values)), -values, found.row))
        starts = np.searchsorted(found.row[order], np.arange(n))
        best = order[(starts[:, None] + np.arange(k)).ravel()]
        return found.arms[best], values[best]

    def _values(self, found: Scored, group: IndexArray) -> FloatArray:
        """The values of arms. Equal arms that are held have the same: it is computed once."""
        is_held = self.held[found.arms]
        free, held = found.at(~is_held), found.at(is_held)
        keys = held.row * len(self.shift) + group[held.arms]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        values = np.empty(len(found.arms))
        values[~is_held] = self.values(free.arms, free.scores)
        values[is_held] = self.values(held.arms[first], held.scores[first])[inverse]
        return values


@dataclass(frozen=True, eq=False)
class Ladder:
    """Thresholds of scores for some levels.

    Attributes
    ----------
    common
        Shape (n_places,), ascending: common scores.
    first
        Shape (n_places,): the level to start with from each common score on. More than k arms are
        expected above it.
    thresholds
        Shape (n_levels, n_arms): the scores, without their shift, from which on values are at least
        the level. Levels are ascending.
    group
        Shape (n_arms,): equal for arms of equal a and b.
    """

    common: FloatArray
    first: IndexArray
    thresholds: FloatArray
    group: IndexArray

    @classmethod
    def of(cls, tops: ManyTops, k: int, *, rng: np.random.Generator) -> Ladder:
        """Levels near the k-th largest values of samples. Where they are changes no draw's law."""
        law, every = tops.law, np.arange(len(tops.shift))
        common = law.common_std * np.linspace(*_REACH, _N_PLACES)
        scores = tops.scores(common, every, rng=rng)
        # Equal arms are computed once.
        keys = tops.posteriors.a + 1j * tops.posteriors.b
        _, unlike, group = np.unique(keys, return_index=True, return_inverse=True)
        # Arms that are probably the largest of each row, by a straight line through two values.
        # The largest values of some arms are at most those of all.
        far = _FAR * law.own_std
        low, high = (tops.values(unlike, np.full(len(unlike), x))[group] for x in (0.0, far))
        rough = low + (high - low) * (scores - common[:, None]) / (far or 1.0)
        n_first = min(n_wanted(k), len(every) - 1)
        n_few = min(2 * n_first, len(every) - 1)
        few = np.argpartition(-rough, n_few, axis=1)[:, :n_few]
        near = np.take_along_axis(scores, few, axis=1)
        drawn = np.sort(tops.values(few.ravel(), near.ravel()).reshape(few.shape), axis=1)
        # At every fourth place there is also a level that about k arms exceed.
        levels = np.concatenate([drawn[:, -n_first], drawn[::4, -k]])
        order = np.argsort(levels)
        distinct, shift = tops.posteriors.of(unlike), tops.shift[unlike]
        above = np.empty((len(levels), len(unlike)))
        above[:] = scores_above(distinct, float(levels[order[0]])) - shift
        reach = float(common.max()) + _HOPELESS * law.own_std
        left = np.flatnonzero((above[0] <= reach) | tops.held[unlike])
        hopeful = distinct.of(left)
        for row, level in zip(above, levels[order].tolist(), strict=True):
            row[left] = scores_above(hopeful, level) - shift[left]
        return cls(common, np.argsort(order)[:_N_PLACES], above[:, group], group)

    def candidates(
        self, tops: ManyTops, common: FloatArray, k: int, *, rng: np.random.Generator
    ) -> Scored:
        """Arms of each sample, with scores, that include those of the k largest values."""
        first = self.first[np.maximum(0, np.searchsorted(self.common, common, side="right") - 1)]
        parts = []
        for level in np.unique(first).tolist():
            rows = np.flatnonzero(first == level)
            above = ArmsAboveLevel(tops, self.thresholds[level], common[rows])
            found = above.draw(k, rng=rng)
            parts.append(found._replace(row=rows[found.row]))
        found = Scored.joined(parts)
        return self.pruned(found.at(np.argsort(found.row, kind="stable")), k)

    def pruned(self, found: Scored, k: int) -> Scored:
        """Without arms that cannot be among the k of their samples; every sample has k arms."""
        n_below = np.zeros(len(found.row), np.intp)
        for thresholds in self.thresholds:
            n_below += found.scores >= thresholds[found.arms]
        # The k-th largest number of levels per row; k arms have larger values than those below it.
        order = np.lexsort((-n_below, found.row))
        starts = np.searchsorted(found.row, np.arange(found.row[-1] + 1))
        least = n_below[order[starts + k - 1]]
        return found.at(n_below >= least[found.row])


class ArmsAboveLevel:
    """The arms above one level in several samples, as in `superarm.beliefs.beta_top_k.ArmsAbove`.

    Arm i exceeds its threshold with probability p_i, which depends on the common score of the
    sample. An arm with a Poisson number of points of mean -ln(1 - p_i) has a point with this
    probability. All points are drawn together, for the largest common score. A point stays with the
    ratio of the mean at its own common score to that mean.
    """

    def __init__(self, tops: ManyTops, thresholds: FloatArray, common: FloatArray) -> None:
        self.tops, self.thresholds, self.common = tops, thresholds, common
        self.tail = self._tail(np.arange(len(thresholds)), common.max())
        self.is_rare = (self.tail < _LIKELY) & ~tops.held

    def draw(self, k: int, *, rng: np.random.Generator) -> Scored:
        """The arms above; all arms of the samples in which fewer than k arms are above."""
        often, is_above = self._often(rng)
        rare = self._rare(rng)
        found = [often.at(is_above), rare]
        rows = np.concatenate([part.row for part in found])
        lacks = np.bincount(rows, minlength=len(self.common)) < k
        if lacks.any():
            found.append(often.at(~is_above & lacks[often.row]))
            found.append(self._rest(np.flatnonzero(lacks), rare, rng))
        return Scored.joined(found)

    def _often(self, rng: np.random.Generator) -> tuple[Scored, BoolArray]:
        """The arms that are often above, and those whose scores are no draws: of all samples."""
        arms = np.flatnonzero(~self.is_rare)
        scores = self.tops.scores(self.common, arms, rng=rng)
        row, place = (each.ravel() for each in np.indices(scores.shape))
        return Scored(row, arms[place], scores.ravel()), (scores >= self.thresholds[arms]).ravel()

    def _rare(self, rng: np.random.Generator) -> Scored:
        arms, n_rows = np.flatnonzero(self.is_rare), len(self.common)
        n_points = rng.poisson(-n_rows * np.log1p(-self.tail[arms]))
        hit = np.repeat(arms, n_points)
        row = rng.integers(n_rows, size=len(hit))
        tail = self._tail(hit, self.common[row])
        stays = rng.random(len(hit)) * np.log1p(-self.tail[hit]) >= np.log1p(-tail)
        # An arm with several points is above once.
        _, once = np.unique(row[stays] * len(self.thresholds) + hit[stays], return_index=True)
        left = np.flatnonzero(stays)[once]
        own = -ndtri(tail[left] * (1 - rng.random(len(left))))
        scores = self.common[row[left]] + self.tops.law.own_std * own
        return Scored(row[left], hit[left], scores)

    def _rest(self, rows: IndexArray, rare: Scored, rng: np.random.Generator) -> Scored:
        """The rare arms of some samples that are not above, with scores below the thresholds."""
        arms = np.flatnonzero(self.is_rare)
        is_above = np.zeros((len(self.common), len(self.thresholds)), bool)
        is_above[rare.row, rare.arms] = True
        row, place = np.nonzero(~is_above[rows][:, arms])
        row, arms = rows[row], arms[place]
        tail = self._tail(arms, self.common[row])
        own = ndtri((1 - tail) * (1 - rng.random(len(arms))))
        return Scored(row, arms, self.common[row] + self.tops.law.own_std * own)

    def _tail(self, arms: IndexArray, common: FloatArray | float) -> FloatArray:
        """The probabilities that arms are above, for common scores."""
        missing = self.thresholds[arms] - common
        own_std = self.tops.law.own_std
        if own_std == 0:
            return np.where(missing <= 0, 1.0, 0.0)
        return np.asarray(ndtr(-missing / own_std), np.float64)


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
    return np.asarray(-ndtri(betainc(b, a, 1 - level)), np.float64)
