"""The k arms of the largest sum of a plus root of the sum of b: branch and bound, exact.

A sum and a root of a sum cannot be maximised by sorting, since what an arm adds to the root depends
on the other arms. But a root is the least of its tangents, sqrt(x) = min over λ > 0 of λx + 1/(4λ).
With a tangent instead of the root, the best set is the k largest a_i + λ b_i. So every λ gives a
bound that no set exceeds, and a set that may be the best.

The tightest bound usually settles all but a few arms: an arm whose presence, or absence, costs more
than the distance between the bound and the best set so far is settled. The sets of the remaining
arms are listed if there are few. Otherwise the problem is halved by an arm at the edge. An arm that
is no worse in a and b than another can replace it, so that each half settles more arms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray

# Up to this many sets are listed rather than bounded.
_FEW_SETS = 1000
# The most steps of the search for the tightest tangent, which takes about six.
_STEPS = 40
# A set must be better by this share to replace another, and a λ is found to within this share.
_ROUNDING, _CONVERGED = 1e-12, 1e-15


@dataclass
class Found:
    """The best set so far, a bound on all sets, and how many nodes of the tree were visited."""

    arms: IndexArray
    value: float
    bound: float
    n_nodes: int = 0


def largest_root(a: FloatArray, b: FloatArray, k: int, *, limit: int) -> Found:
    """The k of ``len(a)`` arms, ascending, that maximise sum(a) + sqrt(sum(b)), for b above 0.

    It stops after ``limit`` nodes; ``bound`` is then above ``value`` by more than rounding.
    """
    every = np.arange(len(a))
    found = Found(every[:k], -math.inf, math.inf)
    tree = _Tree(a, b, found)
    tree.visit(np.zeros(0, np.intp), every, k)
    while tree.open and found.n_nodes < limit:
        bound, chosen, free = tree.open.pop()
        if bound > found.value + tree.rounding():
            tree.visit(chosen, free, k - len(chosen))
    found.bound = max([found.value, *(bound for bound, _, _ in tree.open)])
    return found


class _Tree:
    """The nodes that are open: a bound, the arms that are in, and the arms that may be."""

    def __init__(self, a: FloatArray, b: FloatArray, found: Found) -> None:
        self.a, self.b, self.found = a, b, found
        self.open: list[tuple[float, IndexArray, IndexArray]] = []

    def rounding(self) -> float:
        return _ROUNDING * abs(self.found.value)

    def visit(self, chosen: IndexArray, free: IndexArray, k: int) -> None:
        """The sets of the chosen arms and k free arms: found, ruled out, or left open in halves."""
        self.found.n_nodes += 1
        while True:
            if k == 0 or k == len(free):
                self._try(np.concatenate([chosen, free[:k]]))
                return
            if math.comb(len(free), k) <= _FEW_SETS:
                self._list(chosen, free, k)
                return
            bound, slope = self._bound(chosen, free, k)
            slack = bound - self.found.value - self.rounding()
            if slack <= 0:
                return
            worth = self.a[free] + slope * self.b[free]
            order = np.argsort(-worth, kind="stable")
            inside, outside = worth[order[:k]], worth[order[k:]]
            surely = order[:k][inside - outside[0] >= slack]
            never = order[k:][inside[-1] - outside >= slack]
            if not len(surely) and not len(never):
                self._halve(bound, chosen, free, k, int(free[order[k - 1]]))
                return
            chosen = np.concatenate([chosen, free[surely]])
            free = np.delete(free, np.concatenate([surely, never]))
            k -= len(surely)

    def _halve(self, bound: float, chosen: IndexArray, free: IndexArray, k: int, edge: int) -> None:
        """Two nodes: with an arm, and without it.

        With it, all arms are in that are no worse in a and in b. Without it, all arms are out that
        are no better. Of arms that are equal in both, the first ones are taken.
        """
        a, b = self.a[free], self.b[free]
        equal = (a == self.a[edge]) & (b == self.b[edge])
        better = (a >= self.a[edge]) & (b >= self.b[edge]) & (~equal | (free <= edge))
        worse = (a <= self.a[edge]) & (b <= self.b[edge]) & (~equal | (free >= edge))
        if len(free) - np.count_nonzero(worse) >= k:
            self.open.append((bound, chosen, free[~worse]))
        if np.count_nonzero(better) <= k:  # visited first
            self.open.append((bound, np.concatenate([chosen, free[better]]), free[~better]))

    def _bound(self, chosen: IndexArray, free: IndexArray, k: int) -> tuple[float, float]:
        """The tightest bound of all tangents, and its λ; every set met on the way is tried."""
        a, b = self.a[free], self.b[free]
        a0, b0 = float(self.a[chosen].sum()), float(self.b[chosen].sum())
        ordered = np.sort(b)
        # A set's own tangent touches at λ = 1 / (2 sqrt(sum of b)): from the largest b to the
        # least.
        search = _Slopes(_touch(b0 + ordered[-k:].sum()), _touch(b0 + ordered[:k].sum()))
        best, at = math.inf, search.slope
        for _ in range(_STEPS):
            slope = search.slope
            members = np.argpartition(-(a + slope * b), k - 1)[:k]
            sum_a, sum_b = a0 + float(a[members].sum()), b0 + float(b[members].sum())
            self._try(np.concatenate([chosen, free[members]]), sum_a + math.sqrt(sum_b))
            bound = sum_a + slope * sum_b + 0.25 / slope
            if bound < best:
                best, at = bound, slope
            if not search.advance(sum_a, sum_b):
                break
        return best, at

    def _list(self, chosen: IndexArray, free: IndexArray, k: int) -> None:
        """Try all sets, since they are few."""
        sets = np.array(list(combinations(range(len(free)), k)), np.intp)
        sum_a = float(self.a[chosen].sum()) + self.a[free][sets].sum(axis=1)
        sum_b = float(self.b[chosen].sum()) + self.b[free][sets].sum(axis=1)
        values = sum_a + np.sqrt(sum_b)
        best = int(values.argmax())
        self._try(np.concatenate([chosen, free[sets[best]]]), float(values[best]))

    def _try(self, arms: IndexArray, value: float | None = None) -> None:
        """Keep a set if it is better than the best so far."""
        if value is None:
            value = float(self.a[arms].sum()) + math.sqrt(float(self.b[arms].sum()))
        if value > self.found.value + (self.rounding() if math.isfinite(self.found.value) else 0.0):
            self.found.arms, self.found.value = np.sort(arms), value


class _Slopes:
    """The search for the λ of the tightest bound, between ``low`` and ``high``.

    The bound is convex in λ: the largest sum_a + λ sum_b over all sets, plus 1/(4λ). The sets found
    so far to the left and to the right of its least point are two lines below the first part. The
    next λ is where the larger of the two lines, plus 1/(4λ), is least.
    """

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.slope = low, high, low
        self._left: tuple[float, float] | None = None
        self._right: tuple[float, float] | None = None

    def advance(self, sum_a: float, sum_b: float) -> bool:
        """Go on to the next λ, given the best set at this one; False if there is none."""
        own = _touch(sum_b)  # where this set's own line is best
        if own < self.slope:
            self.high, self._right = self.slope, (sum_a, sum_b)
        else:
            self.low, self._left = self.slope, (sum_a, sum_b)
        if abs(own - self.slope) <= _CONVERGED * self.slope:
            return False
        wanted = self._least_point(own)
        enclosed = self._left is not None and self._right is not None
        if wanted == self.slope or (enclosed and wanted in (self.low, self.high)):
            return False
        self.slope = wanted
        return True

    def _least_point(self, own: float) -> float:
        """The least point of the larger of the two lines, or of the only one."""
        wanted = min(max(own, self.low), self.high)
        left, right = self._left, self._right
        if left is not None and right is not None and right[1] > left[1]:
            crossing = (left[0] - right[0]) / (right[1] - left[1])
            # That of the left line if it is before the crossing, of the right line if behind it.
            wanted = min(max(crossing, _touch(right[1])), _touch(left[1]))
        return min(max(wanted, self.low), self.high)


def _touch(sum_b: float) -> float:
    """The λ whose tangent touches the root at ``sum_b``."""
    return 0.5 / math.sqrt(float(sum_b))
