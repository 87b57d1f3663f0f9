"""Paths from one node to another: the edges along the way."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count
from superarm.core.showing import one_line
from superarm.sets import _edges
from superarm.sets._edges import as_edges, edge_values

# A value may exceed 1 by this much: it is rounding.
_ROUNDING = 1e-9


class Paths:
    """Sets of edges that lead from ``source`` to ``target``: arm i is an edge.

    Arm i goes from ``tails[i]`` to ``heads[i]``. What ``best`` finds depends on the part of the
    graph that is between source and target:

    - Without cycles, it is the path of the largest sum of values, exactly.
    - With cycles, that path would be hard to find (a longest path). Instead it is the path of the
      least sum of 1 - value, exactly, for values of at most 1. If values are probabilities of
      success, this path has the fewest failures on average. If all paths have the same number of
      edges, both paths are the same.

    Dijkstra's algorithm, by scipy: O(n_arms + n_nodes log n_nodes).

    Parameters
    ----------
    tails, heads
        Shape (n_arms,): where each edge begins and ends; nodes are numbered from 0.
    source, target
        Where a path begins and ends.

    Attributes
    ----------
    n_arms
        How many edges there are.
    n_most, same_size
        How many edges the longest path has (with cycles: a bound), and whether all paths have as
        many.
    n_together
        How many edges may have to be exchanged at once: ``n_most``.
    acyclic
        Whether there is no cycle between source and target.
    undecided
        Shape (n_arms,), bool: the edges that are on some path from source to target.

    Examples
    --------
    >>> diamond = Paths(tails=[0, 0, 1, 2], heads=[1, 2, 3, 3], source=0, target=3)
    >>> diamond.best([0.9, 0.5, 0.1, 0.6], rng=np.random.default_rng(0))
    array([1, 3])
    """

    __repr__ = one_line

    def __init__(self, tails: ArrayLike, heads: ArrayLike, source: int, target: int) -> None:
        self.tails, self.heads = as_edges(tails, heads, ("tails", "heads"), directed=True)
        self.n_arms = len(self.tails)
        self.n_nodes = int(max(self.tails.max(), self.heads.max())) + 1
        self.source, self.target = as_count(source, "source"), as_count(target, "target")
        if max(self.source, self.target) >= self.n_nodes or self.source == self.target:
            raise ValueError(
                f"source and target must be two nodes between 0 and {self.n_nodes - 1}, "
                f"got {source} and {target}"
            )
        # No path returns to its source, or leaves its target.
        used = (
            (self.heads != self.source) & (self.tails != self.target) & (self.tails != self.heads)
        )
        # Only edges that can be reached from the source, and that reach the target.
        used &= self._reached(used, self.tails, self.heads, self.source)[self.tails]
        used &= self._reached(used, self.heads, self.tails, self.target)[self.heads]
        if not used.any():
            raise ValueError(
                f"there must be a path from {source} to {target}, got edges without one"
            )
        self.undecided = used
        self._used = np.flatnonzero(used)
        # In the order of a csr matrix.
        self._used = self._used[np.lexsort((self.heads[self._used], self.tails[self._used]))]
        self._arm = {(int(self.tails[arm]), int(self.heads[arm])): int(arm) for arm in self._used}
        self._level, self.acyclic = self._levels()
        self.n_most = int(self._level[self.target]) if self.acyclic else self.n_nodes - 1
        self.same_size = len(self._shortest(np.ones(len(self._used)))) == self.n_most

    @property
    def n_together(self) -> int:
        """How many edges may have to be exchanged at once: all of a path."""
        return self.n_most

    for_arms = _edges.for_arms

    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The best path for values of shape (n_arms,), ascending."""
        worth = edge_values(values, self._used, self.n_arms, rng=rng)
        if self.acyclic:
            # Levels rise along every edge. A toll per level costs the same on all paths, and makes
            # the cost of every edge positive, which Dijkstra needs.
            toll = 2.0 * float(np.abs(worth).max()) or 1.0
            tails, heads = self.tails[self._used], self.heads[self._used]
            return self._shortest(toll * (self._level[heads] - self._level[tails]) - worth)
        if worth.max() > 1 + _ROUNDING:
            raise ValueError(f"values must be at most 1 in a graph with cycles, got {worth.max()}")
        return self._shortest(np.maximum(1.0 - worth, 0.0))

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether the edges are a path that visits no node twice."""
        arms = as_arms(arms, self.n_arms)
        follow = dict(zip(self.tails[arms].tolist(), self.heads[arms].tolist(), strict=True))
        node, n_steps = self.source, 0
        while node != self.target and node in follow:
            node, n_steps = follow.pop(node), n_steps + 1
        return node == self.target and n_steps == len(arms)

    def _shortest(self, costs: FloatArray) -> IndexArray:
        _, before = scipy.sparse.csgraph.dijkstra(
            self._graph(costs), indices=[self.source], return_predecessors=True
        )
        arms, node = [], self.target
        while node != self.source:
            tail = int(before[0, node])
            arms.append(self._arm[tail, node])
            node = tail
        return np.sort(np.array(arms, np.intp))

    def _graph(self, costs: FloatArray) -> scipy.sparse.csr_array:
        begins = np.searchsorted(self.tails[self._used], np.arange(self.n_nodes + 1))
        heads = self.heads[self._used].astype(_edges.NODE)
        return scipy.sparse.csr_array(
            (costs, heads, begins.astype(_edges.NODE)), shape=(self.n_nodes, self.n_nodes)
        )

    def _reached(
        self, used: IndexArray, tails: IndexArray, heads: IndexArray, start: int
    ) -> IndexArray:
        """Shape (n_nodes,), bool: which nodes can be reached from ``start``."""
        graph = _edges.graph(tails[used], heads[used], (self.n_nodes, self.n_nodes))
        reached = np.zeros(self.n_nodes, bool)
        reached[
            scipy.sparse.csgraph.breadth_first_order(graph, start, return_predecessors=False)
        ] = True
        return reached

    def _levels(self) -> tuple[FloatArray, bool]:
        """Shape (n_nodes,): the longest path to each node, in edges; and whether that exists."""
        tails, heads = self.tails[self._used], self.heads[self._used]
        level = np.zeros(self.n_nodes)
        # Without cycles, the levels are final after at most n_nodes passes.
        for _ in range(self.n_nodes):
            risen = level.copy()
            np.maximum.at(risen, heads, level[tails] + 1)
            if np.array_equal(risen, level):
                return level, True
            level = risen
        return level, False
