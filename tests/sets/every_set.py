"""Checks feasible sets against the list of all sets."""

import numpy as np
import pytest

import naive


def some(rng, things, least, most):
    return [
        things[i]
        for i in rng.permutation(len(things))[: rng.integers(least, min(len(things), most) + 1)]
    ]


def draw_values(rng, n):
    """Numbers of either sign, sometimes many of them equal."""
    return [rng.random(n) - 0.3, np.round(rng.random(n), 1), np.ones(n)][rng.integers(3)]


def check(structure, good, rng, total):
    """Feasible sets against the list of all sets; ``best`` maximises ``total``."""
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
