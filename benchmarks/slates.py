"""A shop that shows five of fifty items: as they come, ranked, and with a belief about places.

Half as many people look at the second place as at the first, a third at the third, and so on. What
counts is the expected number of clicks in the last 1,000 of 4,000 rounds, as a share of that of the
best five items in the best order.

    python benchmarks/slates.py [n_shops]     # a minute per three shops
    python benchmarks/slates.py quotas        # how long the best list within quotas takes
"""

from __future__ import annotations

import sys
import time
from typing import Literal

import numpy as np

import superarm as sa
from superarm.beliefs import PositionBiasedBelief
from superarm.environments import PositionBiasedArms

Way = Literal["by number", "best first", "best first, with places"]
WAYS: tuple[Way, ...] = ("by number", "best first", "best first, with places")
N_ARMS, K = 50, 5
WEIGHTS = 1 / np.arange(1, K + 1)


def share_of_best(way: Way, seed: int, *, horizon: int = 4000, last: int = 1000) -> float:
    """The clicks of the last rounds, as a share of those of the best list."""
    mu = np.random.default_rng(seed).beta(1, 9, N_ARMS)  # a tenth of the lookers click
    shop, world = PositionBiasedArms(mu, WEIGHTS), np.random.default_rng(seed + 1000)
    session = sa.Session(_policy(way), seed=seed)
    clicks = np.empty(horizon)
    for t in range(horizon):
        decision = session.ask()
        shown = sorted(decision.arms) if way == "by number" else list(decision.arms)
        clicks[t] = shop.expected(shown).sum()
        outcomes = shop.pull(shown, rng=world)
        session.tell(decision, dict(zip(shown, outcomes.tolist(), strict=True)))
    best = np.sort(mu)[::-1][:K] @ WEIGHTS
    return float(clicks[-last:].mean() / best)


def _policy(way: Way) -> sa.Policy:
    reward = sa.LinearReward(N_ARMS)
    if way != "best first, with places":
        return sa.thompson(reward, K)
    belief = PositionBiasedBelief(N_ARMS, WEIGHTS, shared=0.8)
    return sa.Policy(belief, sa.TopK(), reward, K)


def main(n_shops: int = 20) -> None:
    """Print the mean share of each way to show the items, with its standard error."""
    for way in WAYS:
        found = np.array([share_of_best(way, seed) for seed in range(n_shops)])
        error = found.std(ddof=1) / n_shops**0.5
        print(f"{way:25s} {found.mean():.3f} ± {error:.3f}", flush=True)


def quotas(k: int = 10, n_brands: int = 20, n_categories: int = 10) -> None:
    """Print how long the best set takes: at most 2 of a brand, at most 3 of a category."""
    rng = np.random.default_rng(0)
    for n_arms in (200, 1000, 10_000):
        brand, category = (
            rng.integers(n_brands, size=n_arms),
            rng.integers(n_categories, size=n_arms),
        )
        groups = [sa.Group(np.flatnonzero(brand == one), most=2) for one in range(n_brands)]
        groups += [sa.Group(np.flatnonzero(category == one), most=3) for one in range(n_categories)]
        feasible, taken = sa.Feasible(k, groups=groups, n_arms=n_arms), []
        for _ in range(10):
            start = time.process_time()
            feasible.best(rng.random(n_arms), rng=rng)
            taken.append(time.process_time() - start)
        print(f"{n_arms:6d} arms: {1e3 * np.median(taken):.0f} ms", flush=True)


if __name__ == "__main__":
    quotas() if sys.argv[1:] == ["quotas"] else main(*map(int, sys.argv[1:]))
