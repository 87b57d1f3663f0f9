"""Regret of edge clients with stale snapshots, compared with synchronous decisions.

    python benchmarks/edge_regret.py [--workers N] [--runs N] [--problems A,B] [--tables FILE]

The simulation is in edge_simulation.py. Stale runs are paired with runs in which nothing is stale:
with the same means, orders and outcomes. What is finished is written to ``--raw``, and is not
played again. The table goes into docs/edge.json. ``--tables`` is explained in edge_problems.py.
"""

from __future__ import annotations

import argparse
import functools
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edge_problems import CASES, PROBLEMS, Problem, case_tables
from edge_simulation import BELIEFS, LATE, LOST, TWICE, Setting, play

SHARE = 0.005
RATES = (1, 10, 100)
MANY = 1000
SYNCHRONOUS = Setting(0)
SETTINGS = [
    SYNCHRONOUS,
    *(Setting(rate, MANY) for rate in RATES),
    *(Setting(rate, n, SHARE) for n in (10, MANY) for rate in RATES),
    *(Setting(rate, MANY, SHARE, faulty=True) for rate in RATES),
    Setting(100, 10, SHARE, 0.1),
]
# How many runs of each problem, and how many are played at once.
RUNS = {
    "uniform": (960, 30),
    "low rate": (480, 30),
    "linear": (96, 2),
    "network": (64, 2),
    "flights": (400, 50),
    "yeast": (640, 80),
    "ta_feng": (128, 8),
}


class Job(NamedTuple):
    """Some runs of a problem in one setting."""

    problem: str
    setting: Setting
    first: int
    n_runs: int
    belief: str = "beta"
    tables: Path | None = None


@functools.cache
def _made(problem: str, first: int, n_runs: int, tables: Path | None) -> Problem:
    found = case_tables(tables) if problem in CASES else None
    return PROBLEMS[problem](range(first, first + n_runs), found)


def work(job: Job) -> dict[str, Any]:
    """Play one job."""
    problem = _made(job.problem, job.first, job.n_runs, job.tables)
    found = play(problem, job.setting, job.belief, seed=job.first)
    plain = {**job._asdict(), "setting": list(job.setting), "tables": None}
    return {**plain, "regret": np.round(found.regret, 3).tolist(), "syncs": found.syncs}


def _jobs(options: argparse.Namespace) -> list[Job]:
    return [
        Job(problem, setting, first, at_once, options.belief, options.tables)
        for problem in options.problems.split(",")
        for n_runs, at_once in [RUNS[problem]]
        for first in range(0, min(n_runs, options.runs or n_runs), at_once)
        for setting in SETTINGS
    ]


def rows(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much more regret each setting has than synchronous decisions, in paired runs."""
    found: dict[Any, dict[int, Any]] = {}
    for one in raw:
        key = one["problem"], one["belief"], Setting(*one["setting"])
        found.setdefault(key, {})[one["first"]] = one
    made = []
    for (problem, belief, setting), parts in found.items():
        base = found.get((problem, belief, SYNCHRONOUS), {})
        firsts = sorted(parts.keys() & base.keys())
        if not firsts or setting == SYNCHRONOUS:
            continue
        stale, fresh = (
            np.concatenate([each[first]["regret"] for first in firsts]) for each in (parts, base)
        )
        more = (stale - fresh) / fresh.mean()
        about = {"problem": problem, "belief": belief, "setting": setting._asdict()}
        numbers = {
            "runs": len(more),
            "regret": float(fresh.mean()),
            "more": float(more.mean()),
            "error": float(more.std(ddof=1) / len(more) ** 0.5),
            "syncs": float(np.mean([parts[first]["syncs"] for first in firsts])),
        }
        made.append({**about, **numbers})
    return made


def main(arguments: list[str] | None = None) -> None:
    """Play what is not in the raw file yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--runs", type=int, help="at most so many per problem, about")
    parser.add_argument("--problems", default=",".join(RUNS))
    parser.add_argument("--belief", choices=BELIEFS, default="beta")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--raw", type=Path, default=Path("edge-regret.jsonl"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs/edge.json")
    options = parser.parse_args(arguments)
    text = options.raw.read_text() if options.raw.exists() else ""
    raw = [json.loads(line) for line in text.splitlines()]
    known = {(one["problem"], one["belief"], Setting(*one["setting"]), one["first"]) for one in raw}
    jobs = [
        job
        for job in _jobs(options)
        if (job.problem, job.belief, job.setting, job.first) not in known
    ]
    with ProcessPoolExecutor(options.workers) as pool, options.raw.open("a") as file:
        for done in as_completed(pool.submit(work, job) for job in jobs):
            raw.append(done.result())
            print(json.dumps(raw[-1]), file=file, flush=True)
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    found["regret"] = {"faults": {"lost": LOST, "late": LATE, "twice": TWICE}, "rows": rows(raw)}
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    for row in found["regret"]["rows"]:
        print(row)


if __name__ == "__main__":
    main()
