"""The random sets and means at which a reward is probed."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betaincinv

# What `rng.choice` would draw from, by the same draws, at a fraction of its time.
_SHARES, _SIGNS = np.array([0.0, 0.5, 1.0]), np.array([-1.0, 1.0])


class RandomInputs:
    """Random sets and means, independent from probe to probe.

    Most sets have about k arms, because a policy picks such sets, and the values of larger sets are
    often saturated. Single arms, sets of any size, the empty set and all arms occur as well.
    Means are uniform, at the corners 0 and 1, a mix of both, or Beta distributed like a posterior.
    """

    def __init__(self, n_arms: int, k: int, rng: np.random.Generator) -> None:
        self.n_arms, self.k, self.rng = n_arms, k, rng

    def size(self, *, least: int = 0, most: int | None = None) -> int:
        """How many arms: 1 to 2k in half of the cases, 1 in a quarter, else any, none or all."""
        most = self.n_arms if most is None else most
        which = self.rng.random()
        if which < 0.5:
            size = int(self.rng.integers(1, 2 * self.k + 1))
        elif which < 0.75:
            size = 1
        elif which < 0.9:
            # Any order of magnitude, because sets of millions of arms are slow to evaluate.
            size = int((self.n_arms + 1) ** self.rng.random())
        else:
            size = 0 if which < 0.95 else self.n_arms
        return min(max(size, least), most)

    def arms(self, size: int) -> IndexArray:
        """Distinct arms in random order, shape (size,)."""
        return self.rng.choice(self.n_arms, size, replace=False).astype(np.intp)

    def means(self, size: int) -> FloatArray:
        """Means of any kind, shape (size,)."""
        rng, which = self.rng, self.rng.random()
        if which < 0.4:
            return rng.random(size)
        if which < 0.6:
            # All 0, all 1, or each with probability 1/2.
            return (rng.random(size) < _SHARES[rng.integers(3)]).astype(np.float64)
        if which < 0.8:
            means = rng.random(size)
            corner = rng.random(size) < 0.25
            means[corner] = rng.integers(0, 2, np.count_nonzero(corner))
            return means
        return self.inner_means(size)

    def inner_means(self, size: int) -> FloatArray:
        """Means without ties, shape (size,): uniform, or Beta from spread out to narrow."""
        if self.rng.random() < 0.5:
            return self.rng.random(size)
        # From e^-1, where most means are near 0 or 1, to e^3, as after about 40 outcomes.
        a, b = np.exp(self.rng.uniform(-1, 3, 2))
        return self.rng.beta(float(a), float(b), size)

    def top_means(self, size: int) -> FloatArray:
        """Means without ties, shape (size,), as the largest of all arms have them."""
        # The largest of n uniform numbers are about uniform above 1 - size / n.
        quantiles = 1 - size / self.n_arms * self.rng.random(size)
        if self.rng.random() < 0.5:
            return quantiles
        a, b = np.exp(self.rng.uniform(-1, 3, 2))
        return np.asarray(betaincinv(float(a), float(b), quantiles), np.float64)

    def move(self, means: FloatArray) -> FloatArray:
        """Other means: one, some or all of them moved, all by a little or all by a lot."""
        rng, n = self.rng, len(means)
        moved = np.zeros(n, bool)
        moved[rng.integers(n)] = True  # at least one, so that there is a move
        which = rng.random()
        if which > 0.5:
            moved |= (rng.random(n) < 0.5) if which < 0.75 else True
        if rng.random() < 0.5:
            # From 0.001 to 0.1: a kink of the reward may show only in small steps.
            step = 10 ** rng.uniform(-3, -1) * _SIGNS[rng.integers(2, size=n)]
            # A step that would leave [0, 1] is made in the other direction.
            there = np.where((means + step < 0) | (means + step > 1), means - step, means + step)
        else:
            there = self.means(n)
        return np.where(moved, np.clip(there, 0.0, 1.0), means)
