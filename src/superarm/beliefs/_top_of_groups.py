"""The k largest values of arms whose scores they share in part, from few draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri_exp

from superarm.beliefs._bounds import Bounds
from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._levels import GroupsAbove
from superarm.beliefs._scores import AtScores, BoolArray, SharedScores, largest_score
from superarm.core.arguments import FloatArray, IndexArray

_ALL = slice(None)
# The bounds of so many groups cost about as much as to find out which are needed.
_FEW_GROUPS = 24


@dataclass(eq=False)
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
        The posteriors of some arms; None where these are those of their groups, which are given.
    above
        The groups above any level, given the scores of all groups; None to compute all bounds.
    """

    bounds: AtScores
    shift: FloatArray
    held: BoolArray
    groups: EqualArms
    scores: SharedScores
    posteriors: Callable[[IndexArray, IndexArray], AtScores | None]
    above: Callable[[FloatArray], GroupsAbove] | None = None

    def draw(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        common = self.scores.common_std * rng.standard_normal()
        race = Race(self.groups, rng=rng)
        bounds = self._bounds(k, self._scores(_ALL, race.log_u, common), common)
        of, arms, values = bounds.first, np.empty(0, np.intp), np.empty(0)
        while len(of):
            group, log_u, new = race.next(of, max(1, k // len(of)), rng=rng)
            own = self.posteriors(new, group)
            if own is None and group is of:  # one arm of each group: its value is the bound
                found = bounds.values.take(of)
            else:
                at = self.bounds.of(group) if own is None else own
                found = at.at(self._scores(group, log_u, common))
            if len(values):
                new, found = np.concatenate([arms, new]), np.concatenate([values, found])
            best = _first(found, k, rng)
            arms, values = new.take(best), found.take(best)
            level = values[-1] if len(values) == k else -np.inf
            bounds.use_up(of)
            # Most groups of few arms are empty by now, and need no bound.
            if len(of := of[race.left.take(of) > 0]):
                bounds.change(of, self._scores(of, race.log_u.take(of), common))
            of = bounds.promising(level, race.n_drawn, k)
        order = arms.argsort()
        return arms.take(order), values.take(order)

    def _bounds(self, k: int, scores: FloatArray, common: float) -> Bounds:
        found = None
        if self.above is not None and len(scores) > max(k, _FEW_GROUPS):
            found = self.above(scores).at_least(k, common)
        return Bounds.of_all(self.bounds, scores, k) if found is None else found

    def _scores(self, of: IndexArray | slice, log_u: FloatArray, common: float) -> FloatArray:
        scores = self.shift[of] + common
        if (own_std := self.scores.own_std) > 0:
            own = np.where(self.held[of], largest_score(self.groups.n_arms), ndtri_exp(log_u))
            scores += own_std * own
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
        self._groups, self.left = groups, groups.sizes().copy()
        self.n_drawn = np.zeros(len(self.left))
        self.log_u = np.log1p(-rng.random(len(self.left))) / self.left
        self._places: dict[int, set[int]] = {}

    def next(
        self, of: IndexArray, most: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Up to ``most`` more arms of each of some groups: groups, log of Phi(score), and arms."""
        if most == 1 and self.left.take(of).all():
            return self._next(of, rng)
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

    def _next(
        self, of: IndexArray, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """The same for one more arm of each, if they have one: the usual case."""
        after, log_u = self.left.take(of) - 1, self.log_u.take(of)
        self.log_u[of] = log_u + np.log1p(-rng.random(len(of))) / np.maximum(after, 1)
        arms = [arm for group in of.tolist() for arm in self._members(group, 1, rng)]
        self.left[of] = after
        self.n_drawn[of] += 1
        return of, log_u, np.array(arms, np.intp)

    def _members(self, group: int, n: int, rng: np.random.Generator) -> list[int]:
        """n random arms of a group that were not drawn before."""
        members = self._groups.arms_of(group)
        n_members = len(members)
        if n_members == 1:
            return [members.at(0)] * n
        taken = self._places.setdefault(group, set())
        arms: list[int] = []
        while len(arms) < n:
            place = int(rng.integers(n_members))
            if place not in taken:
                taken.add(place)
                arms.append(members.at(place))
        return arms


def _first(values: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """The places of the k largest values, the largest first; ties in random order."""
    return np.lexsort((rng.random(len(values)), -values))[:k]
