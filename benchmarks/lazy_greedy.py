"""Evaluations per round of LazyGreedy; every decision is compared with that of Greedy.

    python benchmarks/lazy_greedy.py [--instances N] [--rounds T] [--quick]

Thompson sampling on submodular problems. "Lipschitz only" hides from the oracle that returns
diminish. Both oracles break ties with generators of the same state, because ties are common with
"any success": after a few good arms the probability of no success is below the rounding error of 1.
For the same reason many evaluations are needed there: none of the last arms is certainly worse than
another.
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


class Undeclared:
    """A reward that does not declare diminishing."""

    diminishing = False

    def __init__(self, reward: Any) -> None:
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
            setattr(self, name, getattr(reward, name))

    def __call__(self, arms: Any, means: Any) -> float:
        return self.reward(arms, means)

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        return self.reward.batch(pools, theta)


def network(rng: np.random.Generator) -> tuple[Any, sa.BernoulliArms]:
    instance = sa.network_instance(1000, 5, 0.2, rng=rng)
    return instance.reward, instance.environment


def network_undeclared(rng: np.random.Generator) -> tuple[Any, sa.BernoulliArms]:
    reward, world = network(rng)
    return Undeclared(reward), world


def coverage(rng: np.random.Generator) -> tuple[Any, sa.BernoulliArms]:
    """Each arm may reach 5% of 100 targets."""
    return sa.CoverageReward(rng.random((1000, 100)) < 0.05), sa.BernoulliArms(
        rng.random(1000) ** 3
    )


def any_success(rng: np.random.Generator) -> tuple[Any, sa.BernoulliArms]:
    return sa.AnySuccess(1000), sa.BernoulliArms(rng.random(1000) ** 3)


CASES: list[tuple[str, Callable[[np.random.Generator], tuple[Any, sa.BernoulliArms]]]] = [
    ("network, diminishing", network),
    ("network, Lipschitz only", network_undeclared),
    ("coverage, diminishing", coverage),
    ("any success, diminishing", any_success),
]
K = 5


def run(case: int, seed: int, rounds: int) -> tuple[np.ndarray, int]:
    """Evaluations of each round, and how many decisions differ from Greedy's."""
    reward, world = CASES[case][1](np.random.default_rng([seed, 0]))
    rng, pulls = (np.random.default_rng([seed, i]) for i in (1, 2))
    counted = sa.Counted(reward)
    belief, lazy, plain = sa.BetaBelief(reward.n_arms), sa.LazyGreedy(), sa.Greedy()
    evaluations, different = np.zeros(rounds), 0
    for t in range(rounds):
        theta, before = belief.sample(rng=rng), counted.evaluations
        arms = lazy.select(counted, theta, K, rng=np.random.default_rng([seed, 3, t]))
        evaluations[t] = counted.evaluations - before
        different += not np.array_equal(
            arms, plain.select(reward, theta, K, rng=np.random.default_rng([seed, 3, t]))
        )
        belief.update(arms, world.pull(arms, rng=pulls), rng=rng)
    return evaluations, different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="2 instances, 200 rounds")
    options = parser.parse_args()
    n, rounds = (2, 200) if options.quick else (options.instances, options.rounds)
    table = Table(
        title=f"Evaluations per round, 5 of 1,000 arms, {rounds:,} rounds, "
        f"means over {n} instances ± standard error; "
        "Greedy needs 4,990"
    )
    for name in (
        "problem, declared",
        "all rounds",
        "first tenth",
        "last tenth",
        "decisions that differ",
    ):
        table.add_column(name, justify="left" if name.startswith("problem") else "right")
    with ProcessPoolExecutor(2) as executor:
        for case, (name, _) in enumerate(CASES):
            found = list(executor.map(run, [case] * n, range(n), [rounds] * n))
            means = np.array([evaluations.mean() for evaluations, _ in found])
            spread = means.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
            first = np.mean([evaluations[: rounds // 10].mean() for evaluations, _ in found])
            last = np.mean([evaluations[-(rounds // 10) :].mean() for evaluations, _ in found])
            different = sum(one for _, one in found)
            table.add_row(
                name,
                f"{means.mean():.1f} ± {spread:.1f}",
                f"{first:.1f}",
                f"{last:.1f}",
                f"{different} of {n * rounds:,}",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
