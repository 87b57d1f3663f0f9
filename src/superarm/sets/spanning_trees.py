"""Spanning trees: the edges that connect everything."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core.arguments import IndexArray, as_arms
from superarm.core.showing import one_line
from superarm.sets import _edges
from superarm.sets._edges import as_edges, edge_values


class SpanningTrees:
    """Sets of edges that connect all nodes of a graph without a cycle: arm i is an edge.

    Arm i joins ``one[i]`` and ``other[i]``. ``best`` is exact: a maximum spanning tree, by scipy in
    O(n_arms log n_arms).

    Parameters
    ----------
    one, other
        Shape (n_arms,): the two ends of each edge; nodes are numbered from 0. There must be a path
        between any two nodes.

    Attributes
    ----------
    n_arms, n_most
        How many edges there are, and how many a tree has: one less than there are nodes.
    same_size
        True.
    undecided
        Shape (n_arms,): True.

    Examples
    --------
    >>> square = SpanningTrees([0, 1, 2, 3], [1, 2, 3, 0])
    >>> square.best([0.9, 0.1, 0.8, 0.7], rng=np.random.default_rng(0))
    array([0, 2, 3])
    """

    same_size = True

    __repr__ = one_line

    def __init__(self, one: ArrayLike, other: ArrayLike) -> None:
        self.one, self.other = as_edges(one, other, ("one", "other"), directed=False)
        if (self.one == self.other).any():
            raise ValueError(
                f"an edge must join two nodes, got node {self.one[self.one == self.other][0]} twice"
            )
        self.n_arms = len(self.one)
        self.undecided = np.ones(self.n_arms, bool)
        self.n_nodes = int(max(self.one.max(), self.other.max())) + 1
        self.n_most = self.n_nodes - 1
        if not self._connects(np.arange(self.n_arms)):
            raise ValueError(
                f"the edges must connect all of the {self.n_nodes} nodes, "
                f"from 0 to {self.n_nodes - 1}"
            )

    for_arms = _edges.for_arms

    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The tree of the largest sum of values, shape (n_arms,), ascending."""
        worth = edge_values(values, slice(None), self.n_arms, rng=rng)
        # Only the order of the edges matters. Ranks are never 0, which would be no edge.
        ranks = np.empty(self.n_arms)
        ranks[np.argsort(-worth, kind="stable")] = np.arange(1, self.n_arms + 1)
        shape = (self.n_nodes, self.n_nodes)
        graph = _edges.graph(self.one, self.other, shape, weights=ranks)
        tree = scipy.sparse.csgraph.minimum_spanning_tree(graph)
        return np.flatnonzero(np.isin(ranks, tree.data))

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether the edges connect all nodes without a cycle."""
        arms = as_arms(arms, self.n_arms)
        return len(arms) == self.n_most and self._connects(arms)

    def _connects(self, arms: IndexArray) -> bool:
        graph = _edges.graph(self.one[arms], self.other[arms], (self.n_nodes, self.n_nodes))
        n_components, _ = scipy.sparse.csgraph.connected_components(graph, directed=False)
        return n_components == 1
