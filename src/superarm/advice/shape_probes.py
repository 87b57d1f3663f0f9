"""Probes of the shape of a reward: monotone, additive, concave, submodular, separable, ..."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from superarm.advice import settings
from superarm.advice.asking import Asking, batch, probe, singles
from superarm.advice.random_inputs import RandomInputs
from superarm.core.arguments import FloatArray, IndexArray

# Separability is probed on this many arms, for which Oracle+ is cheap,
_SUB_ARMS = 100
# with this many rivals for each arm of Oracle+'s set.
_RIVALS = 4
_NARROW = 1e-3  # an interval of means in which a chord would be rounding


def rising_in_set(draw: RandomInputs) -> Asking:
    """A set, and one more arm: assumption 3."""
    arms = draw.arms(draw.size(most=draw.n_arms - 1) + 1)
    means = draw.means(len(arms))
    # r(S; theta) <= r(S + i; theta)
    values = yield singles([arms[:-1], arms], [means[:-1], means])
    what = "one more arm lowers the value"
    return probe([arms[:-1], arms], [means[:-1], means], values, values[0] - values[1], what)


def rising_alone(draw: RandomInputs) -> Asking:
    """A single arm at two means."""
    return (yield from _rising(draw, 1))


def rising_in_means(draw: RandomInputs) -> Asking:
    """A set at two vectors of means, one above the other."""
    return (yield from _rising(draw, draw.size(least=1)))


def zero_is_absent(draw: RandomInputs) -> Asking:
    """A set with an arm of mean 0, and without it."""
    arms = draw.arms(draw.size(least=1))
    means = draw.means(len(arms))
    means[-1] = 0.0
    values = yield singles([arms, arms[:-1]], [means, means[:-1]])
    what = "an arm of mean 0 is not worth as much as an absent one"
    return probe([arms, arms[:-1]], [means, means[:-1]], values, abs(values[0] - values[1]), what)


def additive(draw: RandomInputs) -> Asking:
    """What an arm adds to a set and to nothing, and whether the larger mean is worth more."""
    if draw.n_arms < 2:
        return None
    arms = draw.arms(draw.size(least=1, most=draw.n_arms - 1) + 1)
    means = draw.means(len(arms))
    last, nothing = arms[-1:], arms[:0]
    sets, rows = [arms, arms[:-1], last, nothing], [means, means[:-1], means[-1:], means[:0]]
    values = yield singles(sets, rows)
    # r(S + i) - r(S) = r({i}) - r({})
    gained, alone = values[0] - values[1], values[2] - values[3]
    what = "an arm adds another value to a set than to nothing"
    adds = probe(sets, rows, values, abs(gained - alone), what)
    # theta_i <= theta_j implies r({i}) <= r({j}), with equality for equal means.
    low, high = (0, -1) if means[0] < means[-1] else (-1, 0)
    pair, at = [arms[[low]], arms[[high]]], [means[[low]], means[[high]]]
    worth = yield singles(pair, at)
    tied = means[0] == means[-1]
    off = abs(worth[0] - worth[1]) if tied else worth[0] - worth[1]
    ordered = probe(pair, at, worth, off, "the order of the means is not the order of the values")
    if adds is None or ordered is None:
        return None
    return adds if adds.excess >= ordered.excess else ordered


def concave(draw: RandomInputs) -> Asking:
    """A single arm at three means, the middle one against the chord."""
    arm = draw.arms(1)
    x = np.sort(np.concatenate([draw.means(1), draw.rng.random(2)]))
    means = [x[[j]] for j in range(3)]
    values = yield singles([arm] * 3, means)
    if x[2] - x[0] < _NARROW:
        return None
    # f(x1) >= (1 - s) f(x0) + s f(x2), where x1 = (1 - s) x0 + s x2
    share = (x[1] - x[0]) / (x[2] - x[0])
    chord = (1 - share) * values[0] + share * values[2]
    return probe([arm] * 3, means, values, chord - values[1], "the middle is below the chord")


def diminishing(draw: RandomInputs) -> Asking:
    """What raising a mean adds where means are lower, and where they are higher.

    An absent arm counts as one of mean 0.
    """
    arms = draw.arms(draw.size(least=1))
    one, other = draw.means(len(arms)), draw.means(len(arms))
    low, high = np.minimum(one, other), np.maximum(one, other)
    low[draw.rng.random(len(arms)) < 0.3] = 0.0
    # 0 <= r(high + raised) - r(high) <= r(low + raised) - r(low), where low <= high
    raised = np.zeros(len(arms))
    raised[-1] = draw.rng.random() * (1 - high[-1])
    rows = [low + raised, low, high + raised, high]
    # Arms of mean 0 are left out of the sets.
    sets = [arms[row > 0] for row in rows]
    rows = [row[row > 0] for row in rows]
    values = yield singles(sets, rows)
    there, here = values[0] - values[1], values[2] - values[3]
    what = "raising a mean lowers the value, or adds more where means are higher"
    return probe(sets, rows, values, max(here - there, -here), what)


def part_and_whole(
    draw: RandomInputs, arms: IndexArray
) -> tuple[list[IndexArray], list[FloatArray]]:
    """The sets A + i, A, B + i and B with their means: i is the last arm, A a part of B."""
    means = draw.means(len(arms))
    part = np.append(np.arange(draw.rng.integers(len(arms) - 1)), len(arms) - 1)
    picks = [part, part[:-1], np.arange(len(arms)), np.arange(len(arms) - 1)]
    return [arms[pick] for pick in picks], [means[pick] for pick in picks]


def submodular(draw: RandomInputs) -> Asking:
    """What an arm adds to a set, and to a part of the set."""
    if draw.n_arms < 2:
        return None
    arms = draw.arms(draw.size(least=1, most=draw.n_arms - 1) + 1)
    # r(B + i) - r(B) <= r(A + i) - r(A), where A is a part of B and i is the last arm
    sets, rows = part_and_whole(draw, arms)
    values = yield singles(sets, rows)
    to_part, to_all = values[0] - values[1], values[2] - values[3]
    what = "an arm adds more to a set than to a part of it"
    return probe(sets, rows, values, to_all - to_part, what)


@dataclass
class Separable:
    """Whether a swap improves Oracle+'s set, the k arms that are worth most alone: assumption 6.

    Probed on some random arms, as if there were no others. With more arms, the best ones are closer
    to each other, and more swaps improve the set.

    Attributes
    ----------
    small
        Probe 2k arms and one rival instead of 100 arms (or 4k) and four rivals, half of the time
        at means as the best arms have them.
    losses
        What Oracle+ lost in each probe against the best swap tried, as a share of its value.
    """

    small: bool = False
    losses: list[float] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """The mean of ``losses``; 0 without a probe."""
        return float(np.mean(self.losses)) if self.losses else 0.0

    def n_evaluations(self, n_arms: int, k: int) -> int:
        """How many evaluations a probe needs."""
        n_sub = self._n_sub(n_arms, k)
        return n_sub + 1 + k * min(self._n_rivals, n_sub - k)

    def _n_sub(self, n_arms: int, k: int) -> int:
        return min(n_arms, settings.SMALL_ARMS * k if self.small else max(_SUB_ARMS, 4 * k))

    @property
    def _n_rivals(self) -> int:
        return 1 if self.small else _RIVALS

    def __call__(self, draw: RandomInputs) -> Asking:
        """One theta."""
        k = draw.k
        arms = draw.arms(self._n_sub(draw.n_arms, k))
        if len(arms) <= k:
            return None
        # Without ties, because a swap between tied arms would be no violation.
        theta = np.zeros(draw.n_arms)
        top = self.small and draw.rng.random() < 0.5
        theta[arms] = draw.top_means(len(arms)) if top else draw.inner_means(len(arms))
        alone = yield batch([np.array([arm]) for arm in arms], theta, split=True)
        if np.isnan(alone).any():
            return None
        ranked = arms[np.argsort(-alone, kind="stable")]
        best, rivals = ranked[:k], ranked[k : k + self._n_rivals]
        # Only the next best arms are tried: a swap with them is the most likely to help.
        swaps = [np.append(np.delete(best, place), rival) for place in range(k) for rival in rivals]
        values = yield batch([best, *swaps], theta, split=True)
        if np.isnan(values).any():
            return None
        better = int(np.argmax(values[1:]))
        pair = [float(values[0]), float(values[1 + better])]
        excess = pair[1] - pair[0]
        self.losses.append(max(0.0, excess) / max(abs(pair[1]), np.finfo(float).tiny))
        sets = [best, swaps[better]]
        what = f"of {len(arms)} arms, a swap improves the set of the {k} that are worth most alone"
        # Noise also decides which arms seem to be worth most alone: two more values.
        return probe(sets, [theta[one] for one in sets], pair, excess, what, n_noisy=4)


def _rising(draw: RandomInputs, size: int) -> Asking:
    arms = draw.arms(size)
    one = draw.means(size)
    other = draw.move(one)
    # theta <= theta' implies r(S; theta) <= r(S; theta')
    low, high = np.minimum(one, other), np.maximum(one, other)
    values = yield singles([arms] * 2, [low, high])
    what = "higher means lower the value"
    return probe([arms] * 2, [low, high], values, values[0] - values[1], what)
