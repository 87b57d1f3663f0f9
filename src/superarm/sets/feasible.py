"""Sets of k arms within constraints: availability, required arms, quotas, a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import top_k
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_arms,
    as_count,
    as_finite,
    as_flag,
    as_k,
)
from superarm.sets._clashes import Group, named_mask, quotas_of, refuse_clashes, refuse_heavy
from superarm.sets._knapsack import best_within_budget

# Sets are listed in blocks of this many candidates, so that the memory for them is bounded.
_CANDIDATES_PER_BLOCK = 1 << 14
# Sampling only the largest values pays while they are fewer than one in this many arms.
_FEW_OF_ALL = 16
# A set may weigh more than the budget by this share: it is rounding.
_ROUNDING = 1e-9

__all__ = ["Feasible", "Group"]


class Feasible:
    """The sets of k arms that fulfil constraints; used instead of a plain ``k``.

    Pass it to `Policy`, ``ask`` or ``select``. Constraints that no set fulfils are refused, with an
    error that says which of them clash, as soon as the number of arms is known and before an
    evaluation.

    Parameters
    ----------
    k
        How many arms a set has.
    at_most
        Whether a set may also have fewer than k.
    available
        The arms that are available in this round: a bool per arm, shape (n_arms,), or the arms.
        None for all.
    must, must_not
        Arms that are in every set, and arms that are in no set.
    groups
        Quotas, each a `Group`. An arm may be in no group, in one, or in several, such as its brand
        and its category.
    weights, budget
        Shape (n_arms,), none negative: the weights of the arms of a set sum to at most the budget.
    n_arms
        How many arms there are. Not needed for a `Policy` or an oracle, which know it.

    Attributes
    ----------
    n_most, same_size
        The size of the largest sets, and whether all have that size.
    available, must, weights
        As given: a bool per arm, the arms ascending, and the weights.
    undecided
        Shape (n_arms,), bool: the arms that are in some sets and perhaps not in all. Oracles need
        not evaluate other arms.

    Examples
    --------
    >>> sport = Group([0, 1, 2], most=1, name="sport")
    >>> news = Group([3, 4, 5], least=1, name="news")
    >>> feasible = Feasible(3, must=[0], must_not=[6], groups=[sport, news], n_arms=9)
    >>> values = [0.1, 0.9, 0.8, 0.2, 0.3, 0.1, 0.9, 0.7, 0.6]
    >>> feasible.best(values, rng=np.random.default_rng(0))
    array([0, 4, 7])
    >>> feasible.is_feasible([0, 1, 4])
    False
    >>> Feasible(2, must=[0], must_not=[0], n_arms=9)
    Traceback (most recent call last):
    superarm.sets.clash.ClashError: must and must_not clash: arms [0] are in both
    """

    def __init__(
        self,
        k: int,
        *,
        at_most: bool = False,
        available: ArrayLike | None = None,
        must: ArrayLike = (),
        must_not: ArrayLike = (),
        groups: Sequence[Group] = (),
        weights: ArrayLike | None = None,
        budget: float | None = None,
        n_arms: int | None = None,
    ) -> None:
        self.k = as_count(k, "k", least=1)
        self.at_most = as_flag(at_most, "at_most")
        self.n_most, self.same_size = self.k, not self.at_most
        if (weights is None) != (budget is None):
            raise ValueError("weights and budget must be given together, or neither")
        if any(not isinstance(group, Group) for group in groups):
            raise TypeError("groups must be of Group, such as Group([0, 1, 2], least=1, most=2)")
        heavy = None if weights is None else as_finite(weights, "weights", ndim=1, least=0.0)
        given = () if budget is None else as_finite([budget], "budget", ndim=1, least=0.0).tolist()
        most = given[0] if given else None
        here = None if available is None else np.array(available, subok=np.ma.is_masked(available))
        inside, outside = np.array(must, subok=True), np.array(must_not, subok=True)  # with masks
        named = {"available": here, "must": inside, "must_not": outside}
        quotas = {"groups": tuple(groups), "weights": heavy, "budget": most}
        self._given: dict[str, Any] = {**named, **quotas}
        # A bool or a weight per arm says how many arms there are.
        if n_arms is None and here is not None and here.dtype == bool:
            n_arms = here.size
        if n_arms is None and heavy is not None:
            n_arms = len(heavy)
        self.n_arms = None if n_arms is None else as_count(n_arms, "n_arms", least=1)
        if self.n_arms is not None:
            self._bind(self.n_arms, **self._given)

    @property
    def is_plain(self) -> bool:
        """Whether all sets of k of some arms, ``undecided``, are feasible, and no others."""
        return self.is_k_of_open and not len(self.must)

    @property
    def is_k_of_open(self) -> bool:
        """Whether all sets of k arms with those in ``must`` and any open ones are feasible."""
        return not (self._given["groups"] or self.weights is not None or self.at_most)

    def but(self, **changes: Any) -> Feasible:
        """A copy with other values for some parameters: ``feasible.but(available=here)``."""
        same = {"k": self.k, "at_most": self.at_most, "n_arms": self.n_arms, **self._given}
        return Feasible(**{**same, **changes})

    def for_arms(self, n_arms: int) -> Feasible:
        """These constraints for a number of arms; refused if they are for another number."""
        if self.n_arms is None:
            return self.but(n_arms=n_arms)
        if self.n_arms != n_arms:
            raise ValueError(
                f"constraints must be for the problem's {n_arms} arms, got some of {self.n_arms}"
            )
        return self

    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The set of the largest sum of values, shape (n_arms,), ascending; ties broken at random.

        Exact by greedy, in O(n_arms) or, with groups, O(n_arms log n_arms). If groups overlap, or
        if the budget decides, it is within a millionth of the largest sum, by integer programming,
        in a time that no formula bounds. Without a budget, two kinds of groups, each without an
        overlap of its own (brands and categories), are a linear program, which is solved quickly.
        If a set may have fewer than k arms, arms of negative value are left out where possible.
        """
        values = np.asarray(values, np.float64)
        if self.n_arms is None:
            return self.for_arms(len(values)).best(values, rng=rng)
        if values.shape != (self.n_arms,) or np.isnan(values[self.undecided]).any():
            raise ValueError(
                f"values must be {self.n_arms} numbers, one per arm, "
                f"got shape {values.shape} or a NaN"
            )
        arms = self._quotas.best(values, self._quotas.must, rng=rng)
        if self.weights is None or self.weights[arms].sum() <= self._limit:
            return arms
        return best_within_budget(self._quotas, values, self.weights, self._budget, rng=rng)

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether a set may be chosen."""
        distinct = as_arms(arms, self._known())
        return bool(self._are_feasible(distinct[None])[0])

    def extend(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms may join the chosen ones, on the way to a feasible set."""
        fixed = self._mask(as_arms(chosen, self._known()))
        # Places for the required arms are kept free.
        reserved = fixed | self._quotas.must
        mask = self._quotas.extensions(reserved, self.weights, self._limit)
        return mask | (self._quotas.must & ~fixed)

    def completed_by(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which single arm makes a feasible set of the chosen ones."""
        chosen = as_arms(chosen, self._known())
        mask = self._quotas.completions(self._mask(chosen))
        if self.weights is not None:
            mask &= self.weights <= self._limit - self.weights[chosen].sum()
        return mask

    def blocks(self, order: ArrayLike | None = None) -> Iterator[IndexArray]:
        """All feasible sets as arrays of shape (n_sets, size), rows ascending; larger sets first.

        Sets of one size come in lexicographic order. ``order`` is the order of the arms that the
        lexicographic order follows; ascending by default. Looks at `n_candidates` sets.
        """
        arms = np.arange(self._known()) if order is None else as_arms(order, self._known())
        arms = arms[self.undecided[arms]]
        for size in self._sizes():
            every = combinations(arms.tolist(), size)
            while block := list(islice(every, _CANDIDATES_PER_BLOCK)):
                flat = np.fromiter(chain.from_iterable(block), np.intp, len(block) * size)
                rows = flat.reshape(len(block), size)
                rows = np.sort(np.hstack([rows, np.tile(self.must, (len(rows), 1))]), axis=1)
                yield rows[self._are_feasible(rows)]

    def sets(self, order: ArrayLike | None = None) -> Iterator[IndexArray]:
        """All feasible sets, each ascending, in the order of `blocks`."""
        for block in self.blocks(order):
            yield from block

    @property
    def n_candidates(self) -> int:
        """How many sets ``blocks`` looks at."""
        self._known()
        return sum(math.comb(int(self.undecided.sum()), size) for size in self._sizes())

    def n_top(self) -> int:
        """How many of the largest values contain the best set, if no value is negative.

        0 if looking at all arms is cheaper. Availability alone makes this a small number.
        """
        if len(self.must) or self.weights is not None or len(self._given["groups"]):
            return 0
        enough = self.k + self._known() - int(self.undecided.sum())
        # A power of two is the same in most rounds, which beliefs that sample the top prefer.
        n_top = 1 << (enough - 1).bit_length()
        return n_top if _FEW_OF_ALL * n_top <= self._known() else 0

    def best_of_top(
        self, arms: IndexArray, values: FloatArray, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The best set and its values, given the arms of the ``n_top`` largest values."""
        # At least k of these arms are available, by the choice of n_top.
        here = self.undecided[arms]
        best = top_k(values[here], self.k, rng=rng)
        return arms[here][best], values[here][best]

    def __repr__(self) -> str:
        given = [name for name, one in self._given.items() if one is not None and np.size(one)]
        parts = ["at_most=True"] * self.at_most + [f"{name}=..." for name in given]
        return f"Feasible({', '.join([str(self.k), *parts])})"

    def _sizes(self) -> list[int]:
        free = self.k - len(self.must)
        return list(range(free, -1, -1)) if self.at_most else [free]

    def _known(self) -> int:
        if self.n_arms is None:
            raise ValueError(
                "the number of arms must be known: give n_arms, or call feasible.for_arms(n_arms)"
            )
        return self.n_arms

    def _mask(self, arms: IndexArray) -> NDArray[np.bool_]:
        mask = np.zeros(self._known(), bool)
        mask[arms] = True
        return mask

    def _are_feasible(self, rows: IndexArray) -> NDArray[np.bool_]:
        """Which of some sets of equal size, shape (n_sets, size), may be chosen."""
        good = self._quotas.fulfilled(rows)
        if self.weights is not None:
            good &= self.weights[rows].sum(axis=1) <= self._limit
        return good

    def _bind(
        self,
        n_arms: int,
        available: Any,
        must: Any,
        must_not: Any,
        groups: Sequence[Group],
        weights: FloatArray | None,
        budget: float | None,
    ) -> None:
        """Check everything against the number of arms, and that there is a feasible set."""
        as_k(self.k, n_arms)
        here = np.ones(n_arms, bool) if available is None else available
        if here.dtype != bool or np.ma.is_masked(here):
            here = named_mask(here, n_arms, "available")
        if here.shape != (n_arms,):
            raise ValueError(
                f"available must be a bool for each of {n_arms} arms, got shape {here.shape}"
            )
        inside = named_mask(must, n_arms, "must")
        outside = named_mask(must_not, n_arms, "must_not")
        self._quotas, names = quotas_of(here & ~outside, inside, groups, self.k, self.at_most)
        if weights is not None and weights.shape != (n_arms,):
            raise ValueError(f"weights must have shape ({n_arms},), got {weights.shape}")
        self.weights, self._budget = weights, 0.0 if budget is None else budget
        self._limit = self._budget * (1 + _ROUNDING)
        refuse_clashes(self._quotas, here, outside, names)
        if weights is not None:
            refuse_heavy(self._quotas, weights, self._limit, self._budget)
        self.available, self.must = here, np.flatnonzero(inside)
        self.undecided = self.extend(self.must)
        # Arms that are in no set, such as arms heavier than the budget, are out.
        self._quotas.possible = self.undecided | inside
