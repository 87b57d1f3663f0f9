"""The k arms of the largest sum of a plus root of the sum of b: branch and bound, exact.

A sum and a root of a sum can't be had by sorting: the root makes what an arm adds depend on the others. But a root is
the least of its tangents, sqrt(x) = min over λ > 0 of λx + 1/(4λ), and with a tangent in place of the root the best set
is the k largest a_i + λ b_i. So every λ gives a bound that no set exceeds, and a set that may be the best. The tightest
bound usually settles all but a few arms: an arm whose presence, or absence, would cost more than the distance between
the bound and the best set so far need not be looked at again. What is left is looked up set by set, or halved by an arm
at the edge; and since an arm that is no worse in a and b than another can take its place, each half settles more arms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray

_FEW_SETS = 1000  # so many are looked up rather than bounded
_STEPS = 40  # of the search for the tightest tangent; it needs about six


@dataclass
class Found:
    """The best set so far, a bound on all sets, and how many nodes of the tree were looked at."""

    arms: IndexArray
    value: float
    bound: float
    n_nodes: int = 0


def largest_root(a: FloatArray, b: FloatArray, k: int, *, limit: int) -> Found:
    """The k of ``len(a)`` arms, ascending, that maximise sum(a) + sqrt(sum(b)), for b above 0.

    Where the tree has more than ``limit`` nodes it stops, and ``bound`` is above ``value`` by more than rounding.
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
    def __init__(self, a: FloatArray, b: FloatArray, found: Found) -> None:
        self.a, self.b, self.found = a, b, found
        self.open: list[tuple[float, IndexArray, IndexArray]] = []

    def rounding(self) -> float:
        return 1e-12 * max(1.0, abs(self.found.value))

    def visit(self, chosen: IndexArray, free: IndexArray, k: int) -> None:
        """Sets of the arms chosen and k of those free: found, ruled out, or left open in two halves."""
        self.found.n_nodes += 1
        while True:
            if k == 0 or k == len(free):
                self._try(np.concatenate([chosen, free[:k]]))
                return
            if math.comb(len(free), k) <= _FEW_SETS:
                self._look_up(chosen, free, k)
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
        """With an arm and without it. With it, all arms that are no worse in a and in b; without it, none no better.

        Of arms that are equal in both, the first ones are taken.
        """
        a, b = self.a[free], self.b[free]
        equal = (a == self.a[edge]) & (b == self.b[edge])
        better = (a >= self.a[edge]) & (b >= self.b[edge]) & (~equal | (free <= edge))
        worse = (a <= self.a[edge]) & (b <= self.b[edge]) & (~equal | (free >= edge))
        if len(free) - np.count_nonzero(worse) >= k:
            self.open.append((bound, chosen, free[~worse]))
        if np.count_nonzero(better) <= k:  # looked at first
            self.open.append((bound, np.concatenate([chosen, free[better]]), free[~better]))

    def _bound(self, chosen: IndexArray, free: IndexArray, k: int) -> tuple[float, float]:
        """The tightest bound of all tangents, and its λ; every set met on the way is tried.

        The bound is convex in λ, and sums to the left and right of its least point are lines below it: the next λ is
        where the larger of the two lines, with 1/(4λ), is least.
        """
        a, b = self.a[free], self.b[free]
        a0, b0 = float(self.a[chosen].sum()), float(self.b[chosen].sum())
        ordered = np.sort(b)
        low = 0.5 / math.sqrt(b0 + float(ordered[-k:].sum()))
        high = 0.5 / math.sqrt(b0 + float(ordered[:k].sum()))
        left: tuple[float, float] | None = None
        right: tuple[float, float] | None = None
        best, at, slope = math.inf, low, low
        for _ in range(_STEPS):
            members = np.argpartition(-(a + slope * b), k - 1)[:k]
            sum_a, sum_b = a0 + float(a[members].sum()), b0 + float(b[members].sum())
            self._try(np.concatenate([chosen, free[members]]), sum_a + math.sqrt(sum_b))
            bound = sum_a + slope * sum_b + 0.25 / slope
            if bound < best:
                best, at = bound, slope
            own = 0.5 / math.sqrt(sum_b)  # where this set's line is best
            if own < slope:
                high, right = slope, (sum_a, sum_b)
            else:
                low, left = slope, (sum_a, sum_b)
            if abs(own - slope) <= 1e-15 * slope:
                break
            wanted = min(max(own, low), high)
            if left is not None and right is not None and right[1] > left[1]:
                crossing = (left[0] - right[0]) / (right[1] - left[1])
                # The least point of the left line if that is before the crossing, of the right one if behind it.
                wanted = min(max(crossing, 0.5 / math.sqrt(right[1])), 0.5 / math.sqrt(left[1]))
            wanted = min(max(wanted, low), high)
            if wanted == slope or (
                left is not None and right is not None and wanted in (low, high)
            ):
                break
            slope = wanted
        return best, at

    def _look_up(self, chosen: IndexArray, free: IndexArray, k: int) -> None:
        sets = np.array(list(combinations(range(len(free)), k)), np.intp)
        sum_a = float(self.a[chosen].sum()) + self.a[free][sets].sum(axis=1)
        sum_b = float(self.b[chosen].sum()) + self.b[free][sets].sum(axis=1)
        values = sum_a + np.sqrt(sum_b)
        best = int(values.argmax())
        self._try(np.concatenate([chosen, free[sets[best]]]), float(values[best]))

    def _try(self, arms: IndexArray, value: float | None = None) -> None:
        if value is None:
            value = float(self.a[arms].sum()) + math.sqrt(float(self.b[arms].sum()))
        if value > self.found.value + (self.rounding() if math.isfinite(self.found.value) else 0.0):
            self.found.arms, self.found.value = np.sort(arms), value
