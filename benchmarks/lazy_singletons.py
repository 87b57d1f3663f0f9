"""Evaluations per round of LazySingletons; every decision is compared with that of Singletons.

    python benchmarks/lazy_singletons.py [--instances N] [--problem NAME ...] [--workers N]
                                          [--quick]

Thompson sampling on the paper's problems. "declared" says what the oracle may use of the reward:
that single arms are monotone in their means, that they are concave, or only the Lipschitz constant.
All oracles of a problem get the same theta in every round. `lazy_evidence.py` has other rewards,
other sizes, and what each idea saves. There are no audits here: `certificates.py` measures them.
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
from superarm.reporting.statistics import mean_interval


class Declares:
    """A reward that declares fewer or other properties than it has."""

    def __init__(self, reward: Any, **declared: Any) -> None:
        self.reward = reward
        for name in (
            "n_arms",
            "lipschitz",
            "upper",
            "monotone",
            "zero_is_absent",
            "additive",
            "concave",
        ):
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
# Instance, rounds, and what is declared.
PROBLEMS: dict[
    str, tuple[Callable[[np.random.Generator], sa.Instance], int, dict[str, dict[str, Any]]]
] = {
    "network, m=1000": (
        network,
        5000,
        {"concave": {}, "monotone": MONOTONE, "Lipschitz only": PLAIN},
    ),
    "linear, m=5000": (linear, 10_000, {"monotone": MONOTONE}),
    "linear, m=5000, B overstated 5 times": (
        linear,
        1000,
        {"monotone": {**MONOTONE, "lipschitz": 5.0}},
    ),
    "network, m=10,000": (large_network, 5000, {"concave": {}, "monotone": MONOTONE}),
}


def run(problem: str, seed: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Evaluations of each round, and decisions that differ from Oracle+'s, per declaration."""
    make, _, declarations = PROBLEMS[problem]
    instance = make(np.random.default_rng([seed, 0]))
    rng, world, ties = (np.random.default_rng([seed, i]) for i in (1, 2, 3))
    rewards = [
        sa.Counted(Declares(instance.reward, **declared)) for declared in declarations.values()
    ]
    belief, oracles, plain = (
        sa.BetaBelief(instance.n_arms),
        [sa.LazySingletons(audits=0.0) for _ in rewards],
        sa.Singletons(),
    )
    evaluations, different = np.zeros((len(rewards), rounds)), np.zeros(len(rewards), int)
    for t in range(rounds):
        theta = belief.sample(rng=rng)
        arms = plain.select(instance.reward, theta, instance.k, rng=ties)
        for i, (lazy, reward) in enumerate(zip(oracles, rewards, strict=True)):
            before = reward.evaluations
            different[i] += not np.array_equal(
                arms, lazy.select(reward, theta, instance.k, rng=ties)
            )
            evaluations[i, t] = reward.evaluations - before
        belief.update(arms, instance.pull(arms, rng=world), rng=rng)
    return evaluations, different


def interval(values: np.ndarray) -> str:
    found = mean_interval(values)
    return (
        f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"
        if len(values) > 1
        else f"{found.mean:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--problem", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2 instances, 300 rounds")
    options = parser.parse_args()
    n = 2 if options.quick else options.instances
    table = Table(
        title=f"Evaluations per round, means over {n} instances with 95% intervals; "
        f"Singletons needs m"
    )
    for name in (
        "problem",
        "declared",
        "rounds",
        "all rounds",
        "last 1,000",
        "decisions that differ",
    ):
        table.add_column(name, justify="left" if name in ("problem", "declared") else "right")
    with ProcessPoolExecutor(options.workers) as executor:
        for problem in options.problem:
            _, horizon, declarations = PROBLEMS[problem]
            rounds = 300 if options.quick else horizon
            found = list(executor.map(run, [problem] * n, range(n), [rounds] * n))
            for i, declared in enumerate(declarations):
                means = np.array([evaluations[i].mean() for evaluations, _ in found])
                last = np.array([evaluations[i, -1000:].mean() for evaluations, _ in found])
                different = sum(each[i] for _, each in found)
                differ = f"{different} of {n * rounds:,}"
                table.add_row(
                    problem, declared, f"{rounds:,}", interval(means), interval(last), differ
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
