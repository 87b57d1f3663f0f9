"""Quotas of groups that share arms, such as brands and categories, by integer programming.

Two families of groups, each disjoint or nested within itself, have a totally unimodular matrix
(Edmonds 1970): the linear program has a whole-numbered solution, so no branching is needed. More
families are as hard as three-dimensional matching, and the solver has to search.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.sets._programs import SIZE, IntegerProgram, as_gains

BoolArray = NDArray[np.bool_]
_TINY = 1e-300  # keeps a division by a limit of 0 finite


class Overlapping:
    """`Quotas` for groups that may share arms.

    Attributes
    ----------
    possible, must
        Shape (n_arms,), bool: which arms may be in, and which of these must be in.
    member
        Shape (n_groups, n_arms), bool: which arms are in each group.
    least, most
        Shape (n_groups,): the quotas of each group.
    """

    def __init__(
        self,
        possible: BoolArray,
        must: BoolArray,
        member: BoolArray,
        least: IndexArray,
        most: IndexArray,
        k: int,
        at_most: bool,
    ) -> None:
        self.possible, self.must, self.member = possible, must, member
        self.least, self.most, self.k, self.at_most = least, most, k, at_most

    @cached_property
    def kind(self) -> IndexArray:
        """Shape (n_arms,): equal for arms of the same groups, which only values tell apart."""
        bits = np.ascontiguousarray(np.packbits(self.member, axis=0).T)
        return np.unique(bits.view(f"V{bits.shape[1]}").ravel(), return_inverse=True)[1]

    @cached_property
    def _kinds(self) -> IndexArray:
        """Shape (n_groups, n_kinds): 1 where arms of a kind are in a group."""
        first = np.unique(self.kind, return_index=True)[1]
        return self.member[:, first].astype(np.intp)

    def counts(self, arms: BoolArray | IndexArray) -> IndexArray:
        """Shape (n_groups,): how many of some arms are in each group."""
        return self.member[:, arms].sum(axis=1)

    def members(self, arms: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Pairs of a group and the place in ``arms`` of one of its members."""
        groups, places = np.nonzero(self.member[:, arms])
        return groups, places

    def fulfilled(self, rows: IndexArray) -> BoolArray:
        """Shape (n_sets,): which sets of equal size, shape (n_sets, size), fulfil the quotas."""
        size = rows.shape[1]
        size_fits = size <= self.k if self.at_most else size == self.k
        has_must = self.must[rows].sum(axis=1) == self.must.sum()
        good = self.possible[rows].all(axis=1) & has_must & size_fits
        for mine, least, most in zip(self.member, self.least, self.most, strict=True):
            counts = mine[rows].sum(axis=1)
            good &= (counts >= least) & (counts <= most)
        return good

    def best(self, values: FloatArray, must: BoolArray, *, rng: np.random.Generator) -> IndexArray:
        """The set of the largest sum of values with all of ``must``, ascending; ties at random.

        To within a millionth of that sum. The values of arms that must be in, or cannot be in, do
        not matter.
        """
        arms = np.flatnonzero(self.possible)
        if len(np.unique(values[arms])) < len(arms):
            arms = rng.permutation(arms)
        arms = self._best_of_each_kind(arms, np.where(must, np.inf, values))
        gains = as_gains(np.where(must[arms], 0.0, values[arms]))
        is_in = IntegerProgram(self, arms, must[arms]).solve(gains)
        if is_in is None:
            raise RuntimeError("the solver found no set within the quotas, though there is one")
        return np.sort(arms[is_in])

    def extensions(self, fixed: BoolArray, weights: FloatArray | None, limit: float) -> BoolArray:
        """Which arms may join the fixed ones, on the way to a set within the limit of weights.

        Exchanges in a set show most of them. For the rest, a program looks for a set with as many
        of them as possible, until there is none.
        """
        known = np.zeros(len(fixed), bool)
        if (fixed & ~self.possible).any() or fixed.sum() > self.k:
            return known
        arms = np.flatnonzero(self.possible)
        if weights is None:
            arms, scaled = self._best_of_each_kind(arms, np.where(fixed, np.inf, 0.0)), None
        else:
            # The solver fails at weights far above the limit.
            arms = arms[fixed[arms] | (weights[arms] <= limit)]
            scaled = weights[arms] * (SIZE / max(limit, _TINY))
        program = IntegerProgram(self, arms, fixed[arms], scaled)
        free = self.possible & ~fixed
        gains: FloatArray = np.zeros(len(arms)) if weights is None else as_gains(-weights[arms])
        while (is_in := program.solve(gains)) is not None:
            before = known.sum()
            known |= free & self._exchanged(arms[is_in], fixed, weights, limit)
            unknown = (free & ~known)[arms]
            if known.sum() == before or not unknown.any():
                break
            gains = np.where(unknown, SIZE, 0.0)
        return known

    def _exchanged(
        self, chosen: IndexArray, fixed: BoolArray, weights: FloatArray | None, limit: float
    ) -> BoolArray:
        """Which arms are in a set: a given one, or one after one exchange or addition."""
        heavy = np.zeros(len(fixed)) if weights is None else weights
        left = (0.0 if weights is None else limit) - float(heavy[chosen].sum())
        leaves = chosen[~fixed[chosen]]
        # One column per way to make room: without one of the arms or, if there is room, as it is.
        rest = self.counts(chosen)[:, None] - self.member[:, leaves]
        room: FloatArray = left + heavy[leaves]
        if len(chosen) < self.k:
            rest = np.column_stack([rest, self.counts(chosen)])
            room = np.append(room, [left])
        counts = rest[:, :, None] + self._kinds[:, None, :]  # (groups, ways, kinds)
        least, most = self.least[:, None, None], self.most[:, None, None]
        fits = ((counts >= least) & (counts <= most)).all(axis=0)
        # The heaviest arm of each kind that fits.
        most_room = np.where(fits, room[:, None], -np.inf).max(axis=0, initial=-np.inf)
        known = heavy <= most_room[self.kind]
        known[chosen] = True
        return known

    def completions(self, fixed: BoolArray) -> BoolArray:
        """Which single arm makes a set of the fixed ones."""
        chosen, others = np.flatnonzero(fixed), np.flatnonzero(self.possible & ~fixed)
        rows = np.hstack([np.tile(chosen, (len(others), 1)), others[:, None]])
        mask = np.zeros(len(fixed), bool)
        mask[others[self.fulfilled(rows)]] = True
        return mask

    def lightest(self, weights: FloatArray, fixed: BoolArray) -> float:
        """The weight of the lightest set with the fixed arms; infinite if there is no set."""
        arms = self._best_of_each_kind(
            np.flatnonzero(self.possible), np.where(fixed, np.inf, -weights)
        )
        is_in = IntegerProgram(self, arms, fixed[arms]).solve(as_gains(-weights[arms]))
        return np.inf if is_in is None else float(weights[arms[is_in]].sum())

    def has_sets(self) -> bool:
        """Whether any set fulfils the quotas."""
        return self.lightest(np.zeros(len(self.must)), self.must) < np.inf

    def without(self, group: int) -> Overlapping:
        """These quotas without the one of a group."""
        least, most = self.least.copy(), self.most.copy()
        least[group], most[group] = 0, len(self.must)
        return Overlapping(self.possible, self.must, self.member, least, most, self.k, self.at_most)

    def _best_of_each_kind(self, arms: IndexArray, values: FloatArray) -> IndexArray:
        """The k arms of the largest values of each kind: a best set needs no others."""
        order = np.lexsort((-values[arms], self.kind[arms]))
        kind = self.kind[arms[order]]
        is_kept = np.zeros(len(arms), bool)
        is_kept[order[np.arange(len(order)) - np.searchsorted(kind, kind) < self.k]] = True
        return arms[is_kept]  # in the given order, which may be random
