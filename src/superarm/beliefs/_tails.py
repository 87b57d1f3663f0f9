"""Which groups of arms have large values, without computing the values of the others.

A value is the quantile of a posterior at a score, and quantiles are expensive. It is at most x if
the posterior has no more above x than the standard normal distribution above the score. Upper
bounds on what a Beta distribution has above x are cheap, and close where x is not below the mean.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.beliefs._bounds import Bounds, has_tie
from superarm.beliefs._expansion import at_most, skew
from superarm.beliefs._scores import BoolArray, MixedPosteriors, wide_scores
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import log_ndtr, ndtr, ndtri

_MORE = 3  # groups more than k whose values are computed in any case
_MANY = 12  # with more groups left, other bounds are computed
_FEW = 4  # values that are computed faster one by one
_SLACK = 1e-6  # of logarithms of probabilities: more than their rounding
_LARGEST = 1 - 1e-9  # at larger values, ties are a matter of rounding


def log_tail(a: FloatArray, b: FloatArray, log_scale: FloatArray, x: float) -> FloatArray:
    """Upper bounds on log P(X > x) for X ~ Beta(a, b), with log_scale = -log(b B(a, b)).

    P(X > x) is x^a (1 - x)^b / (b B(a, b)) times the sum of a series that begins with 1 (DLMF
    8.17.8, for 1 - X). The ratio of neighbours goes from (a + b)(1 - x) / (b + 1) to 1 - x, so with
    the larger of the two, r, the sum is at most 1 / (1 - r).
    """
    ratio = np.maximum((a + b) * (1 - x) / (b + 1), 1 - x)
    bound = log_scale + a * math.log(x) + b * math.log1p(-x)
    is_bound = ratio < 1
    bound -= np.log1p(-ratio, where=is_bound, out=np.zeros(len(a)))
    bound[~is_bound] = 0.0
    return bound


class LargeValues:
    """The largest values of posteriors at scores.

    Parameters
    ----------
    posteriors
        The posteriors of groups.
    log_scale, wide_log_scale
        Shape (n_groups,): those of `log_tail`, for both parts of the posteriors.
    mean, std
        Shape (n_groups,): those of the first part.
    """

    def __init__(
        self,
        posteriors: MixedPosteriors,
        log_scale: FloatArray,
        wide_log_scale: FloatArray,
        mean: FloatArray,
        std: FloatArray,
    ) -> None:
        self.posteriors, self._mean, self._std = posteriors, mean, std
        self._log_scale, self._wide_log_scale = log_scale, wide_log_scale

    def bounds(self, k: int, scores: FloatArray) -> SomeBounds | None:
        """The bounds of k groups or more; all others are below the k-th largest.

        None if there are ties among the first k + 1, or values of 1 up to rounding.
        """
        # Any k values bound the k-th largest from below. The values that seem largest do it best.
        guess = self._mean + self._std * scores
        first = (-guess).argpartition(k + _MORE - 1)[: k + _MORE]
        values = self.values(first, scores)
        level = float(np.partition(values, -k)[-k])
        if not 0 < level < _LARGEST:
            return None
        more = self.above(level, scores, first)
        if len(more):
            first = np.concatenate([first, more])
            values = np.concatenate([values, self.values(more, scores)])
        order = (-values).argsort()[: k + 1]
        best = values.take(order)
        if has_tie(best):
            return None
        bounds = np.full(len(scores), -math.inf)
        bounds[first] = values
        return SomeBounds(self, scores, bounds, first.take(order[:k]), float(best[k - 1]), first)

    def values(self, of: IndexArray, scores: FloatArray) -> FloatArray:
        """The values of some groups."""
        if len(of) <= _FEW:
            value = self.posteriors.value
            return np.array([value(group, scores.item(group)) for group in of.tolist()])
        return self.posteriors.of(of).at(scores.take(of))

    def above(self, level: float, scores: FloatArray, known: IndexArray) -> IndexArray:
        """The groups whose values may be as large as a level, without the known groups."""
        below = self._below(level, scores)
        below[known] = True
        found = (~below).nonzero()[0]
        return found if len(found) <= _MANY else found[self._may_reach(level, scores, found)]

    def _may_reach(self, level: float, scores: FloatArray, of: IndexArray) -> BoolArray:
        """Whether some values may be as large as a level, by other bounds, close near the mean."""
        some, scores = self.posteriors.of(of), scores.take(of)
        moments = self._mean.take(of), self._std.take(of), skew(some.a, some.b)
        is_wide = ndtr(-(scores + some.lift)) < some.weight
        return (at_most(some.a, some.b, moments, scores) >= level) | is_wide

    def _below(self, level: float, scores: FloatArray) -> BoolArray:
        """Which values are below a level for sure."""
        of = self.posteriors
        below: BoolArray = log_tail(of.a, of.b, self._log_scale, level) < log_ndtr(-scores) - _SLACK
        tail = ndtr(-(scores + of.lift))
        if len(wide := ((tail < of.weight) & below).nonzero()[0]):
            # As in `MixedPosteriors.at`.
            within = wide_scores(-ndtri(tail.take(wide) / of.weight.take(wide)))
            scale = self._wide_log_scale.take(wide)
            bound = log_tail(of.wide_a.take(wide), of.wide_b.take(wide), scale, level)
            below[wide] = bound < log_ndtr(-within) - _SLACK
        return below


class SomeBounds(Bounds):
    """The bounds of the groups with large values, and those of others as soon as they are needed.

    Attributes
    ----------
    level
        All groups that are not known are below it.
    known
        The groups whose bounds were computed.
    """

    def __init__(
        self,
        large: LargeValues,
        scores: FloatArray,
        values: FloatArray,
        first: IndexArray,
        level: float,
        known: IndexArray,
    ) -> None:
        super().__init__(large.posteriors, scores, values, first, True)
        self._large, self._level, self._known = large, level, known

    def promising(self, level: float, n_drawn: FloatArray, k: int) -> IndexArray:
        """As `Bounds.promising`. Measured outcomes give arms lower values than their groups."""
        if level < self._level:
            new = self._large.above(level, self.scores, self._known)
            self.change(new, self.scores.take(new))
            self._known, self._level = np.concatenate([self._known, new]), level
        return super().promising(level, n_drawn, k)
