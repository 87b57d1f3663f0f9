"""What noisy answers about single arms prove: confidence bounds that hold at any time.

An answer about an arm at the mean x is f(x) plus noise. The arm and x may depend on everything
before. For any rule that says before each answer whether it belongs to a group, the sum of the
noise of the group is a martingale, and ``superarm.oracles._noise`` bounds it at all sizes of the
group, with probability 1 - alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.states import as_saved_array
from superarm.oracles._noise import Noise
from superarm.oracles._noisy_concave import Concave

_COLUMNS = ("n", "sum_x", "sum_y", "least_x", "most_x")
# For a guess, answers count as answers at x if they are in its interval of this level.
_NEAR = 3


@dataclass(eq=False)
class Answers:
    """The answers about every arm alone, added up over nested intervals of its mean.

    The intervals are [0, 1], its halves, its quarters, and so on for ``n_levels`` levels. Wide
    intervals have many answers, narrow ones have answers close to each other. Each array has shape
    (n_arms, 2^n_levels - 1).

    Attributes
    ----------
    n, sum_x, sum_y
        How many answers there are, the sum of their means, and the sum of the answers.
    least_x, most_x
        The smallest and the largest mean.
    v
        What else the boundary of the noise depends on.
    """

    n: FloatArray
    sum_x: FloatArray
    sum_y: FloatArray
    least_x: FloatArray
    most_x: FloatArray
    v: FloatArray

    @classmethod
    def none(cls, n_arms: int, n_levels: int) -> Answers:
        """Without answers."""
        shape = n_arms, 2**n_levels - 1
        n, sum_x, sum_y, v = (np.zeros(shape) for _ in range(4))
        return cls(n, sum_x, sum_y, np.full(shape, np.inf), np.full(shape, -np.inf), v)

    @property
    def n_levels(self) -> int:
        """How many levels of intervals there are."""
        return int(self.n.shape[1] + 1).bit_length() - 1

    def add(self, arm: int, x: float, answers: FloatArray, noise: Noise) -> None:
        """Add answers about an arm at the mean x."""
        halves = 2 ** np.arange(self.n_levels)
        cells = halves - 1 + np.minimum((x * halves).astype(np.intp), halves - 1)
        known = self.v[arm, cells], self.n[arm, cells], self.sum_y[arm, cells]
        self.v[arm, cells] = noise.grown(*known, answers)
        self.n[arm, cells] += len(answers)
        self.sum_x[arm, cells] += len(answers) * x
        self.sum_y[arm, cells] += answers.sum()
        self.least_x[arm, cells] = np.minimum(self.least_x[arm, cells], x)
        self.most_x[arm, cells] = np.maximum(self.most_x[arm, cells], x)

    def alphas(self, delta: float) -> FloatArray:
        """Shape (2^n_levels - 1,): delta shared among all intervals of all arms.

        Levels have equal shares, so a narrow interval costs one log 2 per level.
        """
        levels = np.repeat(np.arange(self.n_levels), 2 ** np.arange(self.n_levels))
        return delta / (self.n.shape[0] * self.n_levels * 2.0**levels)

    def bounds(
        self,
        arms: IndexArray,
        x: FloatArray,
        *,
        lipschitz: FloatArray,
        monotone: bool,
        delta: float,
        noise: Noise,
        upper: float,
        concave: bool = False,
        at_zero: float = 0.0,
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds on f(x) of these arms from all their intervals, shape (len(arms),) each.

        f is in [0, upper], and f(0) is at least ``at_zero``, which only a concave f makes use of.
        All bounds of all arms hold at all times, except with probability delta.
        """
        n, x = self.n[arms], x[:, None]
        known = n > 0
        n = np.where(known, n, 1.0)
        mean_x, mean_y = self.sum_x[arms] / n, self.sum_y[arms] / n
        low, high = self.least_x[arms], self.most_x[arms]
        # How far the answers lie above x on average. Within (low, high) the positions are not kept:
        # (x_j - x)+ is convex in x_j, so that it is largest if all answers are at the two ends.
        between = known & (low < x) & (x < high)
        width = np.where(between, high - low, 1.0)
        inside = np.where(between, high - x, 0.0) * np.where(between, mean_x - low, 0.0) / width
        over = np.where(between, inside, np.maximum(mean_x - x, 0.0))
        under = over + x - mean_x
        slope = lipschitz[:, None]
        # A monotone f falls from answers above x only, and rises from answers below only.
        fall, rise = (over, under) if monotone else (over + under, over + under)
        # Answers at different means differ by more than their noise.
        spread = slope * np.where(known, high - low, 0.0)
        reach = np.abs(mean_y) + upper
        off = noise.off(n, self.v[arms], self.alphas(delta), reach, spread)
        least, most = mean_y - off - slope * fall, mean_y + off + slope * rise
        if concave:
            shape = Concave(x, mean_x, over, under, monotone, at_zero)
            least = np.maximum(least, shape.least(mean_y - off, slope))
            most = np.minimum(most, shape.most(mean_y + off))
        lower = np.where(known, least, -np.inf).max(axis=1)
        return lower, np.where(known, most, np.inf).min(axis=1)

    def near(self, x: FloatArray) -> FloatArray:
        """The average answers about the first arms near x, shape (len(x),); NaN without any."""
        found, arms = np.full(len(x), np.nan), np.arange(len(x))
        for level in range(min(_NEAR, self.n_levels - 1), self.n_levels):  # narrow ones come last
            cells = 2**level - 1 + np.minimum((x * 2**level).astype(int), 2**level - 1)
            n = self.n[arms, cells]
            found = np.where(n > 0, self.sum_y[arms, cells] / np.maximum(n, 1), found)
        return found

    def state(self, *, with_v: bool) -> dict[str, Any]:
        """The intervals that have answers, as plain JSON."""
        arms, cells = np.nonzero(self.n)
        names = (*_COLUMNS, "v") if with_v else _COLUMNS
        columns = {name: getattr(self, name)[arms, cells].tolist() for name in names}
        return {"shape": self.n.shape, "arms": arms.tolist(), "cells": cells.tolist(), **columns}

    @classmethod
    def of(cls, state: dict[str, Any], n_levels: int) -> Answers:
        """What ``state()`` described, with this number of levels."""
        n_rows, n_cells = state["shape"]
        # Older states have no row of the empty set, which is the last one.
        if n_rows - len(state["rounds"]) not in (0, 1) or n_cells != 2**n_levels - 1:
            raise ValueError(
                f"state['shape'] must be of {len(state['rounds'])} arms and {n_levels} levels, "
                f"got {state['shape']}"
            )
        answers = cls.none(n_rows, n_levels)
        at = [as_saved_array(state[name], name, least=0.0) for name in ("arms", "cells")]
        arms, cells = (places.astype(np.intp) for places in at)
        for name in (*_COLUMNS, "v") if "v" in state else _COLUMNS:
            getattr(answers, name)[arms, cells] = as_saved_array(state[name], name, arms.shape)
        return answers
