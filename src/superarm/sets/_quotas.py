"""The best set within quotas: separable, so greedy finds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k
from superarm.core.same_draws import same_draws

BoolArray = NDArray[np.bool_]


class Quotas:
    """Which arms may be in, which must be, how many per group; at most or exactly ``k`` in all.

    The sets of exactly k arms are the bases of a matroid. At most k arms is the same with k more
    arms that are worth nothing. So the best set takes the best arms of each group up to its lower
    quota, and then the best arms that the upper quotas allow, of any group.

    Attributes
    ----------
    possible, must
        Shape (n_arms,), bool: which arms may be in, and which of these must be in.
    group
        Shape (n_arms,): the number of each arm's group; the arms in no group have the last number.
    least, most
        Shape (n_groups + 1,): the quotas of each group.
    """

    def __init__(
        self,
        possible: BoolArray,
        must: BoolArray,
        group: IndexArray,
        least: IndexArray,
        most: IndexArray,
        k: int,
        at_most: bool,
    ) -> None:
        self.possible, self.must, self.group = possible, must, group
        self.least, self.most, self.k, self.at_most = least, most, k, at_most

    def counts(self, arms: BoolArray | IndexArray) -> IndexArray:
        """Shape (n_groups + 1,): how many of some arms are in each group."""
        return np.bincount(self.group[arms], minlength=len(self.least))

    def fulfilled(self, rows: IndexArray) -> BoolArray:
        """Shape (n_sets,): which sets of equal size, shape (n_sets, size), fulfil the quotas."""
        size = rows.shape[1]
        size_fits = size <= self.k if self.at_most else size == self.k
        has_must = self.must[rows].sum(axis=1) == self.must.sum()
        good = self.possible[rows].all(axis=1) & has_must & size_fits
        groups = self.group[rows]
        for number in range(len(self.least) - 1):
            counts = (groups == number).sum(axis=1)
            good &= (counts >= self.least[number]) & (counts <= self.most[number])
        return good

    def best(self, values: FloatArray, must: BoolArray, *, rng: np.random.Generator) -> IndexArray:
        """The set of the largest sum of values with all of ``must``, ascending; ties at random.

        O(n_arms) without groups, and O(n_arms log n_arms) with groups. The values of arms that must
        be in, or cannot be in, do not matter.
        """
        # Without groups nothing needs to be sorted.
        if len(self.least) == 1:
            sure, others = np.flatnonzero(must), np.flatnonzero(self.possible & ~must)
        else:
            sure, others = self._by_group(np.where(must, np.inf, values), must, rng)
        if self.at_most:
            # An arm of negative value is worse than an empty place.
            others = others[values[others] >= 0]
        n_free = min(self.k - len(sure), len(others))
        if n_free == 0:
            return np.sort(sure)
        return np.sort(np.concatenate([sure, others[top_k(values[others], n_free, rng=rng)]]))

    def _by_group(
        self, values: FloatArray, must: BoolArray, rng: np.random.Generator
    ) -> tuple[IndexArray, IndexArray]:
        """The arms that fill the lower quotas, and those to choose from within the upper."""
        arms = np.flatnonzero(self.possible)
        least = np.maximum(self.least, self.counts(must))
        arms = arms[np.lexsort((-values[arms], self.group[arms]))]
        group = self.group[arms]
        # The place of each arm within its group, 0 for the best.
        rank = np.arange(len(arms)) - np.searchsorted(group, group)
        bound = (rank == least[group]) | (rank == self.most[group])
        # A tie matters only at the edge of a quota, where one of the equal arms is left out.
        tied = bound[1:] & (group[1:] == group[:-1]) & (values[arms[1:]] == values[arms[:-1]])
        if tied.any():
            arms = rng.permutation(arms)  # so that equal arms come in random order
            arms = arms[np.lexsort((-values[arms], self.group[arms]))]
        return arms[rank < least[group]], arms[(rank >= least[group]) & (rank < self.most[group])]

    def extensions(self, fixed: BoolArray, weights: FloatArray | None, limit: float) -> BoolArray:
        """Which arms may join the fixed ones, on the way to a set within the limit of weights."""
        mask = self.addable(fixed)
        if weights is not None and mask.any():
            mask &= self.lightest(weights, fixed)[1] <= limit
        return mask

    def completions(self, fixed: BoolArray) -> BoolArray:
        """Which single arm makes a set of the fixed ones."""
        counts, missing, size = self.counts(fixed), self.must & ~fixed, int(fixed.sum())
        short = np.maximum(self.least - counts, 0)
        # One more arm must bring the size, the lower quotas and the required arms in order.
        size_fits = size < self.k if self.at_most else size == self.k - 1
        one_is_enough = size_fits and short.sum() <= 1 and missing.sum() <= 1
        in_order = not (fixed & ~self.possible).any() and bool((counts <= self.most).all())
        if not one_is_enough or not in_order:
            return np.zeros(len(fixed), bool)
        mask = self.possible & ~fixed & (counts < self.most)[self.group]
        if short.any():
            mask &= (short > 0)[self.group]
        return mask & missing if missing.any() else mask

    def members(self, arms: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Pairs of a group and the place in ``arms`` of one of its members."""
        return self.group[arms], np.arange(len(arms))

    def addable(self, fixed: BoolArray) -> BoolArray:
        """Which arms may join the fixed ones, on the way to a set."""
        counts = self.counts(fixed)
        # Places taken by the fixed arms, and by what the lower quotas still need.
        taken = int(np.maximum(counts, self.least).sum())
        if (counts > self.most).any() or taken > self.k or (fixed & ~self.possible).any():
            return np.zeros(len(fixed), bool)
        # A group has room if it is below its lower quota, or if a free place is left.
        room = (counts < self.most) & ((counts < self.least) | (taken < self.k))
        return self.possible & ~fixed & room[self.group]

    def lightest(self, weights: FloatArray, fixed: BoolArray) -> tuple[float, FloatArray]:
        """The weight of the lightest set with the fixed arms; and with one more arm, per arm.

        To bring an arm into the lightest set, it is exchanged for the heaviest arm possible: one of
        the same group, or any arm that its group can spare if the new arm's group has room.
        """
        # Which of several equally light sets it is does not matter, so the caller's generator is
        # not used.
        base = np.zeros(len(fixed), bool)
        base[self.best(-weights, fixed, rng=same_draws())] = True
        counts, free = self.counts(base), base & ~fixed
        heaviest = np.full(len(self.least), -np.inf)
        np.maximum.at(heaviest, self.group[free], weights[free])
        spare = heaviest[counts > self.least].max(initial=-np.inf)
        if self.at_most and base.sum() < self.k:
            spare = max(spare, 0.0)  # an empty place
        # The heaviest arm that can leave for an arm of each group.
        leaves = np.maximum(heaviest, np.where(counts < self.most, spare, -np.inf))[self.group]
        total = float(weights[base].sum())
        return total, np.where(base, total, total + weights - leaves)
