"""The rewards of `lazy_evidence.py`, from smooth ones to ones that are hard for lazy oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa


def plateaus(arms: Any, means: Any) -> Any:
    """Flat, steep, flat, steep, flat. Several arms have the same heights, so there are ties."""
    ramps = np.clip(8 * (means - 0.3), 0, 1) + np.clip(8 * (means - 0.7 - 0.01 * (arms % 9)), 0, 1)
    return (1 + arms % 61 / 61) * ramps


def steep(arms: Any, means: Any) -> Any:
    """Nearly flat up to a kink, which differs between arms, and steep from there on."""
    return 0.1 * means + 3 * np.maximum(0.0, means - (arms % 13) / 13)


def waves(arms: Any, means: Any) -> Any:
    """Up and down, differently for each arm; an arm of mean zero is not an absent arm."""
    return 1 + np.sin(5 * means + arms)


class Sum(sa.BlackBox):
    """The sum of what each arm is worth, all sets of a batch in one step."""

    def __init__(
        self, each: Callable[[Any, Any], Any], m: int, lipschitz: float, **declared: bool
    ) -> None:
        super().__init__(
            lambda arms, means: float(each(arms, means).sum()),
            n_arms=m,
            lipschitz=lipschitz,
            upper=4.0 * m,
            **declared,
        )
        self.each = each

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        return pools.sum(self.each(np.arange(self.n_arms), np.asarray(theta)))


REWARDS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "linear": lambda m, rng: sa.LinearReward(m),
    "network, std 1": lambda m, rng: sa.NetworkReward.random(m, rng=rng),
    "network, std 0.3": lambda m, rng: sa.NetworkReward.random(m, std=0.3, rng=rng),
    "network, std 0.05": lambda m, rng: sa.NetworkReward.random(m, std=0.05, rng=rng),
    "any success": lambda m, rng: sa.AnySuccess(m),
    "coverage": lambda m, rng: sa.CoverageReward(rng.random((m, 30)) < 0.2),
    "plateaus": lambda m, rng: Sum(plateaus, m, 16.0, monotone=True, zero_is_absent=True),
    "steep": lambda m, rng: Sum(steep, m, 3.1, monotone=True),
    "waves": lambda m, rng: Sum(waves, m, 5.0),
}
