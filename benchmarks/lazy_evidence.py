"""LazySingletons with other rewards, with more arms, and without each of its ideas.

    python benchmarks/lazy_evidence.py decisions [--rounds T]
    python benchmarks/lazy_evidence.py curve [--csv FILE]
    python benchmarks/lazy_evidence.py ablation

"decisions" compares every decision with that of Singletons, for nine rewards. "curve" measures the
evaluations per round from 100 to 100,000 arms. "ablation" measures them without each idea. All of
it is Thompson sampling, in one process. ``python docs/pictures.py`` draws the curve from the CSV
file.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa
from lazy_rewards import REWARDS
from lazy_singletons import PLAIN, Declares, interval

K = 5
Problem = tuple[Any, sa.BernoulliArms]  # a reward and the environment
INSTANCES = 4


def decide(name: str, m: int, rounds: int, seed: int) -> np.ndarray:
    """Evaluations, rounds with a tie at the k-th place, and decisions that differ.

    The last number is that of the decisions that differ without a tie.
    """
    rng = np.random.default_rng([seed, 0])
    reward = sa.Counted(REWARDS[name](m, rng))
    world, belief = sa.BernoulliArms(rng.random(m)), sa.BetaBelief(m)
    lazy, plain = sa.LazySingletons(audits=0.0), sa.Singletons()
    found = np.zeros(4, int)
    for t in range(rounds):
        theta = belief.sample(rng=rng)
        arms = lazy.select(reward, theta, K, rng=np.random.default_rng([seed, t]))
        expected = plain.select(reward.uncounted, theta, K, rng=np.random.default_rng([seed, t]))
        inside, outside = np.sort(plain.report.values)[::-1][K - 1 : K + 1]
        differ = not np.array_equal(arms, expected)
        tied = np.array_equal(
            np.sort(plain.report.values[arms]), np.sort(plain.report.values[expected])
        )
        found += [0, inside == outside, differ, differ and not tied]
        belief.update(arms, world.pull(arms, rng=rng), rng=rng)
    found[0] = reward.evaluations
    return found


def decisions(options: argparse.Namespace) -> None:
    m, rounds = 200, options.rounds // INSTANCES
    table = Table(
        title=f"Decisions, {K} of {m} arms, {INSTANCES} instances of {rounds:,} rounds each"
    )
    for column in (
        "reward",
        "rounds",
        "evaluations per round",
        "ties at the k-th place",
        "differ",
        "differ without a tie",
    ):
        table.add_column(column, justify="left" if column == "reward" else "right")
    for name in REWARDS:
        evaluations, *counts = sum(decide(name, m, rounds, seed) for seed in range(INSTANCES))
        total = rounds * INSTANCES
        table.add_row(
            name, f"{total:,}", f"{evaluations / total:.2f}", *(f"{count:,}" for count in counts)
        )
    Console(width=140).print(table)


def play(
    problem: Problem, oracle: sa.LazySingletons, declared: dict[str, Any], rounds: int, seed: int
) -> np.ndarray:
    """Evaluations of each round."""
    reward, world = problem
    policy = sa.cts(Declares(reward, **declared), K, oracle=oracle)
    return sa.simulate(
        policy, world, horizon=rounds, rng=np.random.default_rng([seed, 1])
    ).evaluations


def linear(m: int, rng: np.random.Generator) -> Problem:
    instance = sa.linear_instance(m, K, 0.25, rng=rng)
    return instance.reward, instance.environment


def network(m: int, rng: np.random.Generator) -> Problem:
    instance = sa.network_instance(m, K, 0.2, rng=rng)
    return instance.reward, instance.environment


def wavy(m: int, rng: np.random.Generator) -> Problem:
    return REWARDS["waves"](m, rng), sa.BernoulliArms(rng.random(m))


# Arms, and how many instances are played.
SIZES = {100: 3, 300: 3, 1000: 3, 3000: 3, 10_000: 1, 30_000: 1, 100_000: 1}


def measured(rounds: int) -> Iterator[dict[str, Any]]:
    for m, instances in SIZES.items():
        for name, make in (("linear", linear), ("network", network)):
            runs = np.array(
                [
                    play(
                        make(m, np.random.default_rng([seed, 0])),
                        sa.LazySingletons(audits=0.0),
                        {},
                        rounds,
                        seed,
                    )
                    for seed in range(instances)
                ]
            )
            each, last = runs.mean(axis=1), runs[:, -rounds // 10 :].mean()
            row = {"reward": name, "n_arms": m, "rounds": rounds, "instances": instances}
            yield row | {
                "evaluations": round(float(each.mean()), 4),
                "last_tenth": round(float(last), 4),
                "first": round(float(runs[:, 0].mean()), 2),
            }


def curve(options: argparse.Namespace) -> None:
    writer = None
    with Path(options.csv).open("w", newline="") as file:
        for row in measured(options.rounds):
            if writer is None:
                writer = csv.DictWriter(file, row, lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()  # the last sizes take minutes
            print(row)


class EvaluatesAtTheta(sa.LazySingletons):
    """Never evaluates an arm at a mean other than theta."""

    def _places(self, arms: Any, theta: Any, lower: Any, upper: Any, k: int) -> Any:
        return theta


def one_b(reward: Any) -> dict[str, Any]:
    return {"lipschitz": float(np.max(reward.lipschitz))}


def five_b(reward: Any) -> dict[str, Any]:
    return {"lipschitz": 5 * reward.lipschitz, "concave": False}


def truth(reward: Any) -> dict[str, Any]:
    return {}


# Recorded figures are without audits, which `certificates.py` measures.
lazy = partial(sa.LazySingletons, audits=0.0)
Variant = tuple[Callable[[], sa.LazySingletons], Callable[[Any], dict[str, Any]]]
# The arms of each problem; for each variant an oracle, and what it declares.
VARIANTS: dict[
    str, tuple[Callable[[int, np.random.Generator], Problem], int, dict[str, Variant]]
] = {
    "network": (
        network,
        1000,
        {
            "all": (lazy, truth),
            "not concave": (lazy, lambda reward: {"concave": False}),
            "not concave, not monotone": (lazy, lambda reward: PLAIN),
            "no free point (zero_is_absent)": (
                lazy,
                lambda reward: {"zero_is_absent": False},
            ),
            "one B, the largest": (lazy, one_b),
            "one B, not concave": (
                lazy,
                lambda reward: one_b(reward) | {"concave": False},
            ),
            "4 points": (lambda: lazy(n_points=4), truth),
            "64 points": (lambda: lazy(n_points=64), truth),
            "batches of 8": (lambda: lazy(batch=8), truth),
            "batches of 32": (lambda: lazy(batch=32), truth),
            "evaluated at theta only": (EvaluatesAtTheta, truth),
            "B overstated 5 times, not concave": (lazy, five_b),
            "the same, evaluated at theta only": (EvaluatesAtTheta, five_b),
        },
    ),
    "linear": (
        linear,
        1000,
        {
            "all": (lazy, truth),
            "not concave": (lazy, lambda reward: {"concave": False}),
            "not concave, not monotone": (lazy, lambda reward: PLAIN),
            "B overstated 5 times, not concave": (lazy, five_b),
            "the same, evaluated at theta only": (EvaluatesAtTheta, five_b),
        },
    ),
    "waves": (
        wavy,
        200,
        {
            "all": (lazy, truth),
            "4 points": (lambda: lazy(n_points=4), truth),
            "8 points": (lambda: lazy(n_points=8), truth),
            "64 points": (lambda: lazy(n_points=64), truth),
        },
    ),
}


def ablation(options: argparse.Namespace) -> None:
    for problem, (make, m, variants) in VARIANTS.items():
        title = (
            f"{problem}, {K} of {m:,} arms, {options.rounds:,} rounds, {INSTANCES} instances, "
            f"95% intervals"
        )
        table = Table(title=title)
        for column in ("variant", "evaluations per round", "last tenth", "× all"):
            table.add_column(column, justify="left" if column == "variant" else "right")
        instances = [make(m, np.random.default_rng([seed, 0])) for seed in range(INSTANCES)]
        whole = None
        for name, (oracle, declare) in variants.items():
            runs = np.array(
                [
                    play(it, oracle(), declare(it[0]), options.rounds, seed)
                    for seed, it in enumerate(instances)
                ]
            )
            means = runs.mean(axis=1)
            whole = means if whole is None else whole
            last = runs[:, -options.rounds // 10 :].mean(axis=1)
            table.add_row(name, interval(means), interval(last), interval(means / whole))
        Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["decisions", "curve", "ablation"])
    parser.add_argument("--rounds", type=int, help="10,000 for decisions, 1,000 otherwise")
    parser.add_argument("--csv", default="lazy_curve.csv", help="where the curve goes")
    options = parser.parse_args()
    options.rounds = options.rounds or (10_000 if options.what == "decisions" else 1000)
    {"decisions": decisions, "curve": curve, "ablation": ablation}[options.what](options)


if __name__ == "__main__":
    main()
