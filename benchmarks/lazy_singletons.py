"""Evaluations a round of LazySingletons, every decision compared with that of Singletons.

    python benchmarks/lazy_singletons.py [--instances N] [--quick]

Thompson sampling on the paper's problems. "declared" says what the oracle may use of the reward: that single arms are
monotone in their means, that they are concave, or only the Lipschitz constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa


class Declares:
    """A reward that declares something else than it could."""

    def __init__(self, reward: Any, **declared: Any) -> None:
        self.reward = reward
        for name in ("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive", "concave"):
            setattr(self, name, declared.get(name, getattr(reward, name)))

    def __call__(self, arms: Any, means: Any) -> float:
        return self.reward(arms, means)

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        return self.reward.batch(pools, theta)


def linear(rng: np.random.Generator) -> sa.Instance:
    return sa.linear_instance(5000, 5, 0.25, rng=rng)


def network(rng: np.random.Generator) -> sa.Instance:
    return sa.network_instance(1000, 5, 0.2, rng=rng)


def large_network(rng: np.random.Generator) -> sa.Instance:
    return sa.network_instance(10_000, 5, 0.2, rng=rng)


PLAIN = {"concave": False, "monotone": False}
MONOTONE = {"concave": False}
# Name, instance, what is declared, rounds.
CASES: list[tuple[str, Callable[[np.random.Generator], sa.Instance], dict[str, Any], int]] = [
    ("network, m=1000, concave", network, {}, 5000),
    ("network, m=1000, monotone", network, MONOTONE, 5000),
    ("network, m=1000, Lipschitz only", network, PLAIN, 5000),
    ("network, m=10,000, concave", large_network, {}, 5000),
    ("network, m=10,000, monotone", large_network, MONOTONE, 5000),
    ("linear, m=5000, monotone", linear, MONOTONE, 10_000),
    ("linear, m=5000, monotone, B overstated 5 times", linear, {**MONOTONE, "lipschitz": 5.0}, 1000),
]


def run(case: int, seed: int, rounds: int) -> tuple[np.ndarray, int]:
    """Evaluations of each round, and how many decisions differ from Oracle+'s."""
    _, make, declared, _ = CASES[case]
    instance = make(np.random.default_rng([seed, 0]))
    rng, world, ties = (np.random.default_rng([seed, i]) for i in (1, 2, 3))
    reward = sa.Counted(Declares(instance.reward, **declared))
    belief, lazy, plain = sa.BetaBelief(instance.n_arms), sa.LazySingletons(), sa.Singletons()
    evaluations, different = np.zeros(rounds), 0
    for t in range(rounds):
        theta, before = belief.sample(rng=rng), reward.evaluations
        arms = lazy.select(reward, theta, instance.k, rng=ties)
        evaluations[t] = reward.evaluations - before
        different += not np.array_equal(arms, plain.select(instance.reward, theta, instance.k, rng=ties))
        belief.update(arms, instance.pull(arms, rng=world), rng=rng)
    return evaluations, different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="2 instances, 300 rounds")
    options = parser.parse_args()
    n = 2 if options.quick else options.instances
    table = Table(title=f"Evaluations a round, means over {n} instances ± standard error; Singletons needs m")
    for name in ("problem, declared", "rounds", "all rounds", "last 1,000", "decisions that differ"):
        table.add_column(name, justify="left" if name.startswith("problem") else "right")
    with ProcessPoolExecutor(2) as executor:
        for case, (name, _, _, horizon) in enumerate(CASES):
            rounds = 300 if options.quick else horizon
            found = list(executor.map(run, [case] * n, range(n), [rounds] * n))
            means = np.array([evaluations.mean() for evaluations, _ in found])
            last = np.mean([evaluations[-1000:].mean() for evaluations, _ in found])
            spread = means.std(ddof=1) / np.sqrt(n)
            different = sum(one for _, one in found)
            table.add_row(
                name,
                f"{rounds:,}",
                f"{means.mean():.2f} ± {spread:.2f}",
                f"{last:.2f}",
                f"{different} of {n * rounds:,}",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
