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


def check_verbs(feasible, every, rng, must=()):
    """The verbs of `Feasible` against the list of all sets. Returns some values and their best."""
    n_arms = feasible.n_arms
    assert sorted(tuple(arms.tolist()) for arms in feasible.sets()) == sorted(every)
    values = rng.random(n_arms) - 0.2 * rng.integers(0, 2)
    best = feasible.best(values, rng=rng)
    assert tuple(best.tolist()) in every
    assert values[best].sum() == pytest.approx(
        max(values[list(arms)].sum() for arms in every), rel=2e-6, abs=1e-9
    )
    chosen = {i for i in every[rng.integers(len(every))] if rng.random() < 0.6}
    within = [set(arms) for arms in every]
    expected = [
        i not in chosen and any(chosen | {i} <= arms for arms in within) for i in range(n_arms)
    ]
    np.testing.assert_array_equal(feasible.extend(sorted(chosen)), expected)
    expected = [i not in chosen and chosen | {i} in within for i in range(n_arms)]
    np.testing.assert_array_equal(feasible.completed_by(sorted(chosen)), expected)
    in_some = {i for arms in every for i in arms} - set(must)
    np.testing.assert_array_equal(np.flatnonzero(feasible.undecided), sorted(in_some))
    return values, best
