"""Values of groups in several samples, and which of them are large: what `LargeValues` does in one.

All arrays with one number per group are rows of one table, so that some groups take one call.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._beta_quantiles import beta_quantiles
from superarm.beliefs._expansion import at_most, guess_at, skew
from superarm.beliefs._scores import BoolArray, beta_at, wide_scores
from superarm.beliefs._tails import _LARGEST, _SLACK, LargeValues
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import log_ndtr, ndtr, ndtri

# For z >= 0, log Phi(-z) is at least -log 2 - z (z / 2 + sqrt(2 / pi)). Both have the same value
# and slope at 0, and the second derivative of the first is above -1, that of the second.
_LOG_HALF, _SLOPE = math.log(0.5), math.sqrt(2 / math.pi)
_FEW = 32  # values, or bounds, that take less time than finding out which are needed
_MANY = 160  # with more values, `beta_quantiles` takes less time
_TINY, _BELOW_ONE = 1e-300, 1 - 1e-16  # stand for 0 and 1 where logarithms need numbers between
# Rows of the table: both parts of the posteriors, and what `_log_tail` needs of them.
_PLAIN, _WIDE = slice(0, 4), slice(4, 8)
# The weight and the lift of the wide part, and the scores below which it does not count.
_WEIGHT, _LIFT, _FROM = 8, 9, 10
# The mean, the standard deviation, and a sixth of the skewness of the first part.
_MOMENTS = slice(11, 14)


class LargeOfSamples:
    """The values of groups, and those that may be the k largest, in several samples.

    Parameters
    ----------
    large
        What finds them in one sample.
    group
        Shape (n_columns,): the groups of rows of scores.
    n_values
        How many values are needed in all.
    """

    def __init__(self, large: LargeValues, group: IndexArray, n_values: int) -> None:
        of = large.posteriors
        self._at = beta_quantiles if n_values > _MANY else _plain_quantiles
        self._table = np.array(
            [
                *_for_tails(large._log_scale, of.a, of.b),
                *_for_tails(large._wide_log_scale, of.wide_a, of.wide_b),
                of.weight,
                of.lift,
                -ndtri(of.weight) - of.lift - _SLACK,
                large._mean,
                large._std,
                skew(of.a, of.b),
            ]
        )
        self._columns = self._table.take(group, axis=1)

    def values(self, group: IndexArray, scores: FloatArray) -> FloatArray:
        """What `MixedPosteriors.at` gives, up to rounding, for some groups, shape (n,)."""
        table = self._table.take(group, axis=1)
        values = self._at(table[1], table[2], table[0], scores)
        wide = (scores >= table[_FROM]).nonzero()[0]
        if len(wide):
            table = table.take(wide, axis=1)
            within, is_wide = _within(table, scores.take(wide))
            if len(wide) > _FEW:
                # Most wide parts are too small to raise a value, and need no quantile.
                is_wide &= _log_tail(table[_WIDE], values.take(wide)) >= log_ndtr(-within) - _SLACK
            few = is_wide.nonzero()[0]
            wide, (scale, a, b, _) = wide.take(few), table[_WIDE].take(few, axis=1)
            values[wide] = np.maximum(values.take(wide), self._at(a, b, scale, within.take(few)))
        return values

    def guessed(self, scores: FloatArray, n: int) -> IndexArray:
        """The columns of n numbers per row of scores, which seem to have the largest values."""
        if n == scores.shape[1]:
            return np.broadcast_to(np.arange(n), scores.shape)
        guess = guess_at(self._columns[_MOMENTS], scores)
        row, column = wide = (scores >= self._columns[_FROM]).nonzero()
        if len(row):
            table = self._columns.take(column, axis=1)
            within, is_wide = _within(table, scores[wide])
            _, a, b, _ = table[_WIDE]
            mean = a / (a + b)
            moments = mean, np.sqrt(mean * (1 - mean) / (a + b + 1)), skew(a, b)
            at_wide = np.where(is_wide, guess_at(moments, within), -np.inf)
            guess[wide] = np.maximum(guess[wide], at_wide)
        return guess.argpartition(-n, axis=1)[:, -n:]

    def others(
        self, scores: FloatArray, level: FloatArray, known: tuple[IndexArray, IndexArray]
    ) -> tuple[IndexArray, IndexArray]:
        """The rows and columns of scores whose values may be as large as the level of their row.

        Without the ``known`` ones, which are rows and columns, too.
        """
        table, (x, is_usable) = self._columns, _usable(level)
        margin = 1 - x
        bound = np.array([np.ones(len(x)), np.log(x), np.log(margin)]).T @ table[:3]
        gap = 1 - margin[:, None] * table[3]
        bound -= np.log(np.maximum(gap, _TINY))
        z = np.maximum(scores, 0.0)
        bound += z * (z / 2 + _SLOPE)
        may = bound >= _LOG_HALF - _SLACK
        may |= gap <= 0
        may |= scores >= table[_FROM]
        may[~is_usable] = True
        may[known] = False
        row, column = may.nonzero()
        kept = self._above(table.take(column, axis=1), scores[row, column], level.take(row))
        return row.take(kept), column.take(kept)

    def above(self, group: IndexArray, scores: FloatArray, level: FloatArray) -> IndexArray:
        """Where the values of groups at scores may be as large as levels, shape (n,) each."""
        return self._above(self._table.take(group, axis=1), scores, level)

    def _above(self, table: FloatArray, scores: FloatArray, level: FloatArray) -> IndexArray:
        if len(scores) <= _FEW:
            return np.arange(len(scores))  # to compute the values takes less time
        x, is_usable = _usable(level)
        below = at_most(table[1], table[2], table[_MOMENTS], scores) < x
        near = (~below).nonzero()[0]
        plain = _log_tail(table[_PLAIN].take(near, axis=1), x.take(near))
        below[near] = plain < log_ndtr(-scores.take(near)) - _SLACK
        below &= is_usable
        wide = (below & (scores >= table[_FROM])).nonzero()[0]
        if len(wide):
            table = table.take(wide, axis=1)
            within, is_wide = _within(table, scores.take(wide))
            bound = _log_tail(table[_WIDE], x.take(wide))
            below[wide] = ~is_wide | (bound < log_ndtr(-within) - _SLACK)
        return (~below).nonzero()[0]


def _plain_quantiles(
    a: FloatArray, b: FloatArray, log_scale: FloatArray, scores: FloatArray
) -> FloatArray:
    return beta_at(a, b, scores)


def _within(table: FloatArray, scores: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The scores of the wide parts of posteriors, as in `MixedPosteriors.at`, and if they count."""
    tail, weight = ndtr(-(scores + table[_LIFT])), table[_WEIGHT]
    is_wide: BoolArray = tail < weight
    share = np.where(is_wide, tail, 0.5) / np.where(is_wide, weight, 1.0)
    return wide_scores(-ndtri(share)), is_wide


def _usable(level: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Levels for which there are bounds, others replaced, and which those are."""
    is_usable: BoolArray = (level > 0) & (level < _LARGEST)
    return np.where(is_usable, level, 0.5), is_usable


def _for_tails(log_scale: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, ...]:
    return log_scale, a, b, np.maximum((a + b) / (b + 1), 1.0)


def _log_tail(of: FloatArray, x: FloatArray) -> FloatArray:
    """What `log_tail` computes, where every posterior has an x of its own."""
    log_scale, a, b, ratio = of
    x = np.minimum(np.maximum(x, _TINY), _BELOW_ONE)
    gap = 1 - (1 - x) * ratio
    bound = log_scale + a * np.log(x) + b * np.log1p(-x) - np.log(np.maximum(gap, _TINY))
    return np.where(gap > 0, bound, 0.0)
