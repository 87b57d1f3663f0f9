"""Which sets may be chosen: availability, arms that must or must not be in, quotas of groups, a budget of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import top_k
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count, as_finite, as_k
from superarm.sets._clashes import grouped, named_arms, refuse_clashes
from superarm.sets._knapsack import best_within_budget
from superarm.sets._quotas import Quotas

_SETS_AT_ONCE = 1 << 14
# Sampling the top of a belief pays while it is below one in so many of the arms.
_FEW_OF_ALL = 16
_ROUNDING = 1e-9  # a set may weigh more than the budget by this share of it


@dataclass(frozen=True, eq=False)
class Group:
    """Arms of which a set has at least ``least`` and at most ``most``; None is as many as there are.

    ``name`` is what errors call it.
    """

    arms: ArrayLike
    least: int = 0
    most: int | None = None
    name: str = ""


class Feasible:
    """The sets of k arms that may be chosen. Goes where a plain ``k`` does: into `Policy`, ``ask`` and ``select``.

    Constraints that no set fulfils are refused with an error that says which of them clash: as soon as the number of
    arms is known, and before an evaluation.

    Parameters
    ----------
    k
        How many arms a set has.
    at_most
        Whether a set may also have fewer than k.
    available
        The arms there are in this round: a bool for each arm, shape (n_arms,), or the arms. None for all.
    must, must_not
        Arms that every set has, and arms that no set has.
    groups
        Quotas, each a `Group`. No arm may be in two groups; an arm may be in none.
    weights, budget
        Shape (n_arms,), none negative: the weights of the arms in a set sum to the budget at most.
    n_arms
        How many arms there are. Need not be said to a `Policy` or an oracle, which knows.

    Attributes
    ----------
    n_most, same_size
        The size of the largest sets, and whether all have that size.
    available, must, weights
        As given: a bool for each arm, the arms ascending, and the weights.
    undecided
        Shape (n_arms,), bool: the arms that are in some sets and need not be in all. No others need be evaluated.

    Examples
    --------
    >>> sport, news = Group([0, 1, 2], most=1, name="sport"), Group([3, 4, 5], least=1, name="news")
    >>> feasible = Feasible(3, must=[0], must_not=[6], groups=[sport, news], n_arms=9)
    >>> feasible.best([0.1, 0.9, 0.8, 0.2, 0.3, 0.1, 0.9, 0.7, 0.6], rng=np.random.default_rng(0))
    array([0, 4, 7])
    >>> feasible.is_feasible([0, 1, 4])
    False
    >>> Feasible(3, must=[0, 1], groups=[sport], n_arms=9)
    Traceback (most recent call last):
    ValueError: must and the group 'sport' clash: it may have 1 arm(s) at most, got must arms [0 1] in it
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
        self.at_most = bool(at_most)
        self.n_most, self.same_size = self.k, not self.at_most
        if (weights is None) != (budget is None):
            raise ValueError("weights and budget must be given together, or neither")
        self._given: dict[str, Any] = {
            "available": None if available is None else np.array(available),
            "must": np.array(must),
            "must_not": np.array(must_not),
            "groups": tuple(groups),
            "weights": None
            if weights is None
            else as_finite(weights, "weights", ndim=1, least=0.0),
            "budget": None
            if budget is None
            else float(as_finite([budget], "budget", ndim=1, least=0.0)[0]),
        }
        if any(not isinstance(group, Group) for group in groups):
            raise TypeError("groups must be of Group, such as Group([0, 1, 2], least=1, most=2)")
        if (
            n_arms is None
            and self._given["available"] is not None
            and self._given["available"].dtype == bool
        ):
            n_arms = self._given["available"].size
        if n_arms is None and weights is not None:
            n_arms = len(self._given["weights"])
        self.n_arms = None if n_arms is None else as_count(n_arms, "n_arms", least=1)
        if self.n_arms is not None:
            self._bind(self.n_arms, **self._given)

    def but(self, **changes: Any) -> Feasible:
        """The same with other values for some of the parameters: ``feasible.but(available=here)`` for a round."""
        same = {"k": self.k, "at_most": self.at_most, "n_arms": self.n_arms, **self._given}
        return Feasible(**{**same, **changes})

    def for_arms(self, n_arms: int) -> Feasible:
        """The same for a given number of arms, which has to be possible."""
        if self.n_arms is None:
            return self.but(n_arms=n_arms)
        if self.n_arms != n_arms:
            raise ValueError(
                f"the constraints must be about the problem's {n_arms} arms, got some of {self.n_arms}"
            )
        return self

    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The set of the largest sum of values, shape (n_arms,), ascending. Ties are broken by chance.

        Exact without a budget, by greedy, in O(n_arms) or with groups O(n_arms log n_arms). Where the budget decides,
        by integer programming, to within a millionth of the largest sum, in a time that no formula bounds. If a set
        may have fewer than k arms, those of negative value are left out where they can be.
        """
        values = np.asarray(values, np.float64)
        if self.n_arms is None:
            return self.for_arms(len(values)).best(values, rng=rng)
        if values.shape != (self.n_arms,) or np.isnan(values[self.undecided]).any():
            raise ValueError(
                f"values must be {self.n_arms} numbers, one an arm, got shape {values.shape} or a NaN"
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
        """Shape (n_arms,): which arms may join those chosen, so that a feasible set can still be made of them."""
        fixed = self._mask(as_arms(chosen, self._known()))
        reserved = fixed | self._quotas.must
        mask = self._quotas.addable(reserved)
        if self.weights is not None and mask.any():
            mask &= self._quotas.lightest(self.weights, reserved)[1] <= self._limit
        return mask | (self._quotas.must & ~fixed)

    def completed_by(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms make a feasible set of those chosen, each on its own."""
        chosen = as_arms(chosen, self._known())
        quotas, fixed = self._quotas, self._mask(chosen)
        counts, missing = quotas.counts(fixed), quotas.must & ~fixed
        short = np.maximum(quotas.least - counts, 0)
        size_fits = len(chosen) < self.k if self.at_most else len(chosen) == self.k - 1
        if (
            not size_fits
            or short.sum() > 1
            or missing.sum() > 1
            or (fixed & ~quotas.possible).any()
        ):
            return np.zeros(len(fixed), bool)
        mask = (
            quotas.possible
            & ~fixed
            & (counts < quotas.most)[quotas.group]
            & bool((counts <= quotas.most).all())
        )
        if short.any():
            mask &= (short > 0)[quotas.group]
        if missing.any():
            mask &= missing
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
            while block := list(islice(every, _SETS_AT_ONCE)):
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
        """How many sets ``sets`` looks through."""
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
        here = self.undecided[arms]
        best = top_k(values[here], self.k, rng=rng)
        return arms[here][best], values[here][best]

    def __repr__(self) -> str:
        given = {
            name: value
            for name, value in self._given.items()
            if value is not None and np.size(value)
        }
        parts = ["at_most=True"] * self.at_most + [f"{name}=..." for name in given]
        return f"Feasible({', '.join([str(self.k), *parts])})"

    def _sizes(self) -> list[int]:
        free = self.k - len(self.must)
        return list(range(free, -1, -1)) if self.at_most else [free]

    def _known(self) -> int:
        if self.n_arms is None:
            raise ValueError(
                "how many arms there are must be known: say n_arms, or feasible.for_arms(n_arms)"
            )
        return self.n_arms

    def _mask(self, arms: IndexArray) -> NDArray[np.bool_]:
        mask = np.zeros(self._known(), bool)
        mask[arms] = True
        return mask

    def _are_feasible(self, rows: IndexArray) -> NDArray[np.bool_]:
        """Which of some sets of equal size, shape (n_sets, size), may be chosen."""
        quotas, size = self._quotas, rows.shape[1]
        fits = (size <= self.k) if self.at_most else (size == self.k)
        good = (
            quotas.possible[rows].all(axis=1)
            & fits
            & (quotas.must[rows].sum(axis=1) == quotas.must.sum())
        )
        groups = quotas.group[rows]
        for number in range(len(quotas.least) - 1):
            counts = (groups == number).sum(axis=1)
            good &= (counts >= quotas.least[number]) & (counts <= quotas.most[number])
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
        if available is None or available.dtype == bool:
            here = np.ones(n_arms, bool) if available is None else available
            if here.shape != (n_arms,):
                raise ValueError(
                    f"available must be a bool for each of {n_arms} arms, got shape {here.shape}"
                )
        else:
            here = np.zeros(n_arms, bool)
            here[named_arms(available, n_arms, "available")] = True
        inside, outside = np.zeros(n_arms, bool), np.zeros(n_arms, bool)
        inside[named_arms(must, n_arms, "must")] = True
        outside[named_arms(must_not, n_arms, "must_not")] = True
        group, least, most, names = grouped(groups, n_arms)
        self._quotas = Quotas(here & ~outside, inside, group, least, most, self.k, self.at_most)
        if weights is not None and weights.shape != (n_arms,):
            raise ValueError(f"weights must have shape ({n_arms},), got {weights.shape}")
        self.weights, self._budget = weights, 0.0 if budget is None else budget
        self._limit = self._budget * (1 + _ROUNDING)
        refuse_clashes(self._quotas, here, outside, names)
        if weights is not None:
            lightest = self._quotas.lightest(weights, inside)[0]
            if lightest > self._limit:
                raise ValueError(
                    f"budget and the other constraints clash: the lightest set that they allow weighs {lightest:g}, "
                    f"got a budget of {budget:g}"
                    + ("" if self.at_most else f"; at_most=True lets sets be below {self.k}")
                )
        self.available, self.must = here, np.flatnonzero(inside)
        self.undecided = self.extend(self.must)
        self._quotas.possible = (
            self.undecided | inside
        )  # what is in no set, such as arms beyond the budget, is out
