"""All sets of k arms, which is what a plain ``k`` means, and where a number becomes these sets.

`Policy` and every oracle check their arguments here before they spend an evaluation. A whole number
k becomes a `KOfM` here and nowhere else, so that oracles see feasible sets only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.acts_as_array import ActsAsArray
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count, as_k, as_unit
from superarm.core.optional import Uniform, kind_has
from superarm.core.protocols import FeasibleSets, Reward

# Up to this many numbers, Python's sort is faster than a partition.
_FEW = 32
# The bound below the k-th largest value comes from at least this many groups per k.
_GROUPS_PER_K = 8
# Groups of fewer values than this are not worth the trouble.
_LEAST_SIZE = 4
# Sets are listed in blocks of this many, so that the memory for them is bounded.
_SETS_PER_BLOCK = 1 << 16


class KOfM(int):
    """All sets of ``k`` of ``n_arms`` arms, the paper's K of m: no constraint but the size.

    `Policy` and the oracles turn a whole number ``k`` into a `KOfM`, so you rarely make one
    yourself. It is still the number ``k``, so an oracle that knows nothing of feasible sets can
    calculate with it: ``order[:k]``, ``k - 1``. Nothing of size ``n_arms`` is allocated before it
    is needed.

    Parameters
    ----------
    k
        How many arms each set has.
    n_arms
        How many arms there are to choose from.

    Examples
    --------
    >>> two = KOfM(2, n_arms=4)
    >>> two.best([0.1, 0.8, 0.3, 0.6], rng=np.random.default_rng(0))
    array([1, 3])
    >>> two.is_feasible([0, 1, 2]), two.n_candidates, two - 1
    (False, 6, 1)
    """

    n_arms: int
    k: int
    n_most: int
    same_size = True
    weights = None

    def __new__(cls, k: int, n_arms: int) -> Self:
        """The sets, as the number k."""
        n_arms = as_count(n_arms, "n_arms", least=1)
        made = super().__new__(cls, as_k(k, n_arms))
        made.n_arms = n_arms
        made.k = made.n_most = int(made)
        return made

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        return self.k, self.n_arms

    @property
    def must(self) -> IndexArray:
        """The arms that are in every set: none."""
        return np.zeros(0, np.intp)

    @cached_property
    def undecided(self) -> NDArray[np.bool_]:
        """Shape (n_arms,): True, since every arm is in some set."""
        return np.ones(self.n_arms, bool)

    def for_arms(self, n_arms: int) -> KOfM:
        """Itself, if the problem has as many arms."""
        if n_arms != self.n_arms:
            raise ValueError(
                f"KOfM must be for the problem's {n_arms} arms, got one for {self.n_arms}; "
                f"give k={self.k} as a whole number for any number of arms"
            )
        return self

    def best(
        self, values: ArrayLike, *, rng: np.random.Generator, tolerance: float = 0.0
    ) -> IndexArray:
        """The arms of the k largest values, ascending; see `top_k` for ties and ``tolerance``."""
        return top_k(values, self.k, rng=rng, tolerance=tolerance)

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether there are k arms."""
        return len(as_arms(arms, self.n_arms)) == self.k

    def random_set(self, *, rng: np.random.Generator) -> IndexArray:
        """One of the sets, each with the same probability; k draws."""
        return np.sort(rng.choice(self.n_arms, self.k, replace=False))

    def n_top(self) -> int:
        """How many of the largest values are sure to contain the best set: k."""
        return self.k

    def best_of_top(
        self, arms: IndexArray, values: FloatArray, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The best set among the arms of the ``n_top`` largest values: all of them."""
        return arms, values

    def extend(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms may join the chosen ones, on the way to a set."""
        return self._others(chosen, at_most=self.k - 1)

    def completed_by(self, chosen: ArrayLike) -> NDArray[np.bool_]:
        """Shape (n_arms,): which arms complete the chosen ones to a set."""
        return self._others(chosen, at_most=self.k - 1, at_least=self.k - 1)

    def blocks(self, order: ArrayLike | None = None) -> Iterator[IndexArray]:
        """All sets as arrays of shape (n_sets, k), rows ascending, in lexicographic order.

        ``order`` is the order of the arms that the lexicographic order follows; ascending by
        default.
        """
        arms = range(self.n_arms) if order is None else as_arms(order, self.n_arms).tolist()
        every = combinations(arms, self.k)
        while block := list(islice(every, _SETS_PER_BLOCK)):
            # One pass over all numbers is several times faster than an array of tuples.
            flat = np.fromiter(chain.from_iterable(block), np.intp, len(block) * self.k)
            yield np.sort(flat.reshape(-1, self.k), axis=1)

    def sets(self, order: ArrayLike | None = None) -> Iterator[IndexArray]:
        """All sets, each ascending, in the order of `blocks`."""
        for block in self.blocks(order):
            yield from block

    @property
    def n_candidates(self) -> int:
        """How many sets there are."""
        return math.comb(self.n_arms, self.k)

    def __str__(self) -> str:
        return f"{self.k} of {self.n_arms} arms"

    def __repr__(self) -> str:
        return f"KOfM({self.k}, n_arms={self.n_arms})"

    def _others(self, chosen: ArrayLike, *, at_most: int, at_least: int = 0) -> NDArray[np.bool_]:
        """All arms but the chosen ones, if the number of these is within the limits; else none."""
        taken = as_arms(chosen, self.n_arms)
        mask = np.full(self.n_arms, at_least <= len(taken) <= at_most)
        mask[taken] = False
        return mask


def top_k(
    values: ArrayLike, k: int, *, rng: np.random.Generator, tolerance: float = 0.0
) -> IndexArray:
    """The k arms of the largest values, ascending.

    A tie at the k-th place is broken uniformly at random, and nothing is drawn without a tie.
    Values within ``tolerance`` of the k-th largest count as tied with it. O(len(values)) time.

    Examples
    --------
    >>> top_k(np.array([0.3, 0.9, 0.1, 0.5]), 2, rng=np.random.default_rng(0))
    array([1, 3])
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not 1 <= k <= len(values):
        raise ValueError(
            f"k must be between 1 and the number of values, "
            f"got {k} of values of shape {values.shape}"
        )
    few = len(values) <= _FEW
    bound = float(values.min()) if few else _below_kth_largest(values, k)
    if math.isnan(bound):
        raise ValueError("values must be numbers to be ordered, got NaN")
    if k == len(values):
        return np.arange(k)
    if few:
        least = _least_of_top(values, k)
        at_least = (values >= least - tolerance).nonzero()[0]
    else:
        # A cheap bound leaves few candidates, so that one pass over all values is enough.
        likely = (values >= bound - tolerance).nonzero()[0]
        worth = values.take(likely)
        least = _least_of_top(worth, k)
        at_least = likely[worth >= least - tolerance]
    if len(at_least) == k:
        return at_least
    # Arms above the tie are in; the others draw lots for the places that are left.
    is_sure = values[at_least] > least + tolerance
    sure, tied = at_least[is_sure], at_least[~is_sure]
    return np.sort(np.concatenate([sure, rng.choice(tied, k - len(sure), replace=False)]))


def kth_largest(values: FloatArray, k: int) -> float:
    """The k-th largest of numbers without NaN; several times faster than a partition of all."""
    return _least_of_top(values[values >= _below_kth_largest(values, k)], k)


def as_selection(
    reward: Reward, theta: ArrayLike, k: int | FeasibleSets
) -> tuple[FloatArray, FeasibleSets]:
    """theta as an array of shape (n_arms,), and the sets to choose from, for the reward's arms."""
    values = theta.whole() if isinstance(theta, ActsAsArray) else theta  # here a sample is drawn
    n_arms = reward.n_arms
    return as_unit(values, "theta", (n_arms,)), as_feasible(k, n_arms)


def as_feasible(k: int | FeasibleSets, n_arms: int) -> FeasibleSets:
    """The sets to choose from, where a whole number k stands for all sets of k arms."""
    if isinstance(k, KOfM) and k.n_arms == n_arms:  # what a policy passes on, in most rounds
        return k
    if kind_has(type(k), _ForArms):
        return k.for_arms(n_arms)  # type: ignore[union-attr]
    return _k_of_m(as_k(k, n_arms), n_arms)


def as_k_of_m(k: int | FeasibleSets, n_arms: int, *, instead: str = "") -> KOfM:
    """`as_feasible` for oracles that choose among all sets of k arms; refuses other sets.

    ``instead`` says what to use for them.
    """
    feasible = as_feasible(k, n_arms)
    if not isinstance(feasible, KOfM):
        raise TypeError(
            "k must be a whole number for an oracle that knows no constraints and no retired arms, "
            f"got {feasible!r}{instead and f'; use {instead}'}"
        )
    return feasible


def is_uniform(feasible: FeasibleSets) -> bool:
    """Whether all sets of ``n_most`` arms are feasible, as for a plain k."""
    return kind_has(type(feasible), Uniform)


def best_up_to(
    feasible: FeasibleSets, values: FloatArray, rounding: float, *, rng: np.random.Generator
) -> IndexArray:
    """The best set, where values that differ by ``rounding`` count as equal."""
    if is_uniform(feasible):
        return feasible.best(values, rng=rng, tolerance=rounding)  # type: ignore[call-arg]
    return feasible.best(
        np.round(values / rounding) * rounding if rounding > 0 else values, rng=rng
    )


def lipschitz_constant(reward: Reward) -> float:
    """The reward's B as one number: the largest where it declares one per arm."""
    declared = reward.lipschitz
    return float(declared if isinstance(declared, float) else np.max(declared))


@runtime_checkable
class _ForArms(Protocol):
    """What tells feasible sets from a number."""

    def for_arms(self, n_arms: int) -> FeasibleSets: ...


# The same object in every round, so that what it has worked out is worked out once.
@lru_cache(maxsize=8)
def _k_of_m(k: int, n_arms: int) -> KOfM:
    return KOfM(k, n_arms)


def _least_of_top(values: FloatArray, k: int) -> float:
    if len(values) <= _FEW:  # the usual case when k is small
        return sorted(values.tolist())[-k]
    ordered = values.copy()
    ordered.partition(len(ordered) - k)
    return float(ordered[-k])


def _below_kth_largest(values: FloatArray, k: int) -> float:
    """A number that is at most the k-th largest value, and that few values exceed.

    NaN if one of the values is NaN. The values are split into groups. k of the groups have a
    maximum of at least the k-th largest maximum, so there are k values of at least this number.
    """
    n_groups = max(_GROUPS_PER_K * k, int(len(values) ** 0.5))
    size = len(values) // n_groups
    if size < _LEAST_SIZE:
        return float(values.min())
    maxima = values[: size * n_groups].reshape(size, n_groups).max(axis=0)
    # The values that are left over when the groups are filled.
    rest = values[size * n_groups :]
    np.maximum(maxima[: len(rest)], rest, out=maxima[: len(rest)])
    # A maximum over a NaN is NaN, and sorting puts it last.
    maxima.sort()
    return math.nan if math.isnan(maxima[-1]) else float(maxima[-k])
