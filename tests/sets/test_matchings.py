"""Matchings against every matching."""

import itertools

import numpy as np
from every_set import check, some
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa

SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_matchings(seed, n_rows, n_columns, full):
    rng = np.random.default_rng(seed)
    pairs = some(rng, list(itertools.product(range(n_rows), range(n_columns))), 1, 9)
    good = [arms for arms in naive.subsets(len(pairs)) if naive.is_matching(pairs, arms)]
    if full:
        good = [arms for arms in good if len(arms) == max(map(len, good))]
    check(sa.sets.Matchings(*zip(*pairs, strict=True), full=full), good, rng, np.sum)
