"""Draws from Beta posteriors by normal scores, of which arms share a part.

A value theta_i with the score z_i is the quantile of arm i's posterior at Phi(z_i). If z_i is
standard normal, theta_i has the law of the posterior. Arms may share a part of their scores:
z_i = sqrt(shared) · z_0 + sqrt(1 - shared) · e_i is standard normal for any ``shared``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betaincinv, ndtr, ndtri

BoolArray = NDArray[np.bool_]

# With t rounds to come, the best index of a uniform prior is about 1 - 1 / sqrt(t) (Gittins), and
# its quantile at a score that rises with log(t) comes much closer to 1. So in the wide part of a
# posterior, what scores are above the first number counts for the second number, a tenth.
_HIGH, _BEYOND = 1.5, 0.1


def beta_at(a: FloatArray, b: FloatArray, scores: FloatArray) -> FloatArray:
    """The quantiles of Beta(a, b) at Phi(scores)."""
    is_low = scores < 0
    # The smaller tail keeps its digits, and 1 - theta is Beta(b, a).
    if not is_low.any():
        return np.asarray(1 - betaincinv(b, a, ndtr(-scores)), np.float64)
    tail = betaincinv(np.where(is_low, a, b), np.where(is_low, b, a), ndtr(-np.abs(scores)))
    return np.asarray(np.where(is_low, tail, 1 - tail), np.float64)


def beta_value(a: float, b: float, score: float) -> float:
    """One value of `beta_at`, in less time."""
    if score < 0:
        return float(betaincinv(a, b, ndtr(score)))
    return 1 - float(betaincinv(b, a, ndtr(-score)))


def wide_scores(scores: Any, xp: Any = np) -> Any:
    """The scores at which the wide part of a posterior is taken."""
    return xp.minimum(scores, _HIGH + _BEYOND * (scores - _HIGH))


class _Plain:
    """For `wide_scores` of one score."""

    minimum = staticmethod(min)


def largest_score(n: int) -> float:
    """What the largest of n standard normal numbers is at most on average: sqrt(2 log n)."""
    return math.sqrt(2 * math.log(n))


def beta_draw(
    a: FloatArray, b: FloatArray, shared: float, *, rng: np.random.Generator
) -> FloatArray:
    """One draw from every Beta(a, b); with ``shared`` above 0 by scores that arms share in part."""
    if shared == 0:
        return rng.beta(a, b)
    return beta_at(a, b, SharedScores(shared).draw(len(a), rng=rng))


def with_shared(state: Any) -> Any:
    """A saved state with ``shared``: files that were saved before it existed do not have it."""
    return {"shared": 0.0, **state} if isinstance(state, dict) else state


class AtScores(Protocol):
    """Posteriors that give values at scores."""

    def of(self, places: IndexArray) -> AtScores:
        """Some of the posteriors."""

    def at(self, scores: FloatArray) -> FloatArray:
        """The values at some scores, one per posterior."""

    def value(self, place: int, score: float) -> float:
        """The value of one posterior at a score."""


@dataclass(frozen=True, eq=False)
class PlainPosteriors:
    """Beta posteriors, whose values are their quantiles.

    Attributes
    ----------
    a, b
        Shape (n,).
    """

    a: FloatArray
    b: FloatArray

    def of(self, places: IndexArray) -> PlainPosteriors:
        """Some of them."""
        return PlainPosteriors(self.a.take(places), self.b.take(places))

    def at(self, scores: FloatArray) -> FloatArray:
        """The quantiles at Phi(scores), shape (n,)."""
        return beta_at(self.a, self.b, scores)

    def value(self, place: int, score: float) -> float:
        """The quantile of one posterior at Phi(score)."""
        return beta_value(self.a.item(place), self.b.item(place), score)


@dataclass(frozen=True, eq=False)
class MixedPosteriors:
    """Beta posteriors of arms that may come from either of two priors.

    A posterior is Beta(a, b) or, with probability ``weight``, Beta(wide_a, wide_b). Its value at a
    score is the larger of two quantiles: that of the first part, and that of the second part where
    it has as much of the upper tail, which is at most the quantile of the mixture. So the second
    part can raise a value above that of the first, and never lowers it. In the second part, scores
    above 1.5 count for a tenth: it suffices to try an arm, and known good arms stay.

    Attributes
    ----------
    a, b, wide_a, wide_b, weight, lift
        Shape (n,). The lift is added to scores for the second part.
    """

    a: FloatArray
    b: FloatArray
    wide_a: FloatArray
    wide_b: FloatArray
    weight: FloatArray
    lift: FloatArray

    def of(self, places: IndexArray) -> MixedPosteriors:
        """Some of them."""
        columns = (self.a, self.b, self.wide_a, self.wide_b, self.weight, self.lift)
        return MixedPosteriors(*[column.take(places) for column in columns])

    def at(self, scores: FloatArray) -> FloatArray:
        """The values at some scores, shape (n,)."""
        values = beta_at(self.a, self.b, scores)
        tail = ndtr(-(scores + self.lift))
        wide = (tail < self.weight).nonzero()[0]
        if len(wide):
            within = -ndtri(tail[wide] / self.weight[wide])
            at_wide = beta_at(self.wide_a[wide], self.wide_b[wide], wide_scores(within))
            values[wide] = np.maximum(values[wide], at_wide)
        return values

    def value(self, place: int, score: float) -> float:
        """The quantile of one posterior at Phi(score)."""
        value = beta_value(self.a.item(place), self.b.item(place), score)
        tail, weight = float(ndtr(-(score + self.lift.item(place)))), self.weight.item(place)
        if tail < weight:
            within = wide_scores(float(-ndtri(tail / weight)), _Plain)
            at_wide = beta_value(self.wide_a.item(place), self.wide_b.item(place), within)
            return max(value, at_wide)
        return value


@dataclass(frozen=True)
class SharedScores:
    """Scores spread · (sqrt(shared) · z_0 + sqrt(1 - shared) · e_i), with normal z_0 and e_i.

    Attributes
    ----------
    shared
        From 0 to 1: the correlation of the scores of two arms.
    spread
        The standard deviation of a score; with 1, values have the law of the posteriors.
    """

    shared: float
    spread: float = 1.0

    @property
    def common_std(self) -> float:
        """The standard deviation of the part that all arms share."""
        return self.spread * math.sqrt(self.shared)

    @property
    def own_std(self) -> float:
        """The standard deviation of the part that each arm has for itself."""
        return self.spread * math.sqrt(1 - self.shared)

    def draw(
        self, n_arms: int, held: BoolArray | None = None, *, rng: np.random.Generator
    ) -> FloatArray:
        """One score per arm. For ``held`` arms, e_i is `largest_score` and not drawn."""
        common = self.common_std * rng.standard_normal()
        own = rng.standard_normal(n_arms)
        if held is not None:
            own[held] = largest_score(n_arms)
        return common + self.own_std * own
