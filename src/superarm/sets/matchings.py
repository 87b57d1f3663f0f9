"""Matchings of a bipartite graph: who gets what."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core.arguments import IndexArray, as_arms, as_flag
from superarm.core.showing import one_line
from superarm.sets import _edges
from superarm.sets._edges import as_edges, edge_values


class Matchings:
    """Sets of pairs in which no row and no column occurs twice: arm i is a pair.

    Arm i pairs ``rows[i]`` with ``columns[i]``. ``best`` is exact: an assignment problem, which
    scipy solves in O(n_rows · n_columns · the smaller of the two) at worst, with 16 · n_rows ·
    n_columns bytes.

    Parameters
    ----------
    rows, columns
        Shape (n_arms,): the two ends of each pair, each side numbered from 0. Not every pair need
        be an arm.
    full
        Whether a set has as many pairs as possible. Otherwise a matching may have any size, and
        pairs of negative value are left out.

    Attributes
    ----------
    n_arms, n_most
        How many pairs there are, and how many pairs the largest matching has.
    same_size
        Whether all sets have that many pairs: ``full``.
    n_together
        How many pairs may have to be exchanged at once: ``n_most``.
    undecided
        Shape (n_arms,): True.

    Examples
    --------
    >>> two_by_two = Matchings(rows=[0, 0, 1, 1], columns=[0, 1, 0, 1])
    >>> rng = np.random.default_rng(0)
    >>> two_by_two.best([0.9, 0.8, 0.7, 0.1], rng=rng)  # the best two, without the best pair
    array([1, 2])
    """

    __repr__ = one_line

    def __init__(self, rows: ArrayLike, columns: ArrayLike, *, full: bool = False) -> None:
        self.rows, self.columns = as_edges(rows, columns, ("rows", "columns"), directed=True)
        self.n_arms = len(self.rows)
        self.same_size = as_flag(full, "full")
        self.undecided = np.ones(self.n_arms, bool)
        self._shape = int(self.rows.max()) + 1, int(self.columns.max()) + 1
        graph = _edges.graph(self.rows, self.columns, self._shape)
        self.n_most = int((scipy.sparse.csgraph.maximum_bipartite_matching(graph) >= 0).sum())
        # The arm of each cell, -1 where a pair is not an arm.
        self._arm = np.full(self._shape, -1, np.intp)
        self._arm[self.rows, self.columns] = np.arange(self.n_arms)

    @property
    def n_together(self) -> int:
        """How many pairs may have to be exchanged at once: all of a matching."""
        return self.n_most

    for_arms = _edges.for_arms

    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The matching of the largest sum of values, shape (n_arms,), ascending."""
        from scipy.optimize import linear_sum_assignment  # slow to import

        worth = edge_values(values, slice(None), self.n_arms, rng=rng)
        # A cell without an arm is a pair that is not made: worth nothing or, in full matchings,
        # less than all other pairs together.
        # Below what any matching can gain by leaving out a pair.
        size, least = float(np.abs(worth).max()) or 1.0, float(worth.min())
        nothing = least - (size + float(worth.max()) - least) * (self.n_most + 1)
        table = np.full(self._shape, nothing if self.same_size else 0.0)
        table[self.rows, self.columns] = worth if self.same_size else np.maximum(worth, 0.0)
        chosen = self._arm[linear_sum_assignment(table, maximize=True)]
        chosen = np.sort(chosen[chosen >= 0])
        return chosen if self.same_size else chosen[worth[chosen] >= 0]

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether no row and no column occurs twice, and the set is full if it must be."""
        arms = as_arms(arms, self.n_arms)
        distinct = all(
            len(np.unique(ends[arms])) == len(arms) for ends in (self.rows, self.columns)
        )
        return distinct and (len(arms) == self.n_most or not self.same_size)
