"""SpanningTrees against every tree."""

import itertools

import numpy as np
import pytest
from every_set import check, some
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 5))
def test_spanning_trees(seed, n_nodes):
    rng = np.random.default_rng(seed)
    edges = some(rng, list(itertools.combinations(range(n_nodes), 2)), 1, 9)
    n_nodes = max(map(max, edges)) + 1
    good = [arms for arms in naive.subsets(len(edges)) if naive.is_tree(edges, n_nodes, arms)]
    if not good:
        with pytest.raises(ValueError, match="must connect all"):
            sa.sets.SpanningTrees(*zip(*edges, strict=True))
        return
    check(sa.sets.SpanningTrees(*zip(*edges, strict=True)), good, rng, np.sum)
