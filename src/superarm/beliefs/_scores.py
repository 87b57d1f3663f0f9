"""Draws from Beta posteriors by normal scores, of which arms share a part.

A value theta_i with the score z_i is the quantile of arm i's posterior at Phi(z_i). If z_i is
standard normal, theta_i has the law of the posterior. Arms may share a part of their scores:
z_i = sqrt(shared) · z_0 + sqrt(1 - shared) · e_i is standard normal for any ``shared``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri_exp

from superarm.beliefs._beta_bounds import beta_at_most
from superarm.beliefs._equal_arms import EqualArms
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k

BoolArray = NDArray[np.bool_]

# So many quantiles per place of a set are computed first. More cost time, and fewer give a level
# that the bounds of more other arms reach.
_FIRST_PER_PLACE = 8


def beta_at(a: FloatArray, b: FloatArray, scores: FloatArray) -> FloatArray:
    """The quantiles of Beta(a, b) at Phi(scores)."""
    is_low = scores < 0
    # The smaller tail keeps its digits, and 1 - theta is Beta(b, a).
    tail = betaincinv(np.where(is_low, a, b), np.where(is_low, b, a), ndtr(-np.abs(scores)))
    return np.asarray(np.where(is_low, tail, 1 - tail), np.float64)


def largest_score(n: int) -> float:
    """What the largest of n standard normal numbers is at most on average: sqrt(2 log n)."""
    return math.sqrt(2 * math.log(n))


def top_at(
    a: FloatArray, b: FloatArray, scores: FloatArray, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """The places of the k largest quantiles of Beta(a, b) at Phi(scores), ascending, and these.

    Quantiles are computed only for places whose upper bound is among the largest, and then for
    those whose bound reaches the k-th of these quantiles.
    """
    bounds = beta_at_most(a, b, scores)
    values = np.full(len(a), -np.inf)
    n_first = min(len(a), _FIRST_PER_PLACE * k)
    first = np.argpartition(-bounds, n_first - 1)[:n_first]
    values[first] = beta_at(a[first], b[first], scores[first])
    level = np.partition(values[first], n_first - k)[n_first - k]
    bounds[first] = -np.inf
    rest = np.flatnonzero(bounds >= level)
    values[rest] = beta_at(a[rest], b[rest], scores[rest])
    best = top_k(values, k, rng=rng)
    return best, values[best]


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
    """The k largest values of arms in groups of equal posteriors, from few draws.

    Within a group the order of the values is that of the own scores e_i. So the largest value of a
    group needs the largest of its e_i only, which is drawn directly: the largest of n uniform
    numbers is U^(1/n), the next one is that times U^(1/(n-1)), and so on. The next value of a group
    is drawn only if the last one is among the k largest so far. Which arm of the group it belongs
    to is drawn at the end.

    Attributes
    ----------
    a, b, shift, held
        Shape (n_groups,): the posterior of the arms of each group, what is added to their scores,
        and whether their e_i is `largest_score` instead of a draw.
    groups, scores
        The arms of each group, and the law of the scores.
    """

    a: FloatArray
    b: FloatArray
    shift: FloatArray
    held: BoolArray
    groups: EqualArms
    scores: SharedScores

    def draw(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        common = self.scores.common_std * rng.standard_normal()
        left, log_u = self.groups.sizes(), np.zeros(len(self.a))
        active = np.arange(len(self.a))
        of, values = np.empty(0, np.intp), np.empty(0)
        # In each pass, a group that is still in the race draws its next value: at most k of them.
        for _ in range(k):
            log_u[active] += np.log1p(-rng.random(len(active))) / left[active]
            left[active] -= 1
            new = self._values(active, common, log_u[active])
            of, values = np.append(of, active), np.append(values, new)
            # A group can add to the k largest only if its latest value is one of them.
            best = _first(values, k, rng)
            of, values = of[best], values[best]
            active = active[(left[active] > 0) & ((new >= values[-1]) | (len(values) < k))]
            if not len(active):
                break
        return self._named(of, values, rng=rng)

    def _values(self, of: IndexArray, common: float, log_u: FloatArray) -> FloatArray:
        scores = self.shift[of] + common
        if self.scores.own_std > 0:
            drawn = np.asarray(ndtri_exp(log_u), np.float64)
            own = np.where(self.held[of], largest_score(self.groups.n_arms), drawn)
            scores = scores + self.scores.own_std * own
        return beta_at(self.a[of], self.b[of], scores)

    def _named(
        self, of: IndexArray, values: FloatArray, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        arms = np.empty(len(of), np.intp)
        for group in np.unique(of):
            mine, members = np.flatnonzero(of == group), self.groups.arms_of(group)
            chosen = rng.choice(len(members), len(mine), replace=False)
            arms[mine] = [members.at(place) for place in chosen.tolist()]
        order = np.argsort(arms)
        return arms[order], values[order]


def _first(values: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """The places of the k largest values, the largest first; ties in random order."""
    return np.lexsort((rng.random(len(values)), -values))[:k]
