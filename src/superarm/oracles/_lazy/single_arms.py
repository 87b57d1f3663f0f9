"""What a reward answered about single arms, and the bounds that follow from the answers.

The value of arm i alone is a function f_i of its own mean, and B_i-Lipschitz in it (assumptions 1
and 2). So an answered point (x, f_i(x)) bounds f_i everywhere. The nearest answered points on both
sides of theta_i give the best bounds.

An oracle that evaluates an arm only when its bounds leave a doubt never sees an arm that wrong
bounds exclude. So it makes audits, which `Audits` counts.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from superarm.core import Reward
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.declarations import is_concave
from superarm.oracles._lazy import contradictions
from superarm.oracles._lazy.audits import share_excluded
from superarm.oracles._lazy.points import TINY, least_useful

# The most that a count of one byte can hold.
_MOST_INT8 = 127
# Rounding errors of this share in answers are magnified by a line through two close points.
_ROUNDING = 4e-16
# The weight of a new answer in the average share of B that the answers use.
_NEW_SHARE = 0.05
# Up to this number of arms, plain numbers are faster than arrays: eight times for one arm.
_FEW = 12


class SingleArms:
    """What is known about f_i, the value of arm i alone, for all arms i of one reward.

    Takes 16 · n_points + 8 bytes per arm for the answers.

    Parameters
    ----------
    lipschitz, monotone, concave
        What the reward declares.
    n_points
        How many points are kept per arm. When there are more, the point that is least useful near
        the newest one is dropped: a point in a crowd, or far away.

    Attributes
    ----------
    x, f
        Shape (n_points, n_arms): the means that were evaluated, ascending per arm and infinite
        where there is no point; and the answers.
    n
        Shape (n_arms,): how many points each arm has.
    lipschitz
        Shape (n_arms,): the B_i, as declared, or raised when an answer contradicts the declaration.
    monotone, concave
        Whether the f_i are non-decreasing, and concave: as declared, until an answer contradicts
        it.
    used
        What share of B the answers use, on average.
    warned
        Whether a warning about a wrong declaration was given: there is at most one.
    empty
        The value of the empty set; None if it was not evaluated.
    audits
        What was audited.
    """

    def __init__(
        self, lipschitz: FloatArray, n_points: int, *, monotone: bool, concave: bool
    ) -> None:
        self.n_arms = len(lipschitz)
        self.x = np.full((n_points, self.n_arms), np.inf)
        self.f = np.zeros((n_points, self.n_arms))
        self.n = np.zeros(self.n_arms, np.intp)
        self.lipschitz, self.monotone, self.concave = lipschitz, monotone, concave
        self.used, self.warned = 1.0, False
        self.empty: float | None = None
        self.audits = Audits()

    @classmethod
    def new(cls, reward: Reward, n_points: int) -> SingleArms:
        """Nothing is known but what the reward declares."""
        lipschitz = np.array(np.broadcast_to(reward.lipschitz, reward.n_arms), np.float64)
        return cls(lipschitz, n_points, monotone=reward.monotone, concave=is_concave(reward))

    def bounds(
        self,
        theta: FloatArray,
        arms: IndexArray | slice = slice(None),
        *,
        least: float = -math.inf,
        most: float = math.inf,
        chords: bool = True,
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of f_i(theta_i), shape (n,) each; O(n_points) per arm.

        Parameters
        ----------
        theta
            Shape (n,): the means of the given arms.
        arms
            Which arms; all by default.
        least, most
            The bounds of arms without a point.
        chords
            False for the bounds that would hold if the f_i were not concave.
        """
        x, f, n, lipschitz = self.x[:, arms], self.f[:, arms], self.n[arms], self.lipschitz[arms]
        chords = chords and self.concave
        if len(theta) <= _FEW:
            each = (one.T.tolist() for one in (theta, x, f, n, lipschitz))
            found = [
                _bounds_of_one(mean, xs[:count], fs[:count], slope, self.monotone, chords)
                if count
                else (least, max(least, most))
                for mean, xs, fs, count, slope in zip(*each, strict=True)
            ]
            lower, upper = np.array(found, np.float64).reshape(-1, 2).T
            return lower, upper
        # The place of the first point to the right of theta, per arm. Small counts add up faster.
        kind = np.int8 if len(x) <= _MOST_INT8 else np.intp
        right = (x <= theta).view(np.int8).sum(axis=0, dtype=kind).astype(np.intp)
        lower, upper = np.where(n > 0, -np.inf, least), np.where(n > 0, np.inf, most)
        # The arms with a point at theta or to the left of it.
        has = np.flatnonzero(right)
        x_left, f_left = x[right[has] - 1, has], f[right[has] - 1, has]
        reach = lipschitz[has] * (theta[has] - x_left)
        upper[has] = f_left + reach
        lower[has] = f_left if self.monotone else f_left - reach
        answered = x_left == theta[has]
        exact, value = has[answered], f_left[answered]
        # The arms with a point to the right.
        has = np.flatnonzero(right < n)
        x_right, f_right = x[right[has], has], f[right[has], has]
        reach = lipschitz[has] * (x_right - theta[has])
        lower[has] = np.maximum(lower[has], f_right - reach)
        upper[has] = np.minimum(upper[has], f_right if self.monotone else f_right + reach)
        # A concave function is above its chords, and below their extensions: the chord around theta
        # bounds from below, the next ones on both sides from above.
        for behind in (1, 2, 0) if chords else ():
            first = right - behind
            both = ((first >= 0) & (first + 1 < n)).nonzero()[0]
            one, other = (first[both], both), (first[both] + 1, both)
            x1, f1, x2, f2 = x[one], f[one], x[other], f[other]
            # Points that are this close say nothing, and the share would overflow.
            share = (theta[both] - x1) / np.maximum(x2 - x1, TINY)
            line = f1 + (f2 - f1) * share
            # Small answers may be differences of large numbers, which round at the size of B.
            size = np.abs(f1) + np.abs(f2) + lipschitz[both]
            slack = _ROUNDING * size * (1 + np.abs(share))
            if behind == 1:
                lower[both] = np.maximum(lower[both], line - slack)
            else:
                upper[both] = np.minimum(upper[both], line + slack)
        # Last, since chords round: an answered question has its answer, to the last digit.
        lower[exact], upper[exact] = value, value
        return lower, np.maximum(lower, upper)

    def add_for_all(self, x: float, f: float) -> None:
        """The same first point for every arm."""
        self.x[0], self.f[0], self.n[:] = x, f, 1

    def learn(
        self, arms: IndexArray, x: FloatArray, values: FloatArray, again: contradictions.Again
    ) -> bool:
        """Remember answers. Whether one of them contradicts a declaration, which is corrected.

        Parameters
        ----------
        arms, x, values
            Shape (n,) each: the arms, their means, and the answers.
        again
            ``again(arm, x)`` evaluates an arm once more; None if the budget is used up.
        """
        wrong = False
        if self.concave:
            lower, upper = self.bounds(x, arms)
            slack = contradictions.SLACK * np.abs(values)
            off = (values < lower - slack) | (values > upper + slack)
            wrong = bool(off.any()) and contradictions.not_concave(self, arms, x, values, off)
        for arm, mean, value in zip(arms.tolist(), x.tolist(), values.tolist(), strict=True):
            for neighbour in self.add(arm, mean, value):
                wrong |= self._compare(arm, (mean, value), neighbour, again)
        return wrong

    def add(self, arm: int, x: float, f: float) -> list[tuple[float, float]]:
        """Keep one more point of an arm. The nearest points on both sides of it; O(n_points)."""
        # Lists, since there are so few points that calls of numpy would take longer.
        n = int(self.n[arm])
        xs, fs = self.x[:n, arm].tolist(), self.f[:n, arm].tolist()
        place = bisect_left(xs, x)
        answered = place < n and xs[place] == x
        points, after = list(zip(xs, fs, strict=True)), place + answered
        near = points[max(0, place - 1) : place] + points[after : after + 1]
        if answered:
            self.f[place, arm] = f
            return near
        xs.insert(place, x)
        fs.insert(place, f)
        if n == len(self.x):
            least = least_useful(np.array(xs), place)
            del xs[least], fs[least]
        self.x[: len(xs), arm], self.f[: len(fs), arm], self.n[arm] = xs, fs, len(xs)
        return near

    def _compare(
        self,
        arm: int,
        new: tuple[float, float],
        old: tuple[float, float],
        again: contradictions.Again,
    ) -> bool:
        """Note what share of B two answers use. Whether they contradict a declaration."""
        (x, f), (x0, f0) = new, old
        rise, reach = f - f0, self.lipschitz[arm] * abs(x - x0)
        slack = contradictions.SLACK * max(abs(f), abs(f0))
        # Points that are too close show nothing about the slope.
        if reach > slack:
            self.used += _NEW_SHARE * (min(1.0, abs(rise) / reach) - self.used)
        falling = self.monotone and rise * (x - x0) < 0 and abs(rise) > slack
        if abs(rise) <= reach + slack and not falling:
            return False
        contradictions.correct(self, arm, new, old, again)
        return True


class Audits:
    """How many audits were made since the declarations were last corrected.

    Attributes
    ----------
    rounds, made
        How many rounds there were, and how many of them had an audit.
    drawn
        How many of the audits were of an arm at random. The others were aimed.
    """

    def __init__(self) -> None:
        self.rounds = self.made = self.drawn = 0

    @property
    def excluded(self) -> float:
        """The share of wrong bounds that the audits exclude: see `share_excluded`."""
        return share_excluded(self.drawn)

    def are_due(self, per_root: float) -> bool:
        """Whether this round has an audit: there are at most ``per_root`` times root of t in t."""
        return self.made < per_root * math.sqrt(self.rounds)

    def passed(self) -> None:
        """Note an audit whose answer was within the bounds."""
        self.drawn += self.made % 2
        self.made += 1

    def begin_anew(self) -> None:
        """Note that a declaration was corrected: what was audited before says nothing now."""
        self.rounds, self.made, self.drawn = 1, 0, 0

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {"rounds": self.rounds, "made": self.made, "drawn": self.drawn}

    @classmethod
    def of(cls, state: Any) -> Audits:
        """What ``state()`` described; without a state, as in older files, there were no audits."""
        audits = cls()
        if state is not None:
            for name in ("rounds", "made", "drawn"):
                setattr(audits, name, as_count(state.get(name), f"state['audits'][{name!r}]"))
        return audits


def _bounds_of_one(
    theta: float, xs: list[float], fs: list[float], lipschitz: float, monotone: bool, chords: bool
) -> tuple[float, float]:
    """`SingleArms.bounds` of one arm with at least one point, to the last bit."""
    right, n, lower, upper = bisect_right(xs, theta), len(xs), -math.inf, math.inf
    if right:
        x, f = xs[right - 1], fs[right - 1]
        if x == theta:
            return f, f
        reach = lipschitz * (theta - x)
        lower, upper = (f if monotone else f - reach), f + reach
    if right < n:
        f, reach = fs[right], lipschitz * (xs[right] - theta)
        lower, upper = max(lower, f - reach), min(upper, f if monotone else f + reach)
    for first in (right - 1, right - 2, right) if chords else ():
        if first >= 0 and first + 1 < n:
            x, f, f2 = xs[first], fs[first], fs[first + 1]
            share = (theta - x) / max(xs[first + 1] - x, TINY)
            line = f + (f2 - f) * share
            slack = _ROUNDING * (abs(f) + abs(f2) + lipschitz) * (1 + abs(share))
            if first == right - 1:
                lower = max(lower, line - slack)
            else:
                upper = min(upper, line + slack)
    return lower, max(lower, upper)
