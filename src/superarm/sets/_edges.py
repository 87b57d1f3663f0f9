"""What graphs have in common: arms that are edges, and their values."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray


class HasEdges(Protocol):
    """Feasible sets of edges, one edge per arm."""

    n_arms: int


Graph = TypeVar("Graph", bound=HasEdges)
# Equal values are told apart by at most this share of the largest value.
_NOISE = 1e-12
# Older versions of scipy take graphs of no other type of nodes.
NODE = np.int32


def graph(
    one: IndexArray, other: IndexArray, shape: tuple[int, int], weights: FloatArray | None = None
) -> scipy.sparse.csr_array:
    """The graph with these edges, for scipy; all weights are 1 if none are given."""
    ends = one.astype(NODE), other.astype(NODE)
    return scipy.sparse.csr_array((np.ones(len(one)) if weights is None else weights, ends), shape)


def as_edges(
    one: ArrayLike, other: ArrayLike, names: tuple[str, str], *, directed: bool
) -> tuple[IndexArray, IndexArray]:
    """The ends of each edge, one edge per arm: no two edges between the same nodes."""
    ends = []
    for given, name in zip((one, other), names, strict=True):
        nodes = np.array(given)
        if nodes.ndim != 1 or not nodes.size or nodes.dtype.kind not in "iu" or nodes.min() < 0:
            raise ValueError(
                f"{name} must be a node, 0 or more, for each edge, "
                f"got {np.array2string(nodes, threshold=10)}"
            )
        ends.append(nodes.astype(np.intp))
    if ends[0].shape != ends[1].shape:
        raise ValueError(
            f"{names[0]} and {names[1]} must have a node for each edge, "
            f"got {len(ends[0])} and {len(ends[1])}"
        )
    pairs = np.stack(ends) if directed else np.sort(np.stack(ends), axis=0)
    distinct, count = np.unique(pairs, axis=1, return_counts=True)
    if count.max() > 1:
        twice = tuple(distinct[:, np.argmax(count)].tolist())
        raise ValueError(
            f"there must be one edge between two nodes at most, got {count.max()} between {twice}"
        )
    return ends[0], ends[1]


def edge_values(
    values: ArrayLike, used: IndexArray | slice, n_arms: int, *, rng: np.random.Generator
) -> FloatArray:
    """A number per edge that is used; equal numbers are told apart at random, by very little."""
    given = np.asarray(values, np.float64)
    if given.shape != (n_arms,) or not np.isfinite(given[used]).all():
        raise ValueError(
            f"values must be {n_arms} finite numbers, one per arm, "
            f"got shape {given.shape} or a number that is not finite"
        )
    mine = given[used]
    if len(np.unique(mine)) < len(mine):
        mine = mine - _NOISE * float(np.abs(mine).max()) * rng.random(len(mine))
    return mine


def for_arms(self: Graph, n_arms: int) -> Graph:
    """Itself, if it has an edge for each arm."""
    if n_arms != self.n_arms:
        raise ValueError(
            f"{type(self).__name__} must have an edge for each of the problem's {n_arms} arms, "
            f"got {self.n_arms} edges"
        )
    return self
