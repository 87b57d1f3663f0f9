"""The greedy algorithm, for all feasible sets that can be built arm by arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from superarm.core import Pools, Reward, Sample, Scores, is_uniform, top_k
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._budget import likeliest
from superarm.oracles._rounding import rounding_at

# An arm that weighs nothing counts as one of this share of the heaviest arm.
_LEAST_WEIGHT = 1e-9


class Found(NamedTuple):
    """A set that greedy found.

    ``order``: the arms as they were added. ``values``: the value of the set after each arm, NaN
    where it is unknown. ``evaluations``: how many it took. ``whole``: whether no step ran out of
    budget.
    """

    order: IndexArray
    values: FloatArray
    evaluations: int
    whole: bool


def greedy(
    reward: Reward,
    theta: FloatArray,
    feasible: Any,
    budget: int | None,
    *,
    rng: np.random.Generator,
) -> Found:
    """Greedy's set among feasible sets that are also `Extendable`; the budget may be 0.

    If arms have weights, the better of two sets: by what an arm adds, and by that per unit of
    weight.
    """
    if feasible.weights is None:
        return _Run(reward, theta, feasible, None, budget).play(rng)
    # Each of the two runs gets half of the budget.
    half = None if budget is None else budget // 2
    by_weight = _Run(reward, theta, feasible, feasible.weights, half).play(rng)
    rest = None if budget is None else budget - by_weight.evaluations
    by_value = _Run(reward, theta, feasible, None, rest).play(rng)
    better = by_weight if _worth(by_weight) > _worth(by_value) else by_value
    return Found(
        better.order,
        better.values,
        by_weight.evaluations + by_value.evaluations,
        by_weight.whole and by_value.whole,
    )


def falls(value: float, before: float) -> bool:
    """Whether a value is lower than before, by more than rounding; False if either is unknown."""
    return value < before - rounding_at(value, before)


def may_end(feasible: Any, order: IndexArray) -> bool:
    """Whether the arms so far are a feasible set, and larger sets need not be made."""
    return not feasible.same_size and feasible.is_feasible(order)


@dataclass(frozen=True, eq=False)
class BuiltReport:
    """A set that was built arm by arm, and its value after each arm: shape (k,) each."""

    order: IndexArray
    values: FloatArray

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """What each arm added."""
        gains = np.full(theta.n_arms, np.nan)
        gains[self.order] = np.diff(self.values, prepend=0.0)
        return Scores("what it added when it was added", gains, order=self.order)


@dataclass
class _Run:
    """One run of greedy; ``weights`` make it compare what arms add per unit of weight."""

    reward: Reward
    theta: FloatArray
    feasible: Any
    weights: FloatArray | None
    budget: int | None
    evaluations: int = 0
    whole: bool = True
    order: IndexArray = field(init=False)
    values: FloatArray = field(init=False)

    def play(self, rng: np.random.Generator) -> Found:
        """Add arms until no arm may be added, or adding one lowers the value."""
        worth = self._begin()
        left = np.flatnonzero(self.feasible.extend(self.order))
        while len(left):
            arms = likeliest(self.reward, self.theta, left, self._share(len(left)), rng=rng)
            self.whole &= len(arms) == len(left)
            if len(arms):
                winner, value = self._best(arms, worth, rng)
                if falls(value, worth) and may_end(self.feasible, self.order):
                    break
            else:
                # Nothing can be evaluated: the likeliest arm is added.
                winner, value = likeliest(self.reward, self.theta, left, 1, rng=rng)[0], np.nan
            worth = value
            self.order, self.values = np.append(self.order, winner), np.append(self.values, worth)
            left = np.flatnonzero(self.feasible.extend(self.order))
        return Found(self.order, self.values, self.evaluations, self.whole)

    def _begin(self) -> float:
        """Start with the arms that must be in. The value of these arms, NaN if it is not needed.

        The value is needed to see what an arm adds: if arms are compared by their weight, or if the
        run may end early. Otherwise it is evaluated only to be reported.
        """
        self.order = self.feasible.must
        self.values = np.full(len(self.order), np.nan)
        needed = len(self.order) or self.weights is not None or not self.feasible.same_size
        if not needed or (self.budget is not None and self.budget <= 0):
            return np.nan
        self.evaluations = 1
        worth = self.reward(self.order, self.theta[self.order])
        self.values[-1:] = worth
        return worth

    def _share(self, n_left: int) -> int:
        """How many arms this step may evaluate: all that are left, or a share of the budget."""
        if self.budget is None:
            return n_left
        # The budget is shared evenly among the steps that are left.
        room = self.budget - self.evaluations
        steps = max(1, self.feasible.n_most - len(self.order))
        n_wanted = steps * n_left
        if is_uniform(self.feasible):
            n_wanted -= steps * (steps - 1) // 2  # every step leaves one arm less, and no more
        return n_left if room >= n_wanted else -(-room // steps)

    def _best(self, arms: IndexArray, worth: float, rng: np.random.Generator) -> tuple[int, float]:
        """The arm to add, and the value with it."""
        pools = Pools.extensions(self.order, arms, self.reward.n_arms)
        values = self.reward.batch(pools, self.theta)
        self.evaluations += len(arms)
        scores = values
        if self.weights is not None and not np.isnan(worth):
            scores = _per_weight(values - worth, self.weights[arms])
        best = int(top_k(scores, 1, rng=rng)[0])
        return int(arms[best]), float(values[best])


def _per_weight(adds: FloatArray, weights: FloatArray) -> FloatArray:
    """What arms add per unit of weight; arms that weigh nothing come first."""
    heaviest = float(weights.max())
    return adds / np.maximum(weights, _LEAST_WEIGHT * heaviest) if heaviest > 0 else adds


def _worth(found: Found) -> float:
    """The value of a set; -inf if it is unknown."""
    known = len(found.order) and not np.isnan(found.values[-1])
    return float(found.values[-1]) if known else -np.inf
