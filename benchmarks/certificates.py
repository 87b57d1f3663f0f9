"""How often LazySingletons certifies a wrong set in silence, with and without audits.

    python benchmarks/certificates.py [--instances N] [--rounds N] [--audits A ...] [--cost]
                                       [--workers N]

The rewards break their declarations in a few arms, so that no two answers contradict each other
unless somebody looks. A run is silent and wrong if its last decision is certified, differs from
that of Singletons by more than a tie, and no warning was given in any round. ``--cost`` instead
measures evaluations per round on the paper's problems, whose declarations are true.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa
from superarm.reporting.statistics import share_interval

K = 4
Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Family:
    """A kind of reward: what each arm is worth alone, and what is declared of it.

    ``wrong`` is the curve of the arms that break the declaration, ``right`` that of the others.
    Both are functions of weight and mean. The means of all rounds are settled, drift until half of
    the rounds and settle then, or are samples of a bandit that learns.
    """

    right: Curve
    wrong: Curve
    declared: dict[str, Any]
    n_arms: int = 60
    n_wrong: int = 3
    moves: str = "settled"


def straight(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    return weight * x


FREE = {"monotone": True, "zero_is_absent": True}
FAMILIES = {
    "B understated by 2": Family(straight, lambda w, x: 2 * w * x, FREE),
    "by 1.3": Family(straight, lambda w, x: 1.3 * w * x, FREE),
    "by 2, while learning": Family(straight, lambda w, x: 2 * w * x, FREE, moves="learns"),
    "by 2, in one arm": Family(straight, lambda w, x: 2 * w * x, FREE, n_wrong=1),
    "by 2, in 20 of 1,000": Family(straight, lambda w, x: 2 * w * x, FREE, n_arms=1000, n_wrong=20),
    "steep above 0.3": Family(
        straight, lambda w, x: w * (0.5 * x + 2.5 * np.maximum(0, x - 0.3)), FREE
    ),
    "by 3, no free point": Family(
        lambda w, x: 0.5 + w * x, lambda w, x: 0.5 + 3 * w * x, {}, moves="drifts"
    ),
}


class Reward:
    """The sum of the curves of the arms, with a B of its own per arm."""

    additive, upper = False, 1e3

    def __init__(self, family: Family, rng: np.random.Generator) -> None:
        self.n_arms, self.family = family.n_arms, family
        self.monotone = self.zero_is_absent = self.concave = False
        vars(self).update(family.declared)
        self.weights = 0.5 + rng.random(self.n_arms)
        self.wrong = np.zeros(self.n_arms, bool)
        self.wrong[rng.choice(self.n_arms, family.n_wrong, replace=False)] = True
        grid = np.linspace(0, 1, 1001)
        slopes = np.diff(family.right(1.0, grid)) * 1000
        self.lipschitz = self.weights * np.abs(slopes).max()

    def alone(self, arms: np.ndarray, means: np.ndarray) -> np.ndarray:
        weights = self.weights[arms]
        right, wrong = self.family.right(weights, means), self.family.wrong(weights, means)
        return np.where(self.wrong[arms], wrong, right)

    def __call__(self, arms: Any, means: Any) -> float:
        return float(self.alone(np.asarray(arms, np.intp), np.asarray(means, float)).sum())

    def batch(self, pools: sa.Pools, theta: Any) -> np.ndarray:
        theta = np.asarray(theta)
        return np.array([self(arms, theta[arms]) for arms in pools])


def thetas(reward: Reward, rounds: int, rng: np.random.Generator) -> Any:
    """The means of each round; the generator of a learning bandit is told the arms."""
    mu, start = rng.random((2, reward.n_arms))
    if reward.family.moves != "learns":
        for number in range(rounds):
            share = max(0.0, 1 - 2 * number / rounds) * (reward.family.moves == "drifts")
            center = mu + share * (start - mu)
            yield np.clip(center + 0.001 * rng.standard_normal(reward.n_arms), 0, 1)
        return
    belief = sa.BetaBelief(reward.n_arms)
    for _ in range(rounds):
        arms = yield belief.sample(rng=rng)
        belief.update(arms, (rng.random(len(arms)) < mu[arms]).astype(float), rng=rng)


@dataclass(frozen=True)
class Run:
    """What came of some rounds."""

    wrong: bool
    warned: bool
    evaluations: int
    audits: int
    excluded: float


def run(name: str, audits: float, rounds: int, seed: int) -> Run:
    reward = sa.Counted(Reward(FAMILIES[name], np.random.default_rng([seed, 0])))
    lazy, plain, ties = sa.LazySingletons(audits=audits), sa.Singletons(), np.random.default_rng(9)
    means = thetas(reward.uncounted, rounds, np.random.default_rng([seed, 1]))
    theta, arms = next(means), np.zeros(0, int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(rounds):
            arms = lazy.select(reward, theta, K, rng=ties)
            if number < rounds - 1:
                theta = means.send(arms)
    plain.select(reward.uncounted, theta, K, rng=ties)
    values = np.sort(plain.report.values)[::-1]
    got = np.sort(plain.report.values[arms])[::-1]
    wrong = not np.allclose(got, values[:K], rtol=1e-9, atol=0)
    report = lazy.report
    return Run(
        wrong and report.certified,
        bool(caught),
        reward.evaluations,
        report.audits,
        report.excluded,
    )


def silent(options: argparse.Namespace) -> Table:
    n, rounds = options.instances, options.rounds
    table = Table(title=f"Last of {rounds} rounds wrong, certified and without a warning; {n} runs")
    pool = ProcessPoolExecutor(options.workers)
    for name in ("declaration", "audits", "silent and wrong", "95%", "evaluations per round"):
        table.add_column(name, justify="right")
    table.add_column("audits made", justify="right")
    for name in FAMILIES:
        for audits in options.audits:
            runs = list(pool.map(partial(run, name, audits, rounds), range(n), chunksize=5))
            bad = sum(one.wrong and not one.warned for one in runs)
            found = share_interval(bad, n)
            table.add_row(
                name,
                f"{audits:g}",
                f"{bad} of {n}",
                f"{found.low:.2f} to {found.high:.2f}",
                f"{np.mean([one.evaluations for one in runs]) / rounds:.2f}",
                f"{np.mean([one.audits for one in runs]):.0f}",
            )
    return table


PROBLEMS = {
    "network, m=1000": lambda rng: sa.network_instance(1000, 5, 0.2, rng=rng),
    "linear, m=5000": lambda rng: sa.linear_instance(5000, 5, 0.25, rng=rng),
}


def played(name: str, audits: float, rounds: int, seed: int) -> tuple[float, float, int, float]:
    """Evaluations per round, in all and in the last tenth; audits; and the share they exclude."""
    it, lazy = PROBLEMS[name](np.random.default_rng([seed, 0])), sa.LazySingletons(audits=audits)
    policy = sa.cts(it.reward, it.k, oracle=lazy)
    trace = sa.simulate(policy, it, horizon=rounds, rng=np.random.default_rng(seed))
    spent, last = trace.evaluations, trace.evaluations[-rounds // 10 :]
    return spent.mean(), last.mean(), lazy.report.audits, lazy.report.excluded


def cost(options: argparse.Namespace) -> Table:
    """Evaluations per round where all declarations are true, and what the audits exclude."""
    n, rounds = options.instances, options.rounds
    table = Table(title=f"Evaluations per round over {rounds} rounds; {n} instances")
    for name in ("problem", "audits", "all rounds", "last tenth", "audits made", "excluded at 95%"):
        table.add_column(name, justify="right")
    with ProcessPoolExecutor(options.workers) as pool:
        for name in PROBLEMS:
            for audits in options.audits:
                found = pool.map(partial(played, name, audits, rounds), range(n))
                means = np.mean(list(found), axis=0)
                table.add_row(name, f"{audits:g}", *(f"{mean:.4g}" for mean in means))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--audits", type=float, nargs="+", default=[0.0, 2.0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cost", action="store_true", help="evaluations on the paper's problems")
    options = parser.parse_args()
    Console(width=120).print(cost(options) if options.cost else silent(options))


if __name__ == "__main__":
    main()
