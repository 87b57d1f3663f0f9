"""What every reward must do."""

from __future__ import annotations

from functools import partial

import numpy as np

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray
from superarm.core.declarations import is_concave, is_diminishing
from superarm.testing.claims import claim, claim_refused, name_of

_NAN = float("nan")
# Values may be off by this share of the reward's M: it is rounding.
_ROUNDING = 1e-9


def check_reward(reward: Reward, *, n_probes: int = 200, seed: int = 0) -> None:
    """Check a reward of at least two arms, by probing batches and declarations.

    The declarations: Lipschitz, bounded, mean-only (the value of a set does not depend on the means
    of other arms), monotone, zero is absent and additive; concave and diminishing, if it declares
    them.
    """
    rng = np.random.default_rng(seed)
    claim(isinstance(reward, Reward), f"{name_of(reward)} must have all that superarm.Reward has")
    n_arms, slack = reward.n_arms, _ROUNDING * reward.upper
    sizes = rng.integers(0, n_arms + 1, n_probes)
    sets = [np.sort(rng.choice(n_arms, size, replace=False)) for size in sizes]
    # The empty set and the full set are rarely drawn, and often wrong.
    sets += [np.arange(0), np.arange(n_arms)]
    pools = Pools.of(sets, n_arms)
    # Besides random means the two corners, where formulas divide by zero.
    for theta in (rng.random(n_arms), np.zeros(n_arms), np.ones(n_arms)):
        _check_values(reward, pools, theta, slack)
        _check_change(reward, pools, theta, rng.random(n_arms), slack)
    _check_declarations(reward, slack, rng)
    for bad in (np.zeros(n_arms + 1), np.full(n_arms, _NAN), np.full(n_arms, 1.5)):
        claim_refused(
            partial(reward.batch, pools, bad),
            f"theta of shape {bad.shape}, {bad[0]}",
        )
    claim_refused(lambda: reward([0, 0], [0.5, 0.5]), "the same arm twice")
    claim_refused(lambda: reward([n_arms], [0.5]), "an arm beyond the last")
    claim_refused(lambda: reward([0], [0.5, 0.5]), "more means than arms")


def _check_values(reward: Reward, pools: Pools, theta: FloatArray, slack: float) -> None:
    values = reward.batch(pools, theta)
    shape = (len(pools),)
    claim(values.shape == shape, f"batch must have shape {shape}, got {values.shape}")
    single = np.array([reward(arms, theta[arms]) for arms in pools])
    claim(np.allclose(values, single, rtol=0, atol=slack), "batch must agree with single calls")
    inside = (values >= -slack).all() and (values <= reward.upper + slack).all()
    claim(inside, "values must be in [0, upper]")


def _check_change(
    reward: Reward, pools: Pools, theta: FloatArray, moved: FloatArray, slack: float
) -> None:
    """How values change when all means move, and when only the means of other arms do."""
    values = reward.batch(pools, theta)
    change = np.abs(reward.batch(pools, moved) - values)
    allowed = pools.sum(reward.lipschitz * np.abs(moved - theta)) + slack
    claim((change <= allowed).all(), "the declared lipschitz must bound how values change")
    # Mean-only (assumption 1): the arms of the set keep their means, all others move.
    one, outside = pools[0], moved.copy()
    outside[one] = theta[one]
    alone = reward.batch(Pools.of([one], reward.n_arms), outside)
    claim(
        np.isclose(alone[0], values[0], rtol=0, atol=slack),
        "a value must not depend on arms outside",
    )


def _check_declarations(reward: Reward, slack: float, rng: np.random.Generator) -> None:
    n_arms = reward.n_arms
    singletons = Pools.singletons(np.arange(n_arms), n_arms)
    empty = reward.batch(Pools.of([[]], n_arms), np.zeros(n_arms))[0]
    if reward.zero_is_absent:
        alone = reward.batch(singletons, np.zeros(n_arms))
        claim(
            np.allclose(alone, empty, rtol=0, atol=slack),
            "zero_is_absent: a mean of 0 must be worth the empty set",
        )
    # An even grid, so that second differences have the sign of the curvature. 33 points have steps
    # of 1/32, which are exact in binary.
    grid = np.linspace(0, 1, 33)
    curves = np.array([reward.batch(singletons, np.full(n_arms, x)) for x in grid])
    if reward.monotone:
        claim(
            (np.diff(curves, axis=0) >= -slack).all(),
            "monotone: a single arm's value must rise with its mean",
        )
    if is_concave(reward):
        claim(
            (np.diff(curves, n=2, axis=0) <= slack).all(),
            "concave: a single arm's value must rise less at higher means",
        )
    if is_diminishing(reward):
        _check_diminishing(reward, slack, rng)
    if reward.additive:
        _check_additive(reward, singletons, float(empty), slack, rng)


def _check_diminishing(reward: Reward, slack: float, rng: np.random.Generator) -> None:
    n_arms = reward.n_arms
    for _ in range(50):
        # Half of the means are 0, since an absent arm is one of mean 0: this probes submodularity
        # too.
        low = rng.random(n_arms) * (rng.random(n_arms) < 0.5)
        high = low + (1 - low) * rng.random(n_arms) * (rng.random(n_arms) < 0.5)
        arm = int(rng.integers(n_arms))
        by = rng.random() * (1 - high[arm])
        gains = [
            _value_of_present(reward, means, arm, by) - _value_of_present(reward, means)
            for means in (low, high)
        ]
        claim(gains[1] >= -slack, "diminishing: a higher mean must not lower a value")
        claim(
            gains[1] <= gains[0] + slack,
            "diminishing: a higher mean must raise a value less at higher means",
        )


def _check_additive(
    reward: Reward, singletons: Pools, empty: float, slack: float, rng: np.random.Generator
) -> None:
    theta = rng.random(reward.n_arms)
    alone = reward.batch(singletons, theta)
    claim(
        (np.diff(alone[np.argsort(theta)]) >= -slack).all(),
        "additive: the order of theta must be the order of value",
    )
    # Each single value includes that of the empty set, and the pair includes it once.
    pair = reward([0, 1], theta[:2])
    claim(
        abs(pair - alone[0] - alone[1] + empty) <= slack,
        "additive: a pair must be worth the sum of its arms",
    )


def _value_of_present(reward: Reward, means: FloatArray, arm: int = 0, by: float = 0.0) -> float:
    """The value of the arms whose means are above zero, the mean of one arm being raised."""
    raised = means.copy()
    raised[arm] = min(1.0, raised[arm] + by)
    arms = np.flatnonzero(raised)
    return reward(arms, raised[arms])
