"""How much policies learn from few outcomes: `sa.thompson` on problems it was not made for.

    python benchmarks/learning.py [table paper speed arrivals] [--runs N] [--workers N] [--quick]
                                  [--out docs/learning.json] [--picture docs/learning.svg]

``table``: gaps closed on the problems of `learning_problems.py` and `learning_fresh.py`, over
paired runs. ``paper``: regret and evaluations per round at the paper's size. ``speed``:
milliseconds per round with many arms, and ``arrivals``: a catalogue whose arms come and go; both
are in `learning_parts.py`. Results are added to the file ``--out``, and the picture is drawn from
it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import superarm as sa
from lazy_singletons import MONOTONE, Declares
from learning_fresh import FRESH
from learning_parts import arrivals, arrivals_table, speed, speed_table
from learning_picture import picture
from learning_problems import PROBLEMS as FIRST
from learning_problems import gap_closed
from superarm.reporting.figures import render
from superarm.reporting.statistics import mean_interval, paired_difference, paired_ratio
from superarm.reporting.tables import Table, as_rich

PROBLEMS = {**FRESH, **FIRST}
PARTS = ("table", "paper", "speed", "arrivals")
RIVALS = ("CTS", "single seed", "epsilon-greedy")
POLICIES: dict[str, Callable[..., sa.Policy]] = {
    "thompson": sa.thompson,
    "CTS": sa.cts,
    "single seed": sa.policies.single_seed_ts,
    "epsilon-greedy": sa.epsilon_greedy,
    "CUCB, not cut": lambda *given, **options: sa.cucb(*given, clip=False, **options),
}
# Instance and rounds of the paper's two problems.
PAPER = {
    "linear": (lambda rng: sa.linear_instance(5000, 5, 0.25, rng=rng), 10_000),
    "network": (lambda rng: sa.network_instance(1000, 5, 0.2, rng=rng), 5000),
}
# Runs of each. The law of the regret does not depend on the oracle, since both are exact.
PAPER_RUNS = (
    ("linear", "TopK", 20),
    ("linear", "LazySingletons", 3),
    ("network", "LazySingletons", 6),
)
QUICK_RUNS, QUICK_ROUNDS = 2, 30


def exact(reward: Any) -> sa.Oracle:
    """The oracle that `sa.thompson` would choose, for all policies."""
    return sa.TopK() if reward.additive else sa.LazySingletons()


def play(name: str, run: int, rounds: int | None) -> dict[str, Any]:
    """The gaps that all policies close in one run of a problem, in %, and seconds per policy."""
    problem, found = PROBLEMS[name], {}
    for label, make in POLICIES.items():
        # All policies meet the same problem. A shuffled table has the same order for all.
        environment, reward = problem.make(np.random.default_rng([run, 0]))
        policy = make(reward, problem.k, oracle=exact(reward))
        rng, world = (np.random.default_rng([run, stream]) for stream in (1, 2))
        start, horizon = time.process_time(), rounds or problem.horizon
        trace = sa.simulate(policy, environment, horizon=horizon, rng=rng, world_rng=world)
        seconds = time.process_time() - start
        found[label] = (gap_closed(problem, environment, reward, trace, run), seconds)
    return {"problem": name, "run": run, "found": found}


def play_paper(
    family: str, label: str, oracle: str, run: int, rounds: int | None
) -> dict[str, Any]:
    """Regret and evaluations of one run at the paper's size."""
    make, horizon = PAPER[family]
    instance = make(np.random.default_rng([run, 0]))
    reward = instance.reward
    if oracle == "LazySingletons" and family == "linear":
        # What is evaluated must not know that values are sums.
        reward = Declares(reward, additive=False, **MONOTONE)
    policy = POLICIES[label](reward, instance.k, oracle=getattr(sa, oracle)())
    rng, world = (np.random.default_rng([run, stream]) for stream in (1, 2))
    start = time.process_time()
    trace = sa.simulate(policy, instance, horizon=rounds or horizon, rng=rng, world_rng=world)
    seconds = time.process_time() - start
    # How many arms of a set were not in the set before.
    changed = [len(np.setdiff1d(*pair)) for pair in zip(trace.arms[1:], trace.arms, strict=False)]
    return {
        "family": family,
        "policy": label,
        "oracle": oracle,
        "run": run,
        "regret": float(trace.regret()[-1]),
        "evaluations": float(trace.evaluations.mean()),
        "evaluations_last": float(trace.evaluations[-1000:].mean()),
        "new_arms": float(np.mean(changed)),
        "ms": 1000 * seconds / len(trace.values),
    }


def table(options: Any) -> list[dict[str, Any]]:
    """All problems, the longest first, over the workers."""
    names = sorted(PROBLEMS, key=lambda name: -PROBLEMS[name].horizon)
    rounds = QUICK_ROUNDS if options.quick else None
    jobs = [(name, run, rounds) for name in names for run in range(options.runs)]
    with ProcessPoolExecutor(options.workers) as executor:
        return list(executor.map(play, *zip(*jobs, strict=True)))


def paper(options: Any) -> list[dict[str, Any]]:
    rounds = QUICK_ROUNDS if options.quick else None
    jobs = [
        (family, label, oracle, run, rounds)
        for family, oracle, n_runs in PAPER_RUNS
        for label in ("thompson", "CTS")
        for run in range(min(n_runs, options.runs))
    ]
    with ProcessPoolExecutor(options.workers) as executor:
        return list(executor.map(play_paper, *zip(*jobs, strict=True)))


def gaps(rows: list[dict[str, Any]]) -> dict[str, dict[str, np.ndarray]]:
    """Per problem and policy, in the order of `PROBLEMS`: the gaps closed in all runs."""
    return {
        name: {
            label: np.array([row["found"][label][0] for row in rows if row["problem"] == name])
            for label in POLICIES
        }
        for name in PROBLEMS
    }


def table_of(rows: list[dict[str, Any]]) -> Table:
    """One line per problem, and the paired difference to the best of the three rivals."""
    lines, above = [], []
    for name, found in gaps(rows).items():
        if name == next(iter(FIRST)):
            lines.append(["", "*before the last change*", *[""] * (len(POLICIES) + 1)])
        best = max(RIVALS, key=lambda label: found[label].mean())
        difference = paired_difference(found["thompson"], found[best])
        means = [f"{values.mean():.1f}" for values in found.values()]
        ends = f"{difference.mean:+.1f} ({difference.low:+.1f} to {difference.high:+.1f})"
        lines.append([name, PROBLEMS[name].about, *means, ends])
        if name in FRESH:
            above.append(found["thompson"].mean() - found["CTS"].mean())
    return Table(
        ["problem", "kind", *POLICIES, f"thompson - best of {len(RIVALS)}"],
        lines,
        title="Gap closed in %, between random sets and the best fixed set: more is better",
        caption=f"thompson is {np.mean(above):+.1f} points above CTS on average, on the problems "
        "that were fixed after its last change.",
        n_texts=2,
    )


def paper_table(rows: list[dict[str, Any]]) -> Table:
    """Regret relative to CTS over paired runs, evaluations, and how often sets change."""
    lines = []
    for family, oracle, _ in PAPER_RUNS:
        of = {
            label: [
                row
                for row in rows
                if (row["family"], row["oracle"], row["policy"]) == (family, oracle, label)
            ]
            for label in ("thompson", "CTS")
        }
        regrets = [[row["regret"] for row in mine] for mine in of.values()]
        for label, mine in of.items():
            ratio = str(paired_ratio(*regrets)) if label == "thompson" else "1"
            means = [
                str(mean_interval([row[key] for row in mine]))
                for key in ("evaluations", "evaluations_last", "new_arms", "ms")
            ]
            lines.append([f"{family}, {oracle}", label, str(len(mine)), ratio, *means])
    return Table(
        [
            "problem",
            "policy",
            "runs",
            "regret / CTS",
            "evaluations",
            "last 1,000",
            "new arms",
            "ms",
        ],
        lines,
        title="The paper's size, per round, 95% intervals: less is better",
        n_texts=2,
    )


SHOWN = {
    "table": table_of,
    "paper": paper_table,
    "speed": speed_table,
    "arrivals": arrivals_table,
}
PLAYED = {"table": table, "paper": paper, "speed": speed, "arrivals": arrivals}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; default all")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2 runs of 30 rounds, few arms")
    parser.add_argument("--out", type=Path, help="a JSON file; other parts in it are kept")
    parser.add_argument("--picture", type=Path, help="an SVG file of the table")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs = QUICK_RUNS
    known = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    for part in options.parts or PARTS:
        known[part] = PLAYED[part](options)
        Console(width=160).print(as_rich(SHOWN[part](known[part])))
        if options.out:
            options.out.write_text(json.dumps(known, indent=1) + "\n")
    if options.picture:
        found = gaps(known["table"])
        options.picture.write_text(render(lambda figure: picture(found, figure), size=(5.6, 7.5)))


if __name__ == "__main__":
    main()
