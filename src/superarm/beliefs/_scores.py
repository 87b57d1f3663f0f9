"""Draws from Beta posteriors by normal scores, of which arms share a part.

A value theta_i with the score z_i is the quantile of arm i's posterior at Phi(z_i). If z_i is
standard normal, theta_i has the law of the posterior. Arms may share a part of their scores:
z_i = sqrt(shared) · z_0 + sqrt(1 - shared) · e_i is standard normal for any ``shared``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs._equal_arms import EqualArms
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betaincinv, ndtr, ndtri, ndtri_exp

BoolArray = NDArray[np.bool_]

# With t rounds to come, the best index of a uniform prior is about 1 - 1 / sqrt(t) (Gittins), and
# its quantile at a score that rises with log(t) comes much closer to 1. So in the wide part of a
# posterior, what scores are above the first number counts for the second number, a tenth.
_HIGH, _BEYOND = 1.5, 0.1


def beta_at(a: FloatArray, b: FloatArray, scores: FloatArray) -> FloatArray:
    """The quantiles of Beta(a, b) at Phi(scores)."""
    is_low = scores < 0
    # The smaller tail keeps its digits, and 1 - theta is Beta(b, a).
    tail = betaincinv(np.where(is_low, a, b), np.where(is_low, b, a), ndtr(-np.abs(scores)))
    return np.asarray(np.where(is_low, tail, 1 - tail), np.float64)


def wide_scores(scores: Any, xp: Any = np) -> Any:
    """The scores at which the wide part of a posterior is taken."""
    return xp.minimum(scores, _HIGH + _BEYOND * (scores - _HIGH))


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
        return PlainPosteriors(self.a[places], self.b[places])

    def at(self, scores: FloatArray) -> FloatArray:
        """The quantiles at Phi(scores), shape (n,)."""
        return beta_at(self.a, self.b, scores)


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
        return MixedPosteriors(*(column[places] for column in columns))

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
        return self.spread * float(np.sqrt(self.shared))

    @property
    def own_std(self) -> float:
        """The standard deviation of the part that each arm has for itself."""
        return self.spread * float(np.sqrt(1 - self.shared))

    def draw(
        self, n_arms: int, held: BoolArray | None = None, *, rng: np.random.Generator
    ) -> FloatArray:
        """One score per arm. For ``held`` arms, e_i is `largest_score` and not drawn."""
        common = self.common_std * rng.standard_normal()
        own = rng.standard_normal(n_arms)
        if held is not None:
            own[held] = largest_score(n_arms)
        return common + self.own_std * own


@dataclass(frozen=True, eq=False)
class TopOfGroups:
    """The k largest values of arms in groups, from few draws.

    All arms of a group have scores of the same law, and posteriors that are at most that of the
    group. The largest own score of a group is drawn directly, without the others: the largest of n
    uniform numbers is U^(1/n), the next one is that times U^(1/(n-1)), and so on. With the
    posterior of the group it bounds the values of all arms that are left there. An arm of the group
    is drawn for it, and the arm's value is computed, only while the bound may be among the k
    largest values.

    Attributes
    ----------
    bounds, shift, held
        Shape (n_groups,): the posterior of each group, what is added to the scores of its arms, and
        whether their e_i is `largest_score` instead of a draw.
    groups, scores
        The arms of each group, and the law of the scores.
    posteriors
        The posteriors of some arms.
    """

    bounds: AtScores
    shift: FloatArray
    held: BoolArray
    groups: EqualArms
    scores: SharedScores
    posteriors: Callable[[IndexArray], AtScores]

    def draw(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        common = self.scores.common_std * rng.standard_normal()
        race = Race(self.groups, rng=rng)
        every = np.arange(len(self.shift))
        bounds = self.bounds.at(self._scores(every, race.log_u, common))
        arms, values, level = np.empty(0, np.intp), np.empty(0), -np.inf
        # Among equal values those that come first are as good as the others.
        while len(of := ((bounds > level) | (bounds == level) & (race.n_drawn < k)).nonzero()[0]):
            if len(of) > k:
                of = of[np.argpartition(-bounds[of], k)[:k]]
            group, log_u, new = race.next(of, max(1, k // len(of)), rng=rng)
            scores = self._scores(group, log_u, common)
            arms = np.concatenate([arms, new])
            values = np.concatenate([values, self.posteriors(new).at(scores)])
            best = _first(values, k, rng)
            arms, values = arms[best], values[best]
            level = values[-1] if len(values) == k else -np.inf
            bounds[of] = -np.inf
            # Most groups of few arms are empty by now, and need no bound.
            if len(of := of[race.left[of] > 0]):
                bounds[of] = self.bounds.of(of).at(self._scores(of, race.log_u[of], common))
        order = np.argsort(arms)
        return arms[order], values[order]

    def _scores(self, of: IndexArray, log_u: FloatArray, common: float) -> FloatArray:
        scores = self.shift[of] + common
        if self.scores.own_std > 0:
            drawn = np.asarray(ndtri_exp(log_u), np.float64)
            own = np.where(self.held[of], largest_score(self.groups.n_arms), drawn)
            scores = scores + self.scores.own_std * own
        return scores


class Race:
    """The arms of groups in the order of their own scores, the largest first, as far as needed.

    Attributes
    ----------
    log_u
        Shape (n_groups,): the logarithm of Phi of the largest own score that is left.
    n_drawn, left
        Shape (n_groups,): how many arms of each group are drawn, and how many are left.
    """

    def __init__(self, groups: EqualArms, *, rng: np.random.Generator) -> None:
        self._groups, self.left = groups, groups.sizes()
        self.n_drawn = np.zeros_like(self.left)
        self.log_u = np.log1p(-rng.random(len(self.left))) / self.left
        self._places: dict[int, set[int]] = {}

    def next(
        self, of: IndexArray, most: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Up to ``most`` more arms of each of some groups: groups, log of Phi(score), and arms."""
        after = self.left[of, None] - np.arange(1, most + 1)
        steps = np.log1p(-rng.random(after.shape)) / np.maximum(after, 1)
        log_u = np.concatenate([self.log_u[of, None], steps], axis=1).cumsum(axis=1)
        is_there = after >= 0
        n_new = is_there.sum(axis=1)
        arms = [
            arm
            for group, n in zip(of.tolist(), n_new.tolist(), strict=True)
            for arm in self._members(group, n, rng)
        ]
        self.log_u[of] = log_u[:, -1]
        self.left[of] -= n_new
        self.n_drawn[of] += n_new
        return of.repeat(n_new), log_u[:, :-1][is_there], np.array(arms, np.intp)

    def _members(self, group: int, n: int, rng: np.random.Generator) -> list[int]:
        """n random arms of a group that were not drawn before."""
        members, taken = self._groups.arms_of(group), self._places.setdefault(group, set())
        arms: list[int] = []
        while len(arms) < n:
            place = int(rng.integers(len(members))) if len(members) > 1 else 0
            if place not in taken:
                taken.add(place)
                arms.append(members.at(place))
        return arms


def _first(values: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """The places of the k largest values, the largest first; ties in random order."""
    return np.lexsort((rng.random(len(values)), -values))[:k]
