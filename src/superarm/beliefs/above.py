"""Beta draws above a level: who they are and what they are, without drawing the others."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, betaincinv

from superarm.core._top_k import kth_largest
from superarm.core.arguments import FloatArray, IndexArray


class Above:
    """The arms whose draw from Beta(a_i, b_i) is above ``1 - margin``, for the k largest of all.

    Arm i is above with probability s_i, its tail. Give it a Poisson number of points with mean -ln(1 - s_i): it has
    none with probability 1 - s_i. So all points together are Poisson with the sum of the means, each falls on an arm
    with probability proportional to the arm's mean, and the arms that are hit are those above: exact in law, and no
    arm is looked at that is not hit. Arms above more often than not would be hit again and again; each has a coin of
    its own. The value of an arm above follows by inverting its tail.

    A point finds its arm by three choices, each among the cube root of n_arms, so a draw costs O((k + its coins) ·
    n_arms^(1/3)), whatever the posteriors are. 8 bytes an arm. The level suits as long as enough arms are expected
    above it, and not too many; see ``suits``.

    Parameters
    ----------
    a, b
        Shape (n_arms,): the posteriors. Not copied, and read-only from now on, so that they cannot change unnoticed.
    k
        How many of the largest are wanted.
    margin
        How far the level is below 1. Kept instead of the level, since it has more digits close to 1.
    """

    def __init__(self, a: FloatArray, b: FloatArray, k: int, margin: float) -> None:
        self.a, self.b, self.k, self.margin = a, b, k, margin
        self._is_built = False
        self.lock()

    @classmethod
    def drawn(cls, a: FloatArray, b: FloatArray, k: int, theta: FloatArray) -> Above | None:
        """With the level at a draw of the right rank.

        None where draws are equal there, since no level is right; and for arrays that are views or read-only, since
        locking them would not help or not be ours to undo.
        """
        level = kth_largest(theta, n_wanted(k))
        distinct = 0 < level < 1 and np.count_nonzero(theta == level) == 1
        lockable = all(array.flags.owndata and array.flags.writeable for array in (a, b))
        return cls(a, b, k, 1 - level) if distinct and lockable else None

    def lock(self) -> None:
        """No writing into the posteriors."""
        self.a.flags.writeable = self.b.flags.writeable = False

    def unlock(self) -> None:
        """The posteriors may be written to; ``told`` is due afterwards."""
        self.a.flags.writeable = self.b.flags.writeable = True

    def is_about(self, a: FloatArray, b: FloatArray) -> bool:
        """Whether these are the posteriors it was made for, and nobody could write into them."""
        return self.a is a and self.b is b and not (a.flags.writeable or b.flags.writeable)

    def suits(self, k: int) -> bool:
        """Whether about as many arms are expected above as the k largest take: few enough, and k almost surely."""
        if k != self.k:
            return False
        if not self._is_built:
            self._build()
        return self._expected <= 2 * n_wanted(k) and self._expected - k >= 3 * math.sqrt(self._var)

    def told(self, arms: IndexArray) -> None:
        """The posteriors of some arms have changed; O(arms · n_arms^(1/3))."""
        self.lock()
        if not self._is_built:
            return
        # Arms with coins are computed again with them: what is kept depends on a, b and the margin alone.
        arms = np.union1d(self._coins, arms)
        tail = self._tail(arms)
        self._rates.reshape(-1)[arms] = _rate(tail)
        rows = arms // self._fan
        self._rows.reshape(-1)[rows] = _total(self._rates[rows])
        shelves = rows // self._fan
        self._shelves[shelves] = _total(self._rows[shelves])
        self._settle(arms, tail)

    def draw(self, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms above, in no order that means anything, and how far each draw is below 1. After ``suits``."""
        hit = np.unique(self._hit(int(rng.poisson(self._sums[-1])), rng))
        arms = np.concatenate([hit, self._coins[rng.random(len(self._coins)) < self._chances]])
        # 1 - random() is in (0, 1]: a draw is never exactly 1 unless its digits end there.
        tail = self._tail(arms) * (1 - rng.random(len(arms)))
        return arms, np.minimum(betaincinv(self.b[arms], self.a[arms], tail), self.margin)

    def draw_rest(
        self, arms: IndexArray, below: FloatArray, *, rng: np.random.Generator
    ) -> FloatArray:
        """Draws of all arms, shape (n_arms,), given that ``arms`` and no others are above; O(n_arms)."""
        level = 1 - self.margin
        theta = rng.beta(self.a, self.b)
        theta[arms] = 0.0
        over = np.flatnonzero(theta > level)
        a, b = self.a[over], self.b[over]
        theta[over] = np.minimum(
            betaincinv(a, b, betainc(a, b, level) * rng.random(len(over))), level
        )
        theta[arms] = 1 - below
        return theta

    def _build(self) -> None:
        """The rates of all arms: rows of them, shelves of rows, each row and shelf with its sum."""
        n_arms = len(self.a)
        self._fan = max(2, math.ceil(n_arms ** (1 / 3)))
        n_shelves = -(-n_arms // self._fan**2)
        tail = self._tail(slice(None))
        coins = np.flatnonzero(tail > 0.5)
        self._rates = np.zeros((n_shelves * self._fan, self._fan))
        self._rates.reshape(-1)[:n_arms] = _rate(tail)
        self._rows = _total(self._rates).reshape(n_shelves, self._fan)
        self._shelves = _total(self._rows)
        self._settle(coins, tail[coins])
        self._is_built = True

    def _settle(self, arms: IndexArray, tail: FloatArray) -> None:
        likely = tail > 0.5
        self._coins, self._chances = arms[likely], tail[likely]
        self._sums = self._shelves.cumsum()
        rate = float(self._sums[-1])
        self._expected = rate + float(self._chances.sum())
        self._var = rate + float((self._chances * (1 - self._chances)).sum())

    def _hit(self, n: int, rng: np.random.Generator) -> IndexArray:
        """The arms of n points: a shelf, a row of it, an arm of that."""
        shelves = self._sums.searchsorted(rng.random(n) * self._sums[-1], side="right")
        rows = shelves * self._fan + _choose(self._rows[shelves], rng)
        return rows * self._fan + _choose(self._rates[rows], rng)

    def _tail(self, arms: IndexArray | slice) -> FloatArray:
        return betainc(self.b[arms], self.a[arms], self.margin)  # type: ignore[return-value]


def n_wanted(k: int) -> int:
    """How many arms should be above: k, and as many more as make fewer than k a rare thing."""
    return k + math.ceil(5 * math.sqrt(k)) + 12


def _rate(tail: FloatArray) -> FloatArray:
    """-ln(1 - tail), and 0 for arms with a coin of their own."""
    return -np.log1p(-np.where(tail > 0.5, 0.0, tail))


def _total(values: FloatArray) -> FloatArray:
    """Sums of the rows, added one after the other: the same for one row as for many, to the last bit."""
    return values.cumsum(axis=1)[:, -1].copy()


def _choose(weights: FloatArray, rng: np.random.Generator) -> IndexArray:
    """One column for each row, with probability proportional to its weight."""
    sums = weights.cumsum(axis=1)
    # random() < 1 also after rounding, so the last column is not passed, and columns of weight 0 are never chosen.
    return np.count_nonzero(sums <= (rng.random(len(sums)) * sums[:, -1])[:, None], axis=1)
