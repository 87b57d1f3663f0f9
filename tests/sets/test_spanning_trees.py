"""SpanningTrees against every tree."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa

SEEDS = st.integers(0, 2**32)


def some(rng, things, least, most):
    return [
        things[i]
        for i in rng.permutation(len(things))[: rng.integers(least, min(len(things), most) + 1)]
    ]


def draw_values(rng, n):
    """Numbers of either sign, sometimes many of them equal."""
    return [rng.random(n) - 0.3, np.round(rng.random(n), 1), np.ones(n)][rng.integers(3)]


def check(structure, good, rng, total):
    """What a structure says, against the list of all its sets; ``total`` is what it makes as large as can be."""
    n = structure.n_arms
    assert [structure.is_feasible(np.array(arms, int)) for arms in naive.subsets(n)] == [
        arms in good for arms in naive.subsets(n)
    ]
    assert {i for arms in good for i in arms} <= set(np.flatnonzero(structure.undecided))
    sizes = {len(arms) for arms in good}
    assert max(sizes) <= structure.n_most
    assert not structure.same_size or sizes == {structure.n_most}
    for _ in range(3):
        values = draw_values(rng, n)
        best = structure.best(values, rng=rng)
        assert tuple(best.tolist()) in good
        assert total(values[best]) == pytest.approx(
            max(total(values[list(arms)]) for arms in good), abs=1e-9
        )


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
