"""The k largest values of arms whose scores they share in part, from few draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.beliefs._bounds import Bounds
from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._scores import AtScores, BoolArray, SharedScores, largest_score
from superarm.beliefs._tails import LargeValues
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import ndtri_exp

_ALL = slice(None)
_SLACK = 1e-9  # more than the rounding of values
# Bounds of this many groups cost about as much as finding out which groups need one.
_FEW_GROUPS = 16
# Seeded results of sets with fewer places must stay as they are.
_MANY_PLACES = 500


def whole_is_faster(k: int, n_arms: int, arms_per_place: int) -> bool:
    """Whether the k largest values take less time from a whole sample than from few draws.

    A place of the set takes about as long as ``arms_per_place`` arms of a whole sample.
    """
    return k >= _MANY_PLACES and arms_per_place * k > n_arms


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
        The posteriors of some arms; None if they are those of their groups.
    large
        What finds large values of the groups; None to compute all of them.
    """

    bounds: AtScores
    shift: FloatArray
    held: BoolArray
    groups: EqualArms
    scores: SharedScores
    posteriors: Callable[[IndexArray], AtScores] | None = None
    large: LargeValues | None = None

    def draw(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        common = self.scores.common_std * rng.standard_normal()
        race = Race(self.groups, rng=rng)
        bounds = self._bounds(k, self._scores(_ALL, race.log_u, common))
        if self.posteriors is None and bounds.is_strict:
            return self._draw_of_first(race, bounds, common, rng=rng)
        of, arms, values = bounds.first, np.empty(0, np.intp), np.empty(0)
        while len(of):
            group, log_u, new = race.next(of, max(1, k // len(of)), rng=rng)
            posteriors = self.bounds.of(group) if self.posteriors is None else self.posteriors(new)
            found = posteriors.at(self._scores(group, log_u, common))
            arms, values = np.concatenate([arms, new]), np.concatenate([values, found])
            best = np.lexsort((rng.random(len(values)), -values))[:k]  # ties in random order
            arms, values = arms.take(best), values.take(best)
            level = values[-1] if len(values) == k else -np.inf
            bounds.use_up(of)
            # Most groups of few arms are empty by now, and need no bound.
            if len(of := of[race.left.take(of) > 0]):
                bounds.change(of, self._scores(of, race.log_u.take(of), common))
            of = bounds.promising(level, race.n_drawn, k)
        order = arms.argsort()
        return arms.take(order), values.take(order)

    def _draw_of_first(
        self, race: Race, bounds: Bounds, common: float, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """What `draw` gives if the values of arms are the bounds of their groups; same draws.

        Then all values come from the groups with the k largest bounds. Numbers instead of arrays,
        because there are few: k arms, and some more of groups that have many.
        """
        first, k = bounds.first.tolist(), len(bounds.first)
        values = bounds.values.take(bounds.first).tolist()
        arms = race.first(first, rng=rng)
        rng.random(k)  # would break ties, of which there are none
        left = {group: self._bound(group, race, common) for group in race.more(first)}
        while of := sorted(
            group
            for group, bound in left.items()
            if bound > values[-1] or (bound == values[-1] and race.n_drawn.item(group) < k)
        ):
            for group, log_u, new in race.rows(of, max(1, k // len(of)), rng=rng):
                value = left.pop(group)
                for place, arm in enumerate(new):
                    # Lower scores of the same group have lower values, which do not matter.
                    if place and value > values[-1] - _SLACK:
                        value = self.bounds.value(group, self._score(group, log_u[place], common))
                    arms.append(arm)
                    values.append(value)
            ties = rng.random(len(values)).tolist()
            best = sorted(range(len(values)), key=lambda i: (-values[i], ties[i]))[:k]
            arms, values = [arms[i] for i in best], [values[i] for i in best]
            for group in race.more(of):
                left[group] = self._bound(group, race, common)
        order = sorted(range(k), key=arms.__getitem__)
        return np.array([arms[i] for i in order], np.intp), np.array([values[i] for i in order])

    def _bound(self, group: int, race: Race, common: float) -> float:
        """What bounds the values of the arms that are left in a group."""
        return self.bounds.value(group, self._score(group, race.log_u.item(group), common))

    def _score(self, group: int, log_u: float, common: float) -> float:
        """The score of one group, as in `_scores`."""
        score = self.shift.item(group) + common
        if (own_std := self.scores.own_std) > 0:
            is_held = self.held.item(group)
            own = largest_score(self.groups.n_arms) if is_held else float(ndtri_exp(log_u))
            score += own_std * own
        return score

    def _bounds(self, k: int, scores: FloatArray) -> Bounds:
        found = None
        if self.large is not None and len(scores) > k + _FEW_GROUPS:
            found = self.large.bounds(k, scores)
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

    def first(self, of: list[int], *, rng: np.random.Generator) -> list[int]:
        """One arm of each of some groups, as by `next`."""
        steps = np.log1p(-rng.random(len(of))).tolist()
        arms = []
        for group, step in zip(of, steps, strict=True):
            if (left := self.left.item(group)) > 1:
                self.log_u[group] += step / (left - 1)
            self.left[group], self.n_drawn[group] = left - 1, 1
            arms += self._members(group, 1, rng)
        return arms

    def more(self, of: list[int]) -> list[int]:
        """The groups of some that have arms left."""
        return [group for group in of if self.left.item(group)]

    def rows(
        self, of: list[int], most: int, *, rng: np.random.Generator
    ) -> list[tuple[int, list[float], list[int]]]:
        """The same as `next`, for each of a few groups with arms left: its log_u and arms."""
        steps = np.log1p(-rng.random((len(of), most))).tolist()
        return [self._row(group, row, rng) for group, row in zip(of, steps, strict=True)]

    def _row(
        self, group: int, steps: list[float], rng: np.random.Generator
    ) -> tuple[int, list[float], list[int]]:
        left, log_u = self.left.item(group), [self.log_u.item(group)]
        for place, step in enumerate(steps, start=1):
            log_u.append(log_u[-1] + step / max(left - place, 1.0))
        n_new = int(min(left, len(steps)))
        self.log_u[group] = log_u[-1]
        self.left[group], self.n_drawn[group] = left - n_new, self.n_drawn[group] + n_new
        return group, log_u, self._members(group, n_new, rng)

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
