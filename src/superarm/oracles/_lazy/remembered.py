"""Answers about single arms that an oracle remembers, and the bounds that follow from them.

The value of arm i alone is a function f_i of its own mean, and B_i-Lipschitz in it (assumptions 1
and 2). So an answered point (x, f_i(x)) bounds f_i everywhere. The nearest answered points on both
sides of theta_i give the best bounds.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray, as_finite

# Answers have rounding errors of this share, which a line through two close points magnifies.
_ROUNDING = 4e-16
# Keeps a division by a distance finite when the distance is 0.
_TINY = 1e-300
# Up to this many arms, plain numbers are faster than arrays.
_FEW = 16


class Remembered:
    """Up to ``n_points`` answered points per arm: 16 · n_points + 8 bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
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
    """

    def __init__(self, n_arms: int, n_points: int) -> None:
        self.x = np.full((n_points, n_arms), np.inf)
        self.f = np.zeros((n_points, n_arms))
        self.n = np.zeros(n_arms, np.intp)

    def add_for_all(self, x: float, f: float) -> None:
        """The same first point for every arm."""
        self.x[0], self.f[0], self.n[:] = x, f, 1

    def add(self, arm: int, x: float, f: float) -> None:
        """One more point of one arm; O(n_points)."""
        # Lists, since there are so few points that calls of numpy would take longer.
        n = int(self.n[arm])
        xs, fs = self.x[:n, arm].tolist(), self.f[:n, arm].tolist()
        place = bisect_left(xs, x)
        if place < n and xs[place] == x:
            self.f[place, arm] = f
            return
        xs.insert(place, x)
        fs.insert(place, f)
        if n == len(self.x):
            least = _least_useful(np.array(xs), place)
            del xs[least], fs[least]
        self.x[: len(xs), arm], self.f[: len(fs), arm], self.n[arm] = xs, fs, len(xs)

    def neighbours(self, arm: int, x: float) -> list[tuple[float, float]]:
        """The nearest points (x, f) of an arm on both sides of ``x``, but not at ``x``."""
        xs = self.x[: self.n[arm], arm].tolist()
        left, right = bisect_left(xs, x) - 1, bisect_right(xs, x)
        return [(xs[p], float(self.f[p, arm])) for p in (left, right) if 0 <= p < len(xs)]

    def bounds(
        self,
        theta: FloatArray,
        lipschitz: FloatArray,
        *,
        monotone: bool,
        concave: bool,
        arms: IndexArray | slice = slice(None),
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of f_i(theta_i), infinite for arms without a point.

        O(n_points) per arm.

        Parameters
        ----------
        theta, lipschitz
            Shape (n,): the means to bound at, and the B_i, of the given arms.
        monotone, concave
            Whether every f_i is non-decreasing, and concave.
        arms
            Which arms; all by default.
        """
        if len(theta) <= _FEW:
            return self._bounds_one_by_one(arms, theta, lipschitz, monotone, concave)
        x, f, n = self.x[:, arms], self.f[:, arms], self.n[arms]
        # The place of the first point to the right of theta, per arm.
        right = np.zeros(x.shape[1], np.intp)
        for row in x:
            right += row <= theta
        lower, upper = np.full(len(theta), -np.inf), np.full(len(theta), np.inf)

        def points(place: IndexArray) -> tuple[FloatArray, FloatArray, IndexArray]:
            has = ((place >= 0) & (place < n)).nonzero()[0]
            return x[place[has], has], f[place[has], has], has

        x_left, f_left, has = points(right - 1)
        reach = lipschitz[has] * (theta[has] - x_left)
        upper[has] = f_left + reach
        lower[has] = f_left if monotone else f_left - reach
        exact = has[x_left == theta[has]]
        x_right, f_right, has = points(right)
        reach = lipschitz[has] * (x_right - theta[has])
        lower[has] = np.maximum(lower[has], f_right - reach)
        upper[has] = np.minimum(upper[has], f_right if monotone else f_right + reach)
        if concave:
            _tighten_by_chords(theta, right, (x, f, n), lower, upper)
        value = f[right[exact] - 1, exact]
        lower[exact], upper[exact] = value, value
        return lower, np.maximum(lower, upper)

    def _bounds_one_by_one(
        self,
        arms: IndexArray | slice,
        theta: FloatArray,
        lipschitz: FloatArray,
        monotone: bool,
        concave: bool,
    ) -> tuple[FloatArray, FloatArray]:
        """The same for few arms: in plain numbers, by the same operations, to the last bit."""
        n, xs, fs = self.n[arms].tolist(), self.x.T[arms].tolist(), self.f.T[arms].tolist()
        every = zip(theta.tolist(), lipschitz.tolist(), xs, fs, n, strict=True)
        found = [
            _bounds_of_one(mean, b, x[:n], f[:n], monotone=monotone, concave=concave)
            for mean, b, x, f, n in every
        ]
        return np.array([lower for lower, _ in found]), np.array([upper for _, upper in found])

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON: the points of the first arm, then of the second, and so on."""
        there = np.arange(len(self.x))[:, None] < self.n
        return {
            "n": self.n.tolist(),
            "x": self.x.T[there.T].tolist(),
            "f": self.f.T[there.T].tolist(),
        }

    @classmethod
    def of(cls, state: dict[str, Any], n_points: int) -> Remembered:
        """What ``state()`` described."""
        missing = [name for name in ("n", "x", "f") if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        n = as_finite(state["n"], "state['n']", ndim=1, least=0.0).astype(np.intp)
        memory = cls(len(n), n_points)
        if n.max() > n_points:
            raise ValueError(
                f"state must have at most {n_points} points per arm (n_points), got {n.max()}"
            )
        there = np.arange(n_points) < n[:, None]
        for name, array in (("x", memory.x), ("f", memory.f)):
            values = np.asarray(state[name], np.float64)
            if values.shape != (n.sum(),) or not np.isfinite(values).all():
                raise ValueError(
                    f"state[{name!r}] must have {n.sum()} finite numbers, got shape {values.shape}"
                )
            array.T[there] = values
        memory.n = n
        return memory


def _least_useful(xs: FloatArray, newest: int) -> int:
    """The place of the point that is least missed: the gap it leaves is small for its distance."""
    crowd = np.full(len(xs), np.inf)  # the ends stay
    distance = np.maximum(np.abs(xs[1:-1] - xs[newest]), _TINY)
    crowd[1:-1] = (xs[2:] - xs[:-2]) / distance
    crowd[newest] = np.inf
    return int(np.argmin(crowd))


def _bounds_of_one(
    theta: float, b: float, x: list[float], f: list[float], *, monotone: bool, concave: bool
) -> tuple[float, float]:
    """The bounds of one arm with the answers f at the means x."""
    lower, upper, right = -math.inf, math.inf, bisect_right(x, theta)
    if right > 0:
        if x[right - 1] == theta:
            return f[right - 1], f[right - 1]
        reach = b * (theta - x[right - 1])
        upper = f[right - 1] + reach
        lower = f[right - 1] if monotone else f[right - 1] - reach
    if right < len(x):
        reach = b * (x[right] - theta)
        lower = max(lower, f[right] - reach)
        upper = min(upper, f[right] if monotone else f[right] + reach)
    # The chord around theta bounds from below, the next ones on both sides from above.
    for first in (right - 1, right - 2, right) if concave else ():
        if 0 <= first < len(x) - 1:
            f1, f2 = f[first], f[first + 1]
            share = (theta - x[first]) / (x[first + 1] - x[first])
            line = f1 + (f2 - f1) * share
            slack = _ROUNDING * (abs(f1) + abs(f2)) * (1 + abs(share))
            if first == right - 1:
                lower = max(lower, line - slack)
            else:
                upper = min(upper, line + slack)
    return lower, max(lower, upper)


def _tighten_by_chords(
    theta: FloatArray,
    right: IndexArray,
    points: tuple[FloatArray, FloatArray, IndexArray],
    lower: FloatArray,
    upper: FloatArray,
) -> None:
    """Tighten bounds in place: a concave function is above its chords, below their extensions."""
    x, f, n = points
    # The chord around theta bounds from below, the next ones on both sides from above.
    for first, inside in ((right - 1, True), (right - 2, False), (right, False)):
        both = ((first >= 0) & (first + 1 < n)).nonzero()[0]
        one, other = (first[both], both), (first[both] + 1, both)
        x1, f1, x2, f2 = x[one], f[one], x[other], f[other]
        share = (theta[both] - x1) / (x2 - x1)
        line = f1 + (f2 - f1) * share
        slack = _ROUNDING * (np.abs(f1) + np.abs(f2)) * (1 + np.abs(share))
        if inside:
            lower[both] = np.maximum(lower[both], line - slack)
        else:
            upper[both] = np.minimum(upper[both], line + slack)
