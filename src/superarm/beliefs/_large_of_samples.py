"""Which groups have large values in several samples: what `LargeValues` does in one."""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._scores import BoolArray, wide_scores
from superarm.beliefs._tails import _LARGEST, _SLACK, LargeValues
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import log_ndtr, ndtr, ndtri

# For z >= 0, log Phi(-z) is at least -log 2 - z (z / 2 + sqrt(2 / pi)): both have the same value and
# slope at 0, and the second derivative of the first is above -1, which is that of the second.
_LOG_HALF, _SLOPE = math.log(0.5), math.sqrt(2 / math.pi)
_TINY = 1e-300  # stands for 0 where a logarithm needs a number above 0


class LargeOfSamples:
    """The groups that may have the k largest values, in several samples.

    Parameters
    ----------
    large
        What finds them in one sample.
    """

    def __init__(self, large: LargeValues) -> None:
        self._large, of = large, large.posteriors
        self._of = of
        # See `log_tail`, whose bound is a sum of products of numbers of the group and of the level.
        self._factors = np.stack([large._log_scale, of.a, of.b])
        self._ratio = np.maximum((of.a + of.b) / (of.b + 1), 1.0)
        # Below these scores the wide part of a posterior does not count.
        self._wide_from = -ndtri(of.weight) - of.lift - _SLACK

    def guessed(self, scores: FloatArray, n: int) -> IndexArray:
        """For scores of shape (samples, groups): n groups that seem to be the largest of each."""
        if n == scores.shape[1]:
            return np.broadcast_to(np.arange(n), scores.shape)
        guess = self._large._mean + self._large._std * scores
        return (-guess).argpartition(n - 1, axis=1)[:, :n]

    def others(
        self, scores: FloatArray, level: FloatArray, known: tuple[IndexArray, IndexArray]
    ) -> tuple[IndexArray, IndexArray]:
        """Samples and groups whose values may be as large as a level per sample.

        Without those that are known: samples and groups, too.
        """
        x, is_usable = _usable(level)
        margin = 1 - x
        bound = np.stack([np.ones(len(x)), np.log(x), np.log(margin)], axis=1) @ self._factors
        gap = 1 - margin[:, None] * self._ratio
        bound -= np.log(np.maximum(gap, _TINY))
        z = np.maximum(scores, 0.0)
        may = bound >= _LOG_HALF - _SLACK - z * (z / 2 + _SLOPE)
        may |= (gap <= 0) | (scores >= self._wide_from) | ~is_usable[:, None]
        may[known] = False
        row, group = may.nonzero()
        kept = ~self.are_below(group, scores[row, group], level[row])
        return row[kept], group[kept]

    def are_below(self, group: IndexArray, scores: FloatArray, level: FloatArray) -> BoolArray:
        """Whether the values of groups at scores are below levels for sure, shape (n,) each."""
        of, (x, is_usable) = self._of, _usable(level)
        log_x, log_margin = np.log(x), np.log1p(-x)
        a, b, scale = of.a.take(group), of.b.take(group), self._large._log_scale.take(group)
        below = _log_tail(a, b, scale, x, log_x, log_margin) < log_ndtr(-scores) - _SLACK
        below &= is_usable
        if len(wide := (below & (scores >= self._wide_from.take(group))).nonzero()[0]):
            # As in `MixedPosteriors.at`.
            at = group.take(wide)
            tail, weight = ndtr(-(scores.take(wide) + of.lift.take(at))), of.weight.take(at)
            within = wide_scores(-ndtri(np.minimum(tail / np.maximum(weight, _TINY), 1.0)))
            a, b, scale = (
                column.take(at) for column in (of.wide_a, of.wide_b, self._large._wide_log_scale)
            )
            at_level = x.take(wide), log_x.take(wide), log_margin.take(wide)
            bound = _log_tail(a, b, scale, *at_level)
            below[wide] = (tail >= weight) | (bound < log_ndtr(-within) - _SLACK)
        return below


def _usable(level: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Levels for which there are bounds, others replaced, and which those are."""
    is_usable: BoolArray = (level > 0) & (level < _LARGEST)
    return np.where(is_usable, level, 0.5), is_usable


def _log_tail(
    a: FloatArray,
    b: FloatArray,
    log_scale: FloatArray,
    x: FloatArray,
    log_x: FloatArray,
    log_margin: FloatArray,
) -> FloatArray:
    """What `log_tail` computes, where every posterior has an x of its own."""
    gap = 1 - (1 - x) * np.maximum((a + b) / (b + 1), 1.0)
    bound = log_scale + a * log_x + b * log_margin - np.log(np.maximum(gap, _TINY))
    return np.where(gap > 0, bound, 0.0)
