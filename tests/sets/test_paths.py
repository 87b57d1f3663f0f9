"""Paths against every path."""

import numpy as np
import pytest
from every_set import check, some
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa

SEEDS = st.integers(0, 2**32)


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(2, 5), st.booleans())
def test_paths(seed, n_nodes, forward):
    rng = np.random.default_rng(seed)
    every = [
        (a, b) for a in range(n_nodes) for b in range(n_nodes) if a < b or (a != b and not forward)
    ]
    edges = some(rng, every, 1, 10)
    target = max(map(max, edges))
    good = [arms for arms in naive.subsets(len(edges)) if naive.is_path(edges, 0, target, arms)]
    if not good:
        with pytest.raises(ValueError, match="there must be a path"):
            sa.sets.Paths(*zip(*edges, strict=True), 0, target)
        return
    paths = sa.sets.Paths(*zip(*edges, strict=True), 0, target)
    if forward:
        assert paths.acyclic
        assert paths.n_most == max(map(len, good))
        assert paths.same_size == (len(set(map(len, good))) == 1)
    check(paths, good, rng, np.sum if paths.acyclic else lambda values: -np.sum(1 - values))


def test_a_cycle_off_the_way_does_not_matter():
    # 0 -> 1 -> 3 and 0 -> 2 -> 3, and a cycle of 4 and 5 that no path reaches.
    paths = sa.sets.Paths([0, 0, 1, 2, 4, 5], [1, 2, 3, 3, 5, 4], 0, 3)
    assert paths.acyclic
    assert paths.undecided.tolist() == [True] * 4 + [False] * 2
    with_cycle = sa.sets.Paths([0, 1, 2, 2, 1], [1, 2, 1, 3, 3], 0, 3)
    assert not with_cycle.acyclic
    assert with_cycle.best(np.full(5, 0.9), rng=np.random.default_rng(0)).tolist() == [0, 4]
    with pytest.raises(ValueError, match="at most 1 in a graph with cycles"):
        with_cycle.best(np.full(5, 1.5), rng=np.random.default_rng(0))
