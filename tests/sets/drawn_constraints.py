"""Random constraints."""

import numpy as np

import naive
from superarm.sets import Feasible, Group


def draw_constraints(rng, n_arms, *, weights=True):
    """Any constraints, possible or not."""
    given = {"at_most": bool(rng.integers(2))}
    if rng.random() < 0.5:
        given["available"] = rng.random(n_arms) < 0.8
    if rng.random() < 0.5:
        given["must"] = rng.choice(n_arms, rng.integers(0, 3), replace=False).tolist()
    if rng.random() < 0.5:
        given["must_not"] = rng.choice(n_arms, rng.integers(0, 3), replace=False).tolist()
    if rng.random() < 0.7:
        label = rng.integers(0, 4, n_arms)
        quotas = [(label == g, int(rng.integers(0, 2)), int(rng.integers(1, 4))) for g in range(3)]
        given["groups"] = [
            Group(np.flatnonzero(mine).tolist(), least, most) for mine, least, most in quotas
        ]
    if weights and rng.random() < 0.5:
        given["weights"] = rng.integers(0, 6, n_arms).astype(float)
        given["budget"] = float(rng.integers(1, 20))
    return int(rng.integers(1, n_arms + 1)), given


def draw_feasible(rng, n_arms, **options):
    """Constraints that some set fulfils."""
    while True:
        k, given = draw_constraints(rng, n_arms, **options)
        if naive.feasible_sets(n_arms, k, **given):
            return Feasible(k, n_arms=n_arms, **given)
