"""`Pools`: a batch of sets of arms, the unit in which a reward is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike, NDArray

from superarm.core import _bits
from superarm.core._cells import SPARSE_BELOW, random_cells
from superarm.core._members import checked, numbered, offsets_of
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count, as_fraction

# Up to this size, pools of equal size are summed place by place.
_SMALL = 16
# Up to this many numbers, all rows are taken at once.
_AT_ONCE = 1 << 14


class Pools:
    """A batch of sets of arms, of any sizes: the rows of the paper's test matrix A.

    Stored as CSR without values: pool j is ``members[offsets[j]:offsets[j + 1]]``, sorted. Random
    pools are stored as packed bits if ``p`` is large, and by the pool of each member if it is
    small. ``members`` and ``offsets`` are then computed on first use.

    Parameters
    ----------
    members
        The arms of all pools, one pool after the other, ascending and distinct within a pool.
    offsets
        Shape (n_pools + 1,): where each pool begins, and where the last one ends.
    n_arms
        How many arms there are to choose from.

    Examples
    --------
    >>> pools = Pools.of([[0, 2], [], [1]], n_arms=3)
    >>> len(pools), pools.sizes.tolist()
    (3, [2, 0, 1])
    >>> pools.dense()
    array([[1, 0, 1],
           [0, 0, 0],
           [0, 1, 0]], dtype=int8)
    >>> pools.sum([0.5, 0.25, 0.125])  # A @ values
    array([0.625, 0.   , 0.25 ])
    >>> pools.sum_by_arm([1.0, 2.0, 3.0])  # A.T @ scores
    array([1., 3., 1.])
    """

    def __init__(self, members: ArrayLike, offsets: ArrayLike, n_arms: int) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self._bits: _bits.Bits | None = None
        self._rows: IndexArray | None = None
        self.members, self.offsets = checked(members, offsets, self.n_arms)
        self._n_pools = len(self.offsets) - 1

    @classmethod
    def of(cls, sets: Iterable[ArrayLike], n_arms: int) -> Pools:
        """Any sets of arms, each a sequence of distinct arms in any order."""
        n_arms = as_count(n_arms, "n_arms", least=1)
        rows = [np.sort(as_arms(arms, n_arms)) for arms in sets]
        members = np.concatenate([np.zeros(0, np.intp), *rows])
        return cls._trusted(members, np.cumsum([0, *map(len, rows)], dtype=np.intp), n_arms)

    @classmethod
    def singletons(cls, arms: ArrayLike, n_arms: int) -> Pools:
        """One pool per arm: {arms[0]}, {arms[1]}, ..."""
        n_arms = as_count(n_arms, "n_arms", least=1)
        members = as_arms(arms, n_arms)
        pools = cls._trusted(members, np.arange(len(members) + 1, dtype=np.intp), n_arms)
        pools._common_size = 1
        return pools

    @classmethod
    def extensions(cls, base: ArrayLike, arms: ArrayLike, n_arms: int) -> Pools:
        """One pool per arm: base ∪ {arms[0]}, base ∪ {arms[1]}, ...; no arm may be in base."""
        n_arms = as_count(n_arms, "n_arms", least=1)
        base, arms = as_arms(base, n_arms), as_arms(arms, n_arms)
        # Marks are several times faster than sorting both, which greedy would do in every step.
        in_base = np.zeros(n_arms, bool)
        in_base[base] = True
        both = arms[in_base[arms]]
        if both.size:
            raise ValueError(f"arms must not be in base already, got arm {both.min()} in both")
        # All pools have the same size, so one array holds them.
        rows = np.empty((len(arms), len(base) + 1), np.intp)
        rows[:, :-1] = base
        rows[:, -1] = arms
        rows.sort(axis=1)
        return cls._trusted_rows(rows, n_arms)

    @classmethod
    def random(cls, n_tests: int, n_arms: int, p: float, *, rng: np.random.Generator) -> Pools:
        """Random tests, A[j, i] ~ Bern(p) independently (section 3).

        n_tests · n_arms · 16 p bytes if p is below 1/64, and n_tests · n_arms / 8 bytes otherwise.
        """
        n_tests = as_count(n_tests, "n_tests")
        n_arms = as_count(n_arms, "n_arms", least=1)
        p = as_fraction(p, "p", low="[", high="]")
        if p < SPARSE_BELOW:
            cells = random_cells(n_tests * n_arms, p, rng=rng)
            return cls._of_cells(cells.astype(np.intp, copy=False), n_tests, n_arms)
        return cls._packed(_bits.draw(n_tests, n_arms, p, rng=rng), n_tests, n_arms)

    @cached_property
    def members(self) -> IndexArray:
        """The arms of all pools, one pool after the other."""
        rows, members = np.nonzero(self.dense())
        # The rows of the members are at hand here, which is cheaper than to count bits again.
        self.offsets = offsets_of(np.bincount(rows, minlength=len(self)))
        return members

    @cached_property
    def offsets(self) -> IndexArray:
        """Shape (n_pools + 1,): where each pool begins in ``members``."""
        return offsets_of(self.sizes)

    @property
    def depth(self) -> int:
        """The largest number of pools that an arm is in; for packed pools, the number of pools."""
        if self._bits is not None:
            return len(self)
        return int(np.bincount(self.members).max()) if len(self.members) else 0

    @property
    def sizes(self) -> IndexArray:
        """Shape (n_pools,): how many arms each pool has."""
        if self._bits is not None and "offsets" not in self.__dict__:
            return _bits.row_counts(self._bits, len(self))
        if self._rows is not None:
            return np.bincount(self._rows, minlength=len(self))
        return self.offsets[1:] - self.offsets[:-1]

    def __len__(self) -> int:
        return self._n_pools

    def __getitem__(self, index: int) -> IndexArray:
        index = range(len(self))[index]
        return self.members[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[IndexArray]:
        return (self[j] for j in range(len(self)))

    def __repr__(self) -> str:
        return f"Pools({len(self)} pools of {self.n_arms} arms, {int(self.sizes.sum())} members)"

    def dense(self) -> NDArray[np.int8]:
        """The test matrix A of 0 and 1, shape (n_pools, n_arms)."""
        if self._bits is not None:
            return _bits.unpack(self._bits, len(self)).view(np.int8)
        matrix = np.zeros((len(self), self.n_arms), np.int8)
        matrix[np.repeat(np.arange(len(self)), self.sizes), self.members] = 1
        return matrix

    def sum(self, values: ArrayLike) -> FloatArray:
        """A @ values, the sum over the arms of each pool.

        Values of shape (n_arms,) give (n_pools,), and (n_arms, d) gives (n_pools, d).
        """
        values = np.asarray(values, np.float64)
        if values.ndim not in (1, 2) or len(values) != self.n_arms:
            raise ValueError(
                f"values must have shape ({self.n_arms},) or ({self.n_arms}, d), got {values.shape}"
            )
        if self._bits is not None:
            return _bits.row_sums(self._bits, values, len(self))
        if values.ndim == 1 and self._rows is not None:
            return _sums(self._rows, values.take(self.members), len(self))
        # The sum over a single arm is its value.
        if self._common_size == 1:
            return values[self.members]
        if values.ndim == 1:
            # reduceat gives a wrong sum for an empty pool, so these are left at 0.
            filled, sums = self.sizes.nonzero()[0], np.zeros(len(self))
            if filled.size:
                sums[filled] = np.add.reduceat(values.take(self.members), self.offsets[filled])
            return sums
        return self._sum_by_place(values) if self._common_size else self._csr @ values

    def _sum_by_place(self, values: FloatArray) -> FloatArray:
        """The sums of rows of values for small sets of equal size.

        The sparse product adds in this order too, but is slower for such sets.
        """
        places = self.members.reshape(-1, self._common_size)
        # A reduction adds row by row, unless rows have one number only.
        if values.shape[1] > 1 and places.size * values.shape[1] <= _AT_ONCE:
            return np.add.reduce(values.take(places, axis=0), axis=1)
        sums = np.zeros((len(self), values.shape[1]))
        for place in places.T:
            sums += values[place]
        return sums

    def sum_by_arm(self, scores: ArrayLike) -> FloatArray:
        """A.T @ scores (eq. decoder), the sum over the pools of each arm: shape (n_arms,)."""
        scores = np.asarray(scores, np.float64)
        if scores.shape != (len(self),):
            raise ValueError(
                f"scores must have shape ({len(self)},), one per pool, got {scores.shape}"
            )
        if self._bits is not None:
            return _bits.column_sums(self._bits, scores)
        scores = scores.repeat(self.sizes) if self._rows is None else scores.take(self._rows)
        return _sums(self.members, scores, self.n_arms)

    def compact(self) -> tuple[IndexArray | slice, Pools]:
        """The arms that occur, and the same pools over these arms alone.

        All arms and the pools themselves, if this saves nothing. A reward uses this to compute only
        what its pools need: ``values = f(theta[arms])``, then ``pools.sum(values)``.
        """
        if self._bits is not None or len(self.members) >= self.n_arms:
            return slice(None), self
        if not len(self.members):
            return np.zeros(1, np.intp), Pools._trusted(self.members, self.offsets, 1)
        # The arms get new numbers, 0 for the first one that occurs.
        if self._common_size == 1:  # an arm that occurs twice is computed twice
            arms, renamed = self.members, np.arange(len(self.members))
        else:
            arms, renamed = numbered(self.members, self.n_arms)
        pools = Pools._trusted(renamed, self.offsets, len(arms))
        pools._common_size = self._common_size
        return arms, pools

    def join(self, *others: Pools) -> Pools:
        """These pools followed by the other ones."""
        for other in others:
            if other.n_arms != self.n_arms:
                raise ValueError(
                    f"pools must be over the same arms, got {self.n_arms} and {other.n_arms}"
                )
        all_pools = (self, *others)
        members = np.concatenate([pools.members for pools in all_pools])
        offsets = offsets_of(np.concatenate([pools.sizes for pools in all_pools]))
        return Pools._trusted(members, offsets, self.n_arms)

    def key(self) -> bytes:
        """The sets as bytes, to tell whether other pools are the same and were made alike."""
        members = self.members if self._bits is None else self._bits
        return members.tobytes()

    @classmethod
    def _trusted(cls, members: IndexArray, offsets: IndexArray, n_arms: int) -> Pools:
        pools = cls.__new__(cls)
        pools.n_arms, pools._n_pools = n_arms, len(offsets) - 1
        pools._bits = pools._rows = None
        pools.members, pools.offsets = members, offsets
        return pools

    @classmethod
    def _trusted_rows(cls, rows: IndexArray, n_arms: int) -> Pools:
        """Pools of equal size, shape (n_pools, size), each ascending."""
        n_pools, size = rows.shape
        pools = cls._trusted(rows.ravel(), np.arange(n_pools + 1, dtype=np.intp) * size, n_arms)
        pools._common_size = size if size <= _SMALL else 0
        return pools

    @classmethod
    def _of_cells(cls, cells: IndexArray, n_pools: int, n_arms: int) -> Pools:
        """The pools of the matrix A that is 1 in these cells: cell j · n_arms + i is A[j, i]."""
        pools = cls.__new__(cls)
        pools.n_arms, pools._bits, pools._n_pools = n_arms, None, n_pools
        pools._rows = cells // n_arms
        pools.members = cells - pools._rows * n_arms
        return pools

    @classmethod
    def _packed(cls, bits: _bits.Bits, n_pools: int, n_arms: int) -> Pools:
        pools = cls.__new__(cls)
        pools.n_arms, pools._bits, pools._n_pools, pools._rows = n_arms, bits, n_pools, None
        return pools

    @cached_property
    def _common_size(self) -> int:
        """The size of every pool, if all have the same and it is small; else 0."""
        size = len(self.members) // max(1, len(self))
        if size > _SMALL or size * len(self) != len(self.members) or (self.sizes != size).any():
            return 0
        return size

    @cached_property
    def _csr(self) -> scipy.sparse.csr_array:
        ones = np.ones(len(self.members))
        return scipy.sparse.csr_array(
            (ones, self.members, self.offsets), shape=(len(self), self.n_arms)
        )


def _sums(places: IndexArray, values: FloatArray, n_places: int) -> FloatArray:
    # Without values bincount counts, in whole numbers.
    return np.bincount(places, values, minlength=n_places).astype(np.float64, copy=False)
