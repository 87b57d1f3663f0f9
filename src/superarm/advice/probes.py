"""Probes of what is required or declared of every reward, one function or class per property.

A probe makes a few evaluations, and says by how much they violate the property.
The probes of `superarm.advice.shape_probes` are about the shape of the reward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.advice.asking import Asking, Probe, batch, probe, same, singles
from superarm.advice.random_inputs import RandomInputs
from superarm.core.arguments import FloatArray, IndexArray

_TINY_MOVE = 1e-4  # moves of means below this say nothing about slopes, because of rounding
_ROUNDING = 1e-9  # share of B that may be rounding


def repeat(draw: RandomInputs) -> Asking:
    """The same evaluation twice in a row, and once more after another one."""
    arms = draw.arms(draw.size())
    means = draw.means(len(arms))
    # A reward that remembers its last call shows only after another call.
    other = draw.arms(draw.size())
    between = draw.means(len(other))
    answers = yield singles([arms, arms, other, arms], [means, means, between, means])
    return same(arms, means, answers[[0, 1, 3]].tolist())


def repeat_once(draw: RandomInputs) -> Asking:
    """The same evaluation twice."""
    arms = draw.arms(draw.k)
    means = draw.means(draw.k)
    answers = yield singles([arms] * 2, [means] * 2)
    return same(arms, means, answers.tolist())


def batch_equals_single(draw: RandomInputs) -> Asking:
    """Three sets in a batch, and each of them alone."""
    theta = draw.means(draw.n_arms)
    sets = [draw.arms(draw.size()) for _ in range(3)]
    batched = yield batch(sets, theta)
    single = yield singles(sets, [theta[arms] for arms in sets])
    off = np.abs(batched - single)
    if np.isnan(off).any():
        return None
    j = int(np.argmax(off))
    values = [float(batched[j]), float(single[j])]
    what = "a batch and a single call differ"
    return probe([sets[j]] * 2, [theta[sets[j]]] * 2, values, float(off[j]), what)


def mean_only(draw: RandomInputs) -> Asking:
    """A set in a batch, and again with other means outside the set: assumption 1."""
    arms = draw.arms(draw.size(most=draw.n_arms - 1))
    theta, other = draw.means(draw.n_arms), draw.means(draw.n_arms)
    other[arms] = theta[arms]  # the same in the set, other means outside it
    first = yield batch([arms], theta)
    second = yield batch([arms], other)
    values = [float(first[0]), float(second[0])]
    what = "in a batch the value changes with the means of arms outside the set"
    return same(arms, theta[arms], values, what)


def order(draw: RandomInputs) -> Asking:
    """A set, and its arms in another order."""
    arms = np.sort(draw.arms(draw.size(least=min(2, draw.n_arms))))
    means, shuffled = draw.means(len(arms)), draw.rng.permutation(len(arms))
    sets, rows = [arms, arms[shuffled]], [means, means[shuffled]]
    values = yield singles(sets, rows, [True, False])
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

    def __call__(self, draw: RandomInputs) -> Asking:
        """One move."""
        # Half of the moves are of single arms, where slopes are steepest for saturating rewards.
        size = 1 if draw.rng.random() < 0.5 else draw.size(least=1)
        arms = draw.arms(size)
        means = draw.means(size)
        there = draw.move(means)
        values = yield singles([arms, arms], [means, there])
        return self.moved(arms, means, there, values)

    def moved(
        self, arms: IndexArray, means: FloatArray, there: FloatArray, values: FloatArray
    ) -> Probe | None:
        """What the values of a set at two vectors of means show."""
        moved, change = np.abs(there - means), abs(float(values[1] - values[0]))
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

    def __call__(self, draw: RandomInputs) -> Asking:
        """One set."""
        kind, rng = draw.rng.random(), draw.rng
        # All arms at mean 1 usually have the largest value: a quarter of the probes has all arms.
        size = 0 if kind < 0.1 else draw.n_arms if kind < 0.35 else draw.size()
        means = np.full(size, float(rng.integers(2))) if rng.random() < 0.5 else draw.means(size)
        arms = draw.arms(size)
        (value,) = yield singles([arms], [means])
        excess = max(-value, value - self.upper)
        return probe([arms], [means], [value], excess, f"not within [0, {self.upper:g}]")
