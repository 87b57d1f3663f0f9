"""How much policies learn from few outcomes: `sa.thompson` on problems it was not made for.

    python benchmarks/learning.py [PART ...] [--runs N] [--workers N] [--quick]
                                  [--out docs/learning.json]

``table``: gaps closed on the problems of `learning_latest.py`, over paired runs. ``before``: on the
problems of `learning_problems.py` and `learning_fresh.py`, whose misses led to the present policy.
``paper``: regret and evaluations per round at the paper's size. ``speed``: milliseconds per round
with many arms, and ``arrivals``: a catalogue whose arms come and go; both are in
`learning_parts.py`. ``gaussian``: measured outcomes, against a Gaussian hierarchy with learned
variances. Results are added to the file ``--out``.

docs/learning.json has rows of several calls. All parts but ``speed`` were played again in one call,
on another machine with Python 3.12 and numpy 2.5: all 1,456 runs gave the recorded gaps and
regrets.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import superarm as sa
from lazy_singletons import MONOTONE, Declares
from learning_fresh import FRESH
from learning_latest import LATEST
from learning_parts import arrivals, arrivals_table, speed, speed_table
from learning_problems import PROBLEMS as FIRST
from learning_problems import gap_closed
from superarm.cli.common import as_rich
from superarm.reporting.statistics import mean_interval, paired_ratio
from superarm.reporting.tables import Table

BEFORE = {**FIRST, **FRESH}
PROBLEMS = {**LATEST, **BEFORE}
PARTS = ("table", "before", "paper", "speed", "arrivals", "gaussian")
RIVALS = {"CTS", "single seed", "epsilon-greedy"}
OTHERS: dict[str, Callable[..., sa.Policy]] = {
    "CTS": sa.cts,
    "single seed": sa.policies.single_seed_ts,
    "epsilon-greedy": sa.epsilon_greedy,
    "CUCB, not cut": lambda *given, **options: sa.cucb(*given, clip=False, **options),
}


def hierarchy(reward: Any, k: int, *, oracle: sa.Oracle) -> sa.Policy:
    """theta_i ~ N(mu, tau²) and outcomes ~ N(theta_i, sigma²), all three learned."""
    belief = sa.beliefs.LinearBelief(reward.n_arms, shared=max(0.8, 1 - 1 / k))
    return sa.Policy(belief, oracle, reward, k)


# The policies of each part.
POLICIES: dict[str, dict[str, Callable[..., sa.Policy]]] = {
    "table": {"thompson": sa.thompson, **OTHERS},
    "before": {"thompson": sa.thompson, **OTHERS},
    "paper": {"thompson": sa.thompson, **OTHERS},
    "gaussian": {"thompson": sa.thompson, "Gaussian hierarchy": hierarchy},
}
MEASURED = (
    "patients",
    "measured, noisy",
    "ratings",
    "cell nuclei",
    "wines",
    "measured, 3 looks",
    "shocks",
)
# Instance and rounds of the paper's two problems.
PAPER = {
    "linear": (lambda rng: sa.linear_instance(5000, 5, 0.25, rng=rng), 10_000),
    "network": (lambda rng: sa.network_instance(1000, 5, 0.2, rng=rng), 5000),
}
# Problem, oracle, policy and runs.
PAPER_RUNS = (
    ("linear", "LazySingletons", "thompson", 20),
    ("linear", "LazySingletons", "CTS", 20),
    ("network", "LazySingletons", "thompson", 20),
    ("network", "LazySingletons", "CTS", 20),
)
GAUSSIAN_RUNS = 8
QUICK_RUNS, QUICK_ROUNDS = 2, 30


def exact(reward: Any) -> sa.Oracle:
    """The oracle that `sa.thompson` would choose, for all policies."""
    return sa.TopK() if reward.additive else sa.LazySingletons()


def play(part: str, name: str, run: int, rounds: int | None) -> dict[str, Any]:
    """The gaps that all policies close in one run of a problem, in %, and seconds per policy."""
    problem, found = PROBLEMS[name], {}
    for label, make in POLICIES[part].items():
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
    family: str, oracle: str, label: str, run: int, rounds: int | None
) -> dict[str, Any]:
    """Regret and evaluations of one run at the paper's size."""
    make, horizon = PAPER[family]
    instance = make(np.random.default_rng([run, 0]))
    reward = instance.reward
    if oracle == "LazySingletons" and family == "linear":
        # What is evaluated must not know that values are sums.
        reward = Declares(reward, additive=False, **MONOTONE)
    policy = POLICIES["paper"][label](reward, instance.k, oracle=getattr(sa, oracle)())
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


def played(part: str, names: Iterable[str], options: Any, most_runs: int) -> list[dict[str, Any]]:
    """Problems over the workers, the longest first."""
    rounds = QUICK_ROUNDS if options.quick else None
    ordered = sorted(names, key=lambda name: -PROBLEMS[name].horizon)
    runs = range(min(options.runs, most_runs))
    jobs = [(part, name, run, rounds) for name in ordered for run in runs]
    with ProcessPoolExecutor(options.workers) as executor:
        return list(executor.map(play, *zip(*jobs, strict=True)))


def paper(options: Any) -> list[dict[str, Any]]:
    rounds = QUICK_ROUNDS if options.quick else None
    jobs = [(*what, run, rounds) for *what, n in PAPER_RUNS for run in range(min(n, options.runs))]
    with ProcessPoolExecutor(options.workers) as executor:
        return list(executor.map(play_paper, *zip(*jobs, strict=True)))


def gaps(rows: list[dict[str, Any]]) -> dict[str, dict[str, np.ndarray]]:
    """Per problem and policy, in the order of `PROBLEMS`: the gaps closed in all runs."""
    names = {row["problem"] for row in rows}
    return {
        name: {
            label: np.array([row["found"][label][0] for row in rows if row["problem"] == name])
            for label in rows[0]["found"]
        }
        for name in PROBLEMS
        if name in names
    }


def table_of(rows: list[dict[str, Any]]) -> Table:
    """One line per problem, and the paired difference of the first policy to the best rival."""
    lines, above = [], []
    for name, found in gaps(rows).items():
        first, *others = found
        best = max((set(others) & RIVALS) or others, key=lambda label: found[label].mean())
        difference = mean_interval(found[first] - found[best])
        means = [f"{values.mean():.1f}" for values in found.values()]
        ends = f"{difference.mean:+.1f} ({difference.low:+.1f} to {difference.high:+.1f})"
        n_runs = str(len(found[first]))
        lines.append([name, PROBLEMS[name].about, n_runs, *means, ends])
        above.append(found[first].mean() - found[others[0]].mean())
    return Table(
        ["problem", "kind", "runs", *found, "difference"],
        lines,
        title="Gap closed in %, between random sets and the best fixed set: more is better",
        caption=f"On average, {first} is {np.mean(above):+.1f} points above {others[0]}. The "
        "difference is to the best of CTS, single seed and epsilon-greedy, if these are played.",
        n_texts=2,
    )


def paper_table(rows: list[dict[str, Any]]) -> Table:
    """Regret relative to CTS over paired runs, evaluations, and how often sets change."""
    lines = []
    for family, oracle, label, _ in PAPER_RUNS:
        mine, cts = (
            {
                row["run"]: row
                for row in rows
                if (row["family"], row["oracle"], row["policy"]) == (family, *wanted)
            }
            for wanted in ((oracle, label), ("LazySingletons", "CTS"))
        )
        paired = [[of[run]["regret"] for run in mine if run in cts] for of in (mine, cts)]
        means = [
            str(mean_interval([row[key] for row in mine.values()]))
            for key in ("evaluations", "evaluations_last", "new_arms")
        ]
        ratio = "1" if label == "CTS" else str(paired_ratio(*paired))
        lines.append([f"{family}, {oracle}", label, str(len(mine)), ratio, *means])
    return Table(
        ["problem", "policy", "runs", "regret / CTS", "evaluations", "last 1,000", "new arms"],
        lines,
        title="The paper's size, per round, 95% intervals: less is better",
        n_texts=2,
    )


SHOWN = {
    "table": table_of,
    "before": table_of,
    "paper": paper_table,
    "speed": speed_table,
    "arrivals": arrivals_table,
    "gaussian": table_of,
}
PLAYED = {
    "table": lambda options: played("table", LATEST, options, options.runs),
    "before": lambda options: played("before", BEFORE, options, options.runs),
    "paper": paper,
    "speed": speed,
    "arrivals": arrivals,
    "gaussian": lambda options: played("gaussian", MEASURED, options, GAUSSIAN_RUNS),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; default all")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2 runs of 30 rounds, few arms")
    parser.add_argument("--out", type=Path, help="a JSON file; other parts in it are kept")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs = QUICK_RUNS
    known = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    for part in options.parts or PARTS:
        known[part] = PLAYED[part](options)
        Console(width=160).print(as_rich(SHOWN[part](known[part])))
        if options.out:
            options.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
