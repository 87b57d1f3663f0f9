"""A shop that shows five of fifty items: as they come, ranked, and with a belief about places.

Half as many people look at the second place as at the first, a third at the third, and so on. What
counts is the expected number of clicks in the last 1,000 of 4,000 rounds, as a share of that of the
best five items in the best order.

    python benchmarks/slates.py [n_shops]     # a minute per three shops
    python benchmarks/slates.py cascade       # readers who stop at a click, or go on with 0.3
    python benchmarks/slates.py quotas        # how long the best list within quotas takes
"""

from __future__ import annotations

import sys
import time
from typing import Literal

import numpy as np

import superarm as sa
from superarm.beliefs import CascadingBelief, PositionBiasedBelief
from superarm.environments import CascadingArms, PositionBiasedArms

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


def cascade_share(aware: bool, continues: float, seed: int, *, horizon: int = 2000) -> float:
    """The same for readers who may stop at a click, in the last 500 of 2,000 rounds."""
    mu = np.random.default_rng(seed).beta(1, 4, N_ARMS)  # a fifth of the lookers click
    shop, world = CascadingArms(mu, continues), np.random.default_rng(seed + 1000)
    reward = sa.LinearReward(N_ARMS)
    policy = sa.thompson(reward, K)
    if aware:
        policy = sa.Policy(CascadingBelief(N_ARMS, continues, shared=0.8), sa.TopK(), reward, K)
    session, clicks = sa.Session(policy, seed=seed), np.empty(horizon)
    for t in range(horizon):
        decision = session.ask()
        shown = np.array(decision.arms)
        clicks[t] = _clicks(mu[shown], continues)
        outcomes = np.nan_to_num(shop.pull(shown, rng=world))  # a shop sees clicks, and no looks
        session.tell(decision, dict(zip(decision.arms, outcomes.tolist(), strict=True)))
    return float(clicks[-500:].mean() / _clicks(np.sort(mu)[::-1][:K], continues))


def _clicks(means: np.ndarray, continues: float) -> float:
    """The expected clicks of a list: each place is reached if no click above it ended the list."""
    return float(means @ np.cumprod([1.0, *(1 - (1 - continues) * means[:-1])]))


def cascade(n_shops: int = 20) -> None:
    """Print the share of a belief that knows how the list is read, and of one that does not."""
    for continues in (0.0, 0.3):
        for aware in (False, True):
            found = np.array([cascade_share(aware, continues, seed) for seed in range(n_shops)])
            name = f"go on with {continues}, {'CascadingBelief' if aware else 'thompson'}"
            error = found.std(ddof=1) / n_shops**0.5
            print(f"{name:32s} {found.mean():.3f} ± {error:.3f}", flush=True)


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
    named = {"quotas": quotas, "cascade": cascade}
    if sys.argv[1:] and sys.argv[1] in named:
        named[sys.argv[1]]()
    else:
        main(*map(int, sys.argv[1:]))
