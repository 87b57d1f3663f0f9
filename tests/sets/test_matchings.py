"""Matchings against every matching."""

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
@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_matchings(seed, n_rows, n_columns, full):
    rng = np.random.default_rng(seed)
    pairs = some(rng, list(itertools.product(range(n_rows), range(n_columns))), 1, 9)
    good = [arms for arms in naive.subsets(len(pairs)) if naive.is_matching(pairs, arms)]
    if full:
        good = [arms for arms in good if len(arms) == max(map(len, good))]
    check(sa.sets.Matchings(*zip(*pairs, strict=True), full=full), good, rng, np.sum)
