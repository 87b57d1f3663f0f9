"""superarm beside other libraries that learn from contexts and features: ``make peers``.

    python benchmarks/contextual_peers.py [--only yeast shop times] [--runs 10] [--limit 20]

Every library has its default settings, or the setting that its label names. A library that is not
installed is left out, and said so. Slow libraries play fewer runs: as many as fit into
``--seconds`` of processor time, and at least two. Runs that the file has are not played again.

- yeast: which 4 of 14 functions has a gene? The context is its 103 measurements. A run has 1,000
  genes. The gap closed is 0 for random sets and 100 for the best fixed set in hindsight.
- shop: 5 of 200 products for visitors of four kinds, at rates of about 1%, over 1,000 rounds. What
  is reached of the value of the best sets for each visitor, in percent, and the regret.
- times: processor milliseconds per round (choose, then learn) with 10 of 1,000, 10,000 and 100,000
  arms. Arms of "features" have 50 features, and there is no context. The shop has 10 features per
  product and visitors of four kinds. Every measurement is a process of its own, which is stopped
  after ``--limit`` seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from contextual_programs import SYSTEMS, Program, System, Task
from superarm.environments import datasets

OUT = Path(__file__).parents[1] / "docs" / "contextual_peers.json"
SIZES = (1000, 10_000, 100_000)
_KINDS, _CATEGORIES, _GENES = 4, 9, 1000
_MOST_ROUNDS = 60  # of a measurement of times; the first ones are not counted
_WARM = 5
_LEAST_RUNS = 2
_STOPPED = 75  # the exit status of a process that took too long


def yeast(system: System, seed: int) -> dict[str, float]:
    """One run over some genes, in random order."""
    data = datasets.yeast()
    some = np.random.default_rng([seed, 1]).permutation(len(data.table))[:_GENES]
    assert data.contexts is not None
    table, contexts = data.table[some].astype(float), data.contexts[some]
    program = system.make(Task(table.shape[1], 4, None, contexts.shape[1]), seed)
    start, got = time.process_time(), 0.0
    for row, context in zip(table, contexts, strict=True):
        arms = np.sort(program.choose(context))
        program.learn(context, arms, row[arms])
        got += row[arms].sum() / _GENES
    took = time.process_time() - start
    by_chance, best = 4 * table.mean(), np.sort(table.mean(axis=0))[-4:].sum()
    gap = 100 * (got - by_chance) / (best - by_chance)
    return {"percent": float(gap), "regret": float(best - got), "ms": 1e3 * took / _GENES}


def a_shop(n_products: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Features of the products, and their rates for each kind of visitor."""
    category = rng.integers(_CATEGORIES, size=n_products)
    price = rng.normal(size=n_products)
    taste, slope = rng.normal(0, 1.6, (_KINDS, _CATEGORIES)), rng.normal(0, 0.5, _KINDS)
    odds = -5.5 + taste[:, category] + slope[:, None] * price + rng.normal(0, 0.4, n_products)
    odds += rng.normal(0, 0.2, (_KINDS, n_products))
    return np.column_stack([np.eye(_CATEGORIES)[category], price]), expit(odds)


def shop(system: System, seed: int, n_rounds: int = 1000) -> dict[str, float]:
    """One run with products and rates of its own."""
    features, means = a_shop(200, np.random.default_rng([seed, 0]))
    program = system.make(Task(200, 5, features if system.arm_features else None, _KINDS), seed)
    world, got, possible = np.random.default_rng([seed, 2]), 0.0, 0.0
    best = np.sort(means, axis=1)[:, -5:].sum(axis=1)
    start = time.process_time()
    for _ in range(n_rounds):
        arms, kind = _a_visit(program, means, world)
        got, possible = got + means[kind, arms].sum(), possible + best[kind]
    took = time.process_time() - start
    regret = (possible - got) / n_rounds
    return {"percent": 100 * got / possible, "regret": regret, "ms": 1e3 * took / n_rounds}


def _a_visit(program: Program, means: Any, world: np.random.Generator) -> tuple[Any, int]:
    kind = int(world.integers(_KINDS))
    context = np.eye(_KINDS)[kind]
    arms = np.sort(program.choose(context))
    program.learn(context, arms, world.random(len(arms)) < means[kind, arms])
    return arms, kind


def measure(label: str, what: str, n_arms: int, limit: int) -> None:
    """The child process: a line of JSON when built, and one per round."""
    threading.Thread(target=_stop_after, args=(limit,), daemon=True).start()
    [system] = [one for one in SYSTEMS if one.label == label]
    world = np.random.default_rng(0)
    if what == "shop":
        features, means = a_shop(n_arms, world)
        task = Task(n_arms, 10, features if system.arm_features else None, _KINDS)
    else:
        features = world.normal(size=(n_arms, 50))
        means = np.clip(0.3 + features @ world.normal(0, 0.01, 50), 0, 1)
        task = Task(n_arms, 10, features, 0)
    start = time.process_time()
    program = system.make(task, 0)
    print(json.dumps(time.process_time() - start), flush=True)
    for _ in range(_MOST_ROUNDS):
        start = time.process_time()
        if what == "shop":
            _a_visit(program, means, world)
        else:
            arms = np.sort(program.choose(None))
            program.learn(None, arms, world.random(10) < means[arms])
        print(json.dumps(time.process_time() - start), flush=True)


def _stop_after(limit: int) -> None:
    """End this process when it has used so many seconds of processor time."""
    while time.process_time() < limit:
        time.sleep(0.5)
    os._exit(_STOPPED)


def timed(system: System, what: str, n_arms: int, limit: int) -> dict[str, Any]:
    """Seconds to build, milliseconds per round, or after how many seconds it was stopped."""
    row = {"system": system.label, "task": what, "arms": n_arms}
    if what == "features" and not system.arm_features:
        return {**row, "ms": None, "why": "no features of arms"}
    command = [sys.executable, __file__, "--measure", system.label, what, str(n_arms), str(limit)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    why = f"stopped after {limit} s" if child.returncode == _STOPPED else None
    if child.returncode and why is None:
        why = (child.stderr.strip().splitlines() or ["failed"])[-1]
    # A child that is stopped may leave half a line.
    took = [float(line) for line in child.stdout.split("\n")[:-1]]
    rounds = took[1:][_WARM:] if len(took) > 2 * _WARM else took[1:]
    ms = 1e3 * float(np.median(rounds)) if rounds else None
    built = {"build_s": took[0] if took else None, "rounds": max(0, len(took) - 1)}
    return {**row, **built, "ms": ms, "why": why}


def played(
    name: str, system: System, n_runs: int, seconds: float, known: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The runs of a task of regret, after those that are known."""
    known = {"percent": [], "regret": []} if known is None else known
    first, runs, start = len(known["percent"]), [], time.process_time()
    for seed in range(first, n_runs):
        spent = time.process_time() - start
        if seed >= _LEAST_RUNS and runs and spent * (len(runs) + 1) / len(runs) > seconds:
            break
        runs.append({"yeast": yeast, "shop": shop}[name](system, seed))
    both = {key: known[key] + [run[key] for run in runs] for key in ("percent", "regret")}
    ms = float(np.median([run["ms"] for run in runs])) if runs else known["ms"]
    return {"system": system.label, **both, "ms": ms}


def main() -> None:
    """Write each result as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=("yeast", "shop", "times"))
    parser.add_argument("--systems", nargs="*", help="parts of labels; all by default")
    parser.add_argument("--arms", type=int, nargs="*", default=SIZES, help="of times")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a task and system")
    parser.add_argument("--limit", type=int, default=20, help="seconds of a measurement of times")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # of the libraries, about settings that are their defaults
    if given.measure:
        measure(*given.measure[:2], *map(int, given.measure[2:]))
        return
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    wanted = [one for one in SYSTEMS if _is_wanted(one, given.systems)]
    found["systems"] = [
        {"label": one.label, "package": one.package, "version": one.version, "how": one.how}
        for one in SYSTEMS
    ]
    for name in given.only or ("yeast", "shop", "times"):
        for system in [one for one in wanted if one.version is not None]:
            for row in _rows(name, system, given, found.get(name, [])):
                found[name] = _with_row(found.get(name, []), row)
                print(name, {k: v for k, v in row.items() if not isinstance(v, list)}, flush=True)
                given.out.write_text(json.dumps(found, indent=1) + "\n")


def _is_wanted(system: System, parts: list[str] | None) -> bool:
    return not parts or any(part in system.label for part in parts)


def _rows(name: str, system: System, given: argparse.Namespace, rows: list[dict[str, Any]]) -> Any:
    if name != "times":
        known = next((row for row in rows if row["system"] == system.label), None)
        yield played(name, system, given.runs, given.seconds, known)
        return
    if not system.timed:
        return
    for what in ("features", "shop"):
        fails = False
        for n_arms in given.arms:
            row = {"system": system.label, "task": what, "arms": n_arms, "ms": None}
            # A larger size cannot do what a smaller one could not.
            row = {**row, "why": "not tried"} if fails else timed(system, what, n_arms, given.limit)
            fails = row["ms"] is None and row["why"] != "no features of arms"
            yield row


def _with_row(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows, where a new one replaces that of the same measurement."""
    keys = ("system", "task", "arms")
    others = [one for one in rows if any(one.get(key) != row.get(key) for key in keys)]
    return [*others, row]


if __name__ == "__main__":
    main()
