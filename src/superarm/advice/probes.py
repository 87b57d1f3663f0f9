"""Probes of what is required or declared of every reward, one function or class per property.

A probe makes a few evaluations, and says by how much they violate the property.
The probes of `superarm.advice.shape_probes` are about the shape of the reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from superarm.advice.evaluator import Evaluator
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.results import Witness
from superarm.core.arguments import FloatArray, IndexArray

_TINY_MOVE = 1e-4  # moves of means below this say nothing about slopes, because of rounding
_ROUNDING = 1e-9  # share of B that may be rounding


@dataclass(frozen=True, eq=False)
class Probe:
    """Evaluations, and by how much they violate a property.

    ``excess`` is at most 0 if they do not violate it.
    """

    sets: list[IndexArray]
    means: list[FloatArray]
    values: list[float]
    excess: float
    what: str
    sort: bool = True  # whether the arms were sorted for the evaluations

    def witness(self) -> Witness:
        """The same as plain data, with the arms in the order of the evaluations."""
        orders = [np.argsort(arms) if self.sort else np.arange(len(arms)) for arms in self.sets]
        sets = [arms[order] for arms, order in zip(self.sets, orders, strict=True)]
        means = [row[order] for row, order in zip(self.means, orders, strict=True)]
        return Witness.of(sets, means, self.values, self.what)


ProbeOnce: TypeAlias = Callable[[Evaluator, RandomInputs], Probe | None]


def probe(
    sets: list[IndexArray],
    means: list[FloatArray],
    values: list[float],
    excess: float,
    what: str,
    *,
    sort: bool = True,
) -> Probe | None:
    """The probe, if every evaluation gave a number."""
    if not all(map(math.isfinite, values)):
        return None
    return Probe(sets, means, values, excess, what, sort)


def repeat(evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
    """The same evaluation twice in a row, and once more after another one."""
    arms = draw.arms(draw.size())
    means = draw.means(len(arms))
    values = [evaluate(arms, means), evaluate(arms, means)]
    # A reward that remembers its last call shows only after another call.
    other = draw.arms(draw.size())
    evaluate(other, draw.means(len(other)))
    values.append(evaluate(arms, means))
    what = "the same set at the same means has another value"
    return probe([arms] * 3, [means] * 3, values, max(values) - min(values), what)


def batch_equals_single(evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
    """Three sets in a batch, and each of them alone."""
    theta = draw.means(draw.n_arms)
    sets = [draw.arms(draw.size()) for _ in range(3)]
    batched = evaluate.batch(sets, theta)
    single = np.array([evaluate(arms, theta[arms]) for arms in sets])
    off = np.abs(batched - single)
    if np.isnan(off).any():
        return None
    j = int(np.argmax(off))
    values = [float(batched[j]), float(single[j])]
    what = "a batch and a single call differ"
    return probe([sets[j]] * 2, [theta[sets[j]]] * 2, values, float(off[j]), what)


def mean_only(evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
    """A set in a batch, and again with other means outside the set: assumption 1."""
    arms = draw.arms(draw.size(most=draw.n_arms - 1))
    theta, other = draw.means(draw.n_arms), draw.means(draw.n_arms)
    other[arms] = theta[arms]  # the same in the set, other means outside it
    values = [float(evaluate.batch([arms], row)[0]) for row in (theta, other)]
    what = "in a batch the value changes with the means of arms outside the set"
    return probe([arms] * 2, [theta[arms]] * 2, values, abs(values[1] - values[0]), what)


def order(evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
    """A set, and its arms in another order."""
    arms = np.sort(draw.arms(draw.size(least=min(2, draw.n_arms))))
    means, shuffled = draw.means(len(arms)), draw.rng.permutation(len(arms))
    sets, rows = [arms, arms[shuffled]], [means, means[shuffled]]
    values = [evaluate(sets[0], rows[0]), evaluate(sets[1], rows[1], sort=False)]
    what = "the order of the arms changes the value"
    return probe(sets, rows, values, abs(values[1] - values[0]), what, sort=False)


@dataclass
class Lipschitz:
    """Moves of one or several means: assumption 2. Keeps the steepest slopes.

    Attributes
    ----------
    declared
        Shape (n_arms,): B.
    slope, share
        The largest change of the value per change of the means, and the largest share of what B
        allows.
    """

    declared: FloatArray
    slope: float = 0.0
    share: float = 0.0

    def __call__(self, evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
        """One move."""
        # Half of the moves are of single arms, where slopes are steepest for saturating rewards.
        size = 1 if draw.rng.random() < 0.5 else draw.size(least=1)
        arms = draw.arms(size)
        means = draw.means(size)
        there = draw.move(means)
        values = [evaluate(arms, means), evaluate(arms, there)]
        moved, change = np.abs(there - means), abs(values[1] - values[0])
        # |r(S; theta) - r(S; theta')| <= sum over S of B_i |theta_i - theta'_i|
        allowed = float(self.declared[arms] @ moved)
        if moved.sum() >= _TINY_MOVE and np.isfinite(change):
            self.slope = max(self.slope, change / float(moved.sum()))
            self.share = max(self.share, change / allowed) if allowed > 0 else self.share
        what = (
            f"the means move by {moved.sum():.3g}, the value by {change:.6g}, "
            f"and B allows {allowed:.6g}"
        )
        return probe([arms] * 2, [means, there], values, change - allowed * (1 + _ROUNDING), what)


@dataclass(frozen=True)
class Bounded:
    """Sets of all sizes at all kinds of means, often extreme ones: assumption 4."""

    upper: float

    def __call__(self, evaluate: Evaluator, draw: RandomInputs) -> Probe | None:
        """One set."""
        kind, rng = draw.rng.random(), draw.rng
        # All arms at mean 1 usually have the largest value: a quarter of the probes has all arms.
        size = 0 if kind < 0.1 else draw.n_arms if kind < 0.35 else draw.size()
        means = np.full(size, float(rng.integers(2))) if rng.random() < 0.5 else draw.means(size)
        arms = draw.arms(size)
        value = evaluate(arms, means)
        excess = max(-value, value - self.upper)
        return probe([arms], [means], [value], excess, f"not within [0, {self.upper:g}]")
