"""The k largest values of a Beta sample, without drawing the other values.

`BetaTopK` keeps a level that a few more than k arms are expected to exceed. `ArmsAbove` draws the
arms that exceed it, and their values, by a Poisson process: the number of random draws depends on k
and not on the number of arms.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import kth_largest, top_k
from superarm.core.special import betainc, betaincinv

# With fewer arms, one whole sample costs less than the bookkeeping.
_FEWEST_ARMS = 2048
# At most one arm in 16 may be expected above the level. An update of more arms starts afresh.
_ARMS_PER_DRAW = 16
# An arm that exceeds the level more often than this has a coin of its own.
_LIKELY = 0.5
# The level is kept while the expected number above is at most twice the number wanted ...
_TOO_MANY = 2
# ... and at least this many standard deviations more than k.
_SIGMAS = 3


class BetaPosteriors(Protocol):
    """What `BetaTopK` needs of a belief."""

    a: FloatArray
    b: FloatArray

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior."""


class BetaTopK:
    """Draws the k largest values of a belief's samples, again and again.

    Between draws it keeps an `ArmsAbove`, which is valid for one pair of arrays a and b. While it
    keeps one, the belief calls ``before_update`` and ``after_update`` around each change of the
    arrays.

    Attributes
    ----------
    above
        What is kept; None before the first draw, and for few arms.
    """

    def __init__(self) -> None:
        self.above: ArmsAbove | None = None

    @staticmethod
    def pays(k: int, n_arms: int) -> bool:
        """Whether drawing few arms costs less than drawing all."""
        return n_arms >= _FEWEST_ARMS and n_arms >= _ARMS_PER_DRAW * n_wanted(k)

    def draw(
        self, belief: BetaPosteriors, k: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        above = self._valid(belief)
        if above is not None and above.suits(k):
            arms, below = above.draw(rng=rng)
            if len(arms) >= k:
                best = top_k(-below, k, rng=rng)
                best = best[np.argsort(arms[best])]
                return arms[best], 1 - below[best]
            # Rare: fewer than k values exceed the level, so the other values are needed as well.
            theta = above.draw_rest(arms, below, rng=rng)
        else:
            theta = belief.sample(rng=rng)
        self.forget()
        self.above = ArmsAbove.at_rank(belief.a, belief.b, k, theta)
        arms = top_k(theta, k, rng=rng)
        return arms, theta[arms]

    def before_update(self, belief: BetaPosteriors, n_changes: int) -> None:
        """Make the arrays writeable; ``n_changes`` of their entries are about to change."""
        above = self._valid(belief)
        if above is not None:
            if _ARMS_PER_DRAW * n_changes <= len(belief.a):
                above.unlock()
            else:
                self.forget()

    def after_update(self, arms: IndexArray) -> None:
        """Take over the new posteriors of some arms."""
        if self.above is not None:  # before_update may have forgotten it
            self.above.update(arms)

    def level(self, belief: BetaPosteriors) -> tuple[int, float] | None:
        """The k and the margin in use; None before the first draw."""
        above = self._valid(belief)
        return None if above is None else (above.k, above.margin)

    def set_level(self, belief: BetaPosteriors, level: tuple[int, float] | None) -> None:
        """Continue with a k and a margin that ``level`` gave."""
        self.forget()
        self.above = None if level is None else ArmsAbove(belief.a, belief.b, *level)

    def forget(self) -> None:
        """Start afresh, and leave the arrays writeable."""
        if self.above is not None:
            self.above.unlock()
        self.above = None

    def _valid(self, belief: BetaPosteriors) -> ArmsAbove | None:
        """What is kept, unless the posteriors were changed by hand."""
        if self.above is not None and not self.above.describes(belief.a, belief.b):
            self.forget()
        return self.above


class ArmsAbove:
    """The arms whose draw from Beta(a_i, b_i) exceeds ``1 - margin``, for the k largest of all.

    Arm i exceeds the level with probability s_i, its tail. Give the arm a Poisson number of points
    with mean -ln(1 - s_i): it has no point with probability 1 - s_i. All points together are
    Poisson with the sum of these means, and each point falls on an arm with probability
    proportional to the arm's mean. The arms with a point are the arms above, exactly in law, and no
    other arm is looked at. Likely arms would get many points, so each has a coin of its own. The
    value of an arm above follows by inverting its tail.

    A point finds its arm by three choices, each among n_arms^(1/3), so a draw costs
    O((k + coins) · n_arms^(1/3)) for any posteriors. Takes 8 bytes per arm.

    Parameters
    ----------
    a, b
        Shape (n_arms,): the posteriors. Not copied, and read-only from now on, so that they can't
        change unnoticed.
    k
        How many of the largest values are wanted.
    margin
        How far the level is below 1. Close to 1 the margin has more digits than the level.
    """

    def __init__(self, a: FloatArray, b: FloatArray, k: int, margin: float) -> None:
        self.a, self.b, self.k, self.margin = a, b, k, margin
        self._is_built = False
        self.lock()

    @classmethod
    def at_rank(cls, a: FloatArray, b: FloatArray, k: int, theta: FloatArray) -> ArmsAbove | None:
        """With the level at the value of theta that has the right rank.

        None if values are equal there, since then no level separates them. None as well for arrays
        that are views or read-only: locking has no effect on them, or must not be undone here.
        """
        level = kth_largest(theta, n_wanted(k))
        is_distinct = 0 < level < 1 and np.count_nonzero(theta == level) == 1
        is_lockable = all(array.flags.owndata and array.flags.writeable for array in (a, b))
        return cls(a, b, k, 1 - level) if is_distinct and is_lockable else None

    def lock(self) -> None:
        """Make the posteriors read-only."""
        self.a.flags.writeable = self.b.flags.writeable = False

    def unlock(self) -> None:
        """Make the posteriors writeable; call ``update`` after changing them."""
        self.a.flags.writeable = self.b.flags.writeable = True

    def describes(self, a: FloatArray, b: FloatArray) -> bool:
        """Whether these are its posteriors, and nobody can have written to them."""
        return self.a is a and self.b is b and not (a.flags.writeable or b.flags.writeable)

    def suits(self, k: int) -> bool:
        """Whether the number of arms above is expected to be at least k, and not much more."""
        if k != self.k:
            return False
        if not self._is_built:
            self._build()
        enough = self._expected - k >= _SIGMAS * math.sqrt(self._var)
        return self._expected <= _TOO_MANY * n_wanted(k) and enough

    def update(self, arms: IndexArray) -> None:
        """The posteriors of some arms have changed; O(arms · n_arms^(1/3))."""
        self.lock()
        if not self._is_built:
            return
        # Arms with coins are computed again as well, so that all that is kept is a function of a, b
        # and the margin, whatever the order of the updates was.
        arms = _distinct(self._coins, arms)
        tail = self._tail(arms)
        self._rates.reshape(-1)[arms] = _rate(tail)
        rows = arms // self._fan
        self._rows.reshape(-1)[rows] = _sum_rows(self._rates[rows])
        shelves = rows // self._fan
        self._shelves[shelves] = _sum_rows(self._rows[shelves])
        self._summarize(arms, tail)

    def draw(self, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms above, in any order, and how far each value is below 1. Call ``suits`` first."""
        hit = _distinct(self._arms_of_points(int(rng.poisson(self._sums[-1])), rng))
        lucky = self._coins[rng.random(len(self._coins)) < self._chances]
        arms = np.concatenate([hit, lucky])
        # 1 - random() is in (0, 1], so a value is 1 only where its digits end.
        tail = self._tail(arms) * (1 - rng.random(len(arms)))
        return arms, np.minimum(betaincinv(self.b[arms], self.a[arms], tail), self.margin)

    def draw_rest(
        self, arms: IndexArray, below: FloatArray, *, rng: np.random.Generator
    ) -> FloatArray:
        """Values of all arms, shape (n_arms,), given that exactly ``arms`` are above; O(n_arms)."""
        level = 1 - self.margin
        theta = rng.beta(self.a, self.b)
        theta[arms] = 0.0
        over = np.flatnonzero(theta > level)
        a, b = self.a[over], self.b[over]
        # These are drawn again from their Beta distributions restricted to [0, level].
        share = betainc(a, b, level) * rng.random(len(over))
        theta[over] = np.minimum(betaincinv(a, b, share), level)
        theta[arms] = 1 - below
        return theta

    def _build(self) -> None:
        """A tree of three levels: the arms' rates in rows, the rows on shelves, each with a sum."""
        n_arms = len(self.a)
        self._fan = max(2, math.ceil(n_arms ** (1 / 3)))
        n_shelves = -(-n_arms // self._fan**2)
        tail = self._tail(slice(None))
        coins = np.flatnonzero(tail > _LIKELY)
        self._rates = np.zeros((n_shelves * self._fan, self._fan))
        self._rates.reshape(-1)[:n_arms] = _rate(tail)
        self._rows = _sum_rows(self._rates).reshape(n_shelves, self._fan)
        self._shelves = _sum_rows(self._rows)
        self._summarize(coins, tail[coins])
        self._is_built = True

    def _summarize(self, arms: IndexArray, tail: FloatArray) -> None:
        """Which arms have coins, and the mean and variance of the number of arms above."""
        is_likely = tail > _LIKELY
        self._coins, self._chances = arms[is_likely], tail[is_likely]
        self._sums = self._shelves.cumsum()
        rate = float(self._sums[-1])
        self._expected = rate + float(self._chances.sum())
        self._var = rate + float((self._chances * (1 - self._chances)).sum())

    def _arms_of_points(self, n: int, rng: np.random.Generator) -> IndexArray:
        """The arms of n points: choose a shelf, then one of its rows, then an arm of the row."""
        shelves = self._sums.searchsorted(rng.random(n) * self._sums[-1], side="right")
        rows = shelves * self._fan + _choose(self._rows[shelves], rng)
        return rows * self._fan + _choose(self._rates[rows], rng)

    def _tail(self, arms: IndexArray | slice) -> FloatArray:
        """The probabilities s_i; 1 - theta_i is Beta(b_i, a_i)."""
        return betainc(self.b[arms], self.a[arms], self.margin)


def n_wanted(k: int) -> int:
    """How many arms should exceed the level: k, and enough more that fewer than k are rare."""
    return k + math.ceil(5 * math.sqrt(k)) + 12


def _distinct(*arms: IndexArray) -> IndexArray:
    """Each of the arms once, ascending; for few arms several times faster than np.unique."""
    ordered = np.concatenate(arms)
    ordered.sort()
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def _rate(tail: FloatArray) -> FloatArray:
    """-ln(1 - tail), the mean number of points; 0 for arms with a coin of their own."""
    return -np.log1p(-np.where(tail > _LIKELY, 0.0, tail))


def _sum_rows(values: FloatArray) -> FloatArray:
    """Sums of the rows, added from left to right: one row alone gives the same bits as many."""
    return values.cumsum(axis=1)[:, -1].copy()


def _choose(weights: FloatArray, rng: np.random.Generator) -> IndexArray:
    """One column per row, with probability proportional to its weight."""
    sums = weights.cumsum(axis=1)
    # random() < 1 also after rounding: the last column is never passed, and a column of weight 0 is
    # never chosen.
    # Not np.count_nonzero, which makes a copy first.
    return (sums <= (rng.random(len(sums)) * sums[:, -1])[:, None]).sum(axis=1)
