"""One function for each property: a probe asks the reward a few questions, and says by how much a property failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from superarm.advice.asking import Asker
from superarm.advice.draws import Draws
from superarm.advice.result import Witness
from superarm.core.arguments import FloatArray, IndexArray

# What separability is probed on: so many arms, for which Oracle+ is cheap; and so many rivals for each arm of its set.
_SUB_ARMS = 100
_RIVALS = 4


@dataclass(frozen=True, eq=False)
class Probe:
    """Questions, answers, and by how much they violate a property: ``excess``, not above 0 where they do not."""

    sets: list[IndexArray]
    means: list[FloatArray]
    values: list[float]
    excess: float
    what: str
    ascending: bool = True  # whether that is how the arms were asked about

    def witness(self) -> Witness:
        """The same as plain data, as it was asked."""
        orders = [
            np.argsort(arms) if self.ascending else np.arange(len(arms)) for arms in self.sets
        ]
        sets = [arms[order] for arms, order in zip(self.sets, orders, strict=True)]
        means = [row[order] for row, order in zip(self.means, orders, strict=True)]
        return Witness.of(sets, means, self.values, self.what)


ProbeOnce = Callable[[Asker, Draws], Probe | None]


def repeat(ask: Asker, draw: Draws) -> Probe | None:
    """The same question at once again, and once more after another one."""
    arms = draw.arms(draw.size())
    means = draw.means(len(arms))
    values = [ask(arms, means), ask(arms, means)]
    other = draw.arms(draw.size())
    ask(other, draw.means(len(other)))
    values.append(ask(arms, means))
    return _probe(
        [arms] * 3,
        [means] * 3,
        values,
        max(values) - min(values),
        "the same question, another answer",
    )


def batch_equals_single(ask: Asker, draw: Draws) -> Probe | None:
    """Three sets in a batch, and each of them alone."""
    theta = draw.means(draw.n_arms)
    sets = [draw.arms(draw.size()) for _ in range(3)]
    batched = ask.batch(sets, theta)
    single = np.array([ask(arms, theta[arms]) for arms in sets])
    off = np.abs(batched - single)
    if np.isnan(off).any():
        return None
    j = int(np.argmax(off))
    values = [float(batched[j]), float(single[j])]
    return _probe(
        [sets[j]] * 2,
        [theta[sets[j]]] * 2,
        values,
        float(off[j]),
        "a batch and a single call differ",
    )


def mean_only(ask: Asker, draw: Draws) -> Probe | None:
    """A set in a batch, and again with other means outside it: assumption 1."""
    arms = draw.arms(draw.size(most=draw.n_arms - 1))
    theta, other = draw.means(draw.n_arms), draw.means(draw.n_arms)
    other[arms] = theta[arms]
    values = [float(ask.batch([arms], row)[0]) for row in (theta, other)]
    what = "in a batch the value changes with the means of arms outside the set"
    return _probe([arms] * 2, [theta[arms]] * 2, values, abs(values[1] - values[0]), what)


def order(ask: Asker, draw: Draws) -> Probe | None:
    """A set, and its arms in another order."""
    arms = np.sort(draw.arms(draw.size(least=min(2, draw.n_arms))))
    means, shuffled = draw.means(len(arms)), draw.rng.permutation(len(arms))
    values = [ask(arms, means), ask(arms[shuffled], means[shuffled], ordered=False)]
    sets, rows, off = [arms, arms[shuffled]], [means, means[shuffled]], abs(values[1] - values[0])
    return _probe(
        sets, rows, values, off, "the order of the arms changes the value", ascending=False
    )


@dataclass
class Lipschitz:
    """Moves of one or several means: assumption 2. Keeps the steepest slopes.

    Attributes
    ----------
    declared
        Shape (n_arms,): B.
    slope, share
        The largest change of the value for the change of the means, and that as a share of what B allows.
    """

    declared: FloatArray
    slope: float = 0.0
    share: float = 0.0

    def __call__(self, ask: Asker, draw: Draws) -> Probe | None:
        """One move."""
        size = 1 if draw.rng.random() < 0.5 else draw.size(least=1)
        arms = draw.arms(size)
        means = draw.means(size)
        there = draw.move(means)
        values = [ask(arms, means), ask(arms, there)]
        moved, change = np.abs(there - means), abs(values[1] - values[0])
        reach = float(self.declared[arms] @ moved)
        # A tiny move of a value near rounding says nothing about slopes.
        if moved.sum() >= 1e-4 and np.isfinite(change):
            self.slope = max(self.slope, change / float(moved.sum()))
            self.share = max(self.share, change / reach) if reach > 0 else self.share
        what = f"the means move by {moved.sum():.3g}, the value by {change:.6g}, and B allows {reach:.6g}"
        return _probe([arms] * 2, [means, there], values, change - reach * (1 + 1e-9), what)


@dataclass(frozen=True)
class Bounded:
    """Sets of all sizes at all kinds of means, often the extreme ones: assumption 4."""

    upper: float

    def __call__(self, ask: Asker, draw: Draws) -> Probe | None:
        """One set."""
        kind, rng = draw.rng.random(), draw.rng
        size = 0 if kind < 0.1 else draw.n_arms if kind < 0.35 else draw.size()
        means = np.full(size, float(rng.integers(2))) if rng.random() < 0.5 else draw.means(size)
        arms = draw.arms(size)
        value = ask(arms, means)
        return _probe(
            [arms],
            [means],
            [value],
            max(-value, value - self.upper),
            f"not within [0, {self.upper:g}]",
        )


def rising_in_set(ask: Asker, draw: Draws) -> Probe | None:
    """A set, and one more arm: assumption 3."""
    arms = draw.arms(draw.size(most=draw.n_arms - 1) + 1)
    means = draw.means(len(arms))
    values = [ask(arms[:-1], means[:-1]), ask(arms, means)]
    what = "one more arm makes it less"
    return _probe([arms[:-1], arms], [means[:-1], means], values, values[0] - values[1], what)


def rising_alone(ask: Asker, draw: Draws) -> Probe | None:
    """A single arm at two means."""
    return _rising(ask, draw, 1)


def rising_in_means(ask: Asker, draw: Draws) -> Probe | None:
    """A set at two vectors of means, one above the other."""
    return _rising(ask, draw, draw.size(least=1))


def zero_is_absent(ask: Asker, draw: Draws) -> Probe | None:
    """A set with an arm of mean 0, and without it."""
    arms = draw.arms(draw.size(least=1))
    means = draw.means(len(arms))
    means[-1] = 0.0
    values = [ask(arms, means), ask(arms[:-1], means[:-1])]
    what = "an arm of mean 0 is not as good as absent"
    return _probe([arms, arms[:-1]], [means, means[:-1]], values, abs(values[0] - values[1]), what)


def additive(ask: Asker, draw: Draws) -> Probe | None:
    """What an arm adds to a set and to nothing; and whether of two arms the one of the larger mean is worth more."""
    if draw.n_arms < 2:
        return None
    arms = draw.arms(draw.size(least=1, most=draw.n_arms - 1) + 1)
    means = draw.means(len(arms))
    last, nothing = arms[-1:], arms[:0]
    sets, rows = [arms, arms[:-1], last, nothing], [means, means[:-1], means[-1:], means[:0]]
    values = [ask(one, row) for one, row in zip(sets, rows, strict=True)]
    gained, alone = values[0] - values[1], values[2] - values[3]
    adds = _probe(
        sets,
        rows,
        values,
        abs(gained - alone),
        "an arm adds something else to a set than to nothing",
    )
    low, high = (0, -1) if means[0] < means[-1] else (-1, 0)
    pair, at = [arms[[low]], arms[[high]]], [means[[low]], means[[high]]]
    worth = [ask(pair[0], at[0]), ask(pair[1], at[1])]
    tied = means[0] == means[-1]
    off = abs(worth[0] - worth[1]) if tied else worth[0] - worth[1]
    ordered = _probe(pair, at, worth, off, "the order of the means is not the order of the values")
    if adds is None or ordered is None:
        return None
    return adds if adds.excess >= ordered.excess else ordered


def concave(ask: Asker, draw: Draws) -> Probe | None:
    """A single arm at three means, the middle one against the chord."""
    arm = draw.arms(1)
    x = np.sort(np.concatenate([draw.means(1), draw.rng.random(2)]))
    values = [ask(arm, x[[j]]) for j in range(3)]
    if x[2] - x[0] < 1e-3:
        return None
    share = (x[1] - x[0]) / (x[2] - x[0])
    chord = (1 - share) * values[0] + share * values[2]
    return _probe(
        [arm] * 3,
        [x[[j]] for j in range(3)],
        values,
        chord - values[1],
        "the middle is below the chord",
    )


def diminishing(ask: Asker, draw: Draws) -> Probe | None:
    """What raising a mean adds where means are lower, an absent arm being one of mean 0, and where they are higher."""
    arms = draw.arms(draw.size(least=1))
    one, other = draw.means(len(arms)), draw.means(len(arms))
    low, high = np.minimum(one, other), np.maximum(one, other)
    low[draw.rng.random(len(arms)) < 0.3] = 0.0
    raised = np.zeros(len(arms))
    raised[-1] = draw.rng.random() * (1 - high[-1])
    rows = [low + raised, low, high + raised, high]
    sets = [arms[row > 0] for row in rows]
    rows = [row[row > 0] for row in rows]
    values = [ask(*question) for question in zip(sets, rows, strict=True)]
    there, here = values[0] - values[1], values[2] - values[3]
    what = "raising a mean lowers the value, or adds more where means are higher"
    return _probe(sets, rows, values, max(here - there, -here), what)


def submodular(ask: Asker, draw: Draws) -> Probe | None:
    """What an arm adds to a set, and to a part of it."""
    if draw.n_arms < 2:
        return None
    arms = draw.arms(draw.size(least=1, most=draw.n_arms - 1) + 1)
    means = draw.means(len(arms))
    part = np.append(np.arange(draw.rng.integers(len(arms) - 1)), len(arms) - 1)
    picks = [part, part[:-1], np.arange(len(arms)), np.arange(len(arms) - 1)]
    sets, rows = [arms[pick] for pick in picks], [means[pick] for pick in picks]
    values = [ask(one, row) for one, row in zip(sets, rows, strict=True)]
    to_part, to_all = values[0] - values[1], values[2] - values[3]
    return _probe(
        sets, rows, values, to_all - to_part, "an arm adds more to a set than to a part of it"
    )


@dataclass
class Separable:
    """Whether a swap improves Oracle+'s set, the k arms that are worth most alone: assumption 6.

    Played on at most 100 random arms (or 4k), as if there were no others: with more, the best arms are closer to each
    other, and swaps that help are rather more frequent.

    Attributes
    ----------
    losses
        What Oracle+ lost in each probe against the best swap that was tried, as a share of its value.
    """

    losses: list[float] = field(default_factory=list)

    @staticmethod
    def n_evaluations(n_arms: int, k: int) -> int:
        """How many evaluations a probe needs."""
        n_sub = min(n_arms, max(_SUB_ARMS, 4 * k))
        return n_sub + 1 + k * min(_RIVALS, n_sub - k)

    def __call__(self, ask: Asker, draw: Draws) -> Probe | None:
        """One theta."""
        k = draw.k
        arms = draw.arms(min(draw.n_arms, max(_SUB_ARMS, 4 * k)))
        if len(arms) <= k:
            return None
        theta = np.zeros(draw.n_arms)
        theta[arms] = draw.inner_means(len(arms))
        alone = ask.batch([np.array([arm]) for arm in arms], theta)
        if np.isnan(alone).any():
            return None
        ranked = arms[np.argsort(-alone, kind="stable")]
        best, rivals = ranked[:k], ranked[k : k + _RIVALS]
        swaps = [np.append(np.delete(best, place), rival) for place in range(k) for rival in rivals]
        values = ask.batch([best, *swaps], theta)
        if np.isnan(values).any():
            return None
        better = int(np.argmax(values[1:]))
        excess = float(values[1 + better] - values[0])
        self.losses.append(max(0.0, excess) / max(abs(float(values[1 + better])), 1e-300))
        sets = [best, swaps[better]]
        what = f"of {len(arms)} arms, a swap improves the set of the {k} that are worth most alone"
        return _probe(
            sets,
            [theta[one] for one in sets],
            [float(values[0]), float(values[1 + better])],
            excess,
            what,
        )


def _rising(ask: Asker, draw: Draws, size: int) -> Probe | None:
    arms = draw.arms(size)
    one = draw.means(size)
    other = draw.move(one)
    low, high = np.minimum(one, other), np.maximum(one, other)
    values = [ask(arms, low), ask(arms, high)]
    return _probe(
        [arms] * 2, [low, high], values, values[0] - values[1], "higher means make it less"
    )


def _probe(
    sets: list[IndexArray],
    means: list[FloatArray],
    values: list[float],
    excess: float,
    what: str,
    *,
    ascending: bool = True,
) -> Probe | None:
    """The probe, if every question had an answer."""
    return (
        Probe(sets, means, values, excess, what, ascending) if np.isfinite(values).all() else None
    )
