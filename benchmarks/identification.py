"""Are we done? How often verdicts are wrong, and how many outcomes they need.

    python benchmarks/identification.py [--workers N] [--out FOLDER] [--only PROBLEM ...]

On ten problems: runs of the top-two rule, in sets of k and one arm at a time, and of equal pulls,
stopped by the rule of `Session.verdict` at an error of 5%, which is asked after every round; the
papers' CLUCB, LUCB and KL-LUCB with their own rules to stop; their pulls, one arm or two at a time
and in sets of k, stopped by the verdict; the floor that no rule can go below; and the habit of
looking at 95% intervals after every round. One more problem has places in its sets that tell
little. Two are close to a tie and end after 2,000 rounds. Some problems are also played with a
given number of rounds, by sessions, and with the statement of an A/B test
(``identification_statements.py``). With 15 workers it takes about 5 minutes.

``--runs`` are those per problem of rules without bounds, ``--rivals`` those of the papers' rules,
``--sessions`` those of sessions with `top_two`, ``--budgets`` those with a given number of rounds,
``--statements`` the sessions per kind of problem of the A/B test. With ``--out`` every finished
part goes into FOLDER/identification.partial.json. A program that was stopped goes on from there.
When all is done, the numbers are in FOLDER/identification.json. ``docs/done_page.py`` makes the
page and the picture.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

# One thread per process: before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import identification_batch as batch
import identification_statements as statements
import superarm as sa
from identification_problems import BUDGETS, DELTA, PROBLEMS, TIMES, Problem, budget_rules, rules
from superarm.policies import successive_accepts, top_two
from superarm.theory import identification_floor

Array = np.ndarray
Cell = tuple[Any, ...]  # the kind, what it is about, the number of the chunk, the number of runs
SESSIONS, ACCEPTS = "top-two, verdict, sessions", "accepts and rejects"
CHUNK = {"play": 500, "session": 4, "budget": 500, "accept": 100, "statement": 50}


def rng_of(cell: Cell) -> np.random.Generator:
    """The generator of a cell: the same for every number of workers."""
    return np.random.default_rng(list(json.dumps(cell).encode()))


def play(problem: Problem, n: int, rng: np.random.Generator, how: dict[str, Any]) -> Any:
    """Samples, whether runs have stopped, and whether their arms are wrong."""
    settings = {"most": problem.most, "outcomes": problem.outcomes, **how}
    return batch.play(np.array(problem.mu), problem.k, n, rng, **settings)


def play_cell(name: str, rule: str, cell: Cell) -> dict[str, float]:
    """Some runs of a rule."""
    return summary(*play(PROBLEMS[name], cell[-1], rng_of(cell), rules(name)[rule]))


def session_cell(name: str, rule: str, cell: Cell) -> dict[str, float]:
    """Some runs by a `Session` with `top_two`: no twin, and a learned prior."""
    problem, mu, samples, wrong = PROBLEMS[name], np.array(PROBLEMS[name].mu), [], []
    rng = rng_of(cell)
    for _ in range(cell[-1]):
        policy = top_two(sa.LinearReward(len(mu)), problem.k)
        session = sa.Session(policy, seed=int(rng.integers(2**32)))
        seen = batch.Runs(*np.zeros((2, 1, len(mu))))
        # A session's own verdict also draws from the posterior: only the last one is needed here.
        while not batch.verdict(seen, problem.k, DELTA)[0]:
            decision = session.ask()
            arms = np.array(decision.arms)
            drawn = problem.outcomes(mu[arms], rng)
            session.tell(decision, dict(zip(decision.arms, drawn.tolist(), strict=True)))
            seen.add(arms[None], drawn[None])
        found = session.verdict(DELTA)
        assert found.done
        samples.append(seen.counts.sum())
        wrong.append((mu[list(found.arms)] < np.sort(mu)[-problem.k]).any())
    return summary(np.array(samples), np.ones(len(samples), bool), np.array(wrong))


def horizon_of(name: str, times: float) -> int:
    """The rounds of a budget that is a multiple of the floor."""
    floor = identification_floor(PROBLEMS[name].mu, PROBLEMS[name].k, DELTA)
    return math.ceil(times * floor / PROBLEMS[name].k)


def budget_cell(name: str, times: float, rule: str, cell: Cell) -> dict[str, float]:
    """How often the k arms are wrong after a given number of rounds."""
    problem, horizon = PROBLEMS[name], horizon_of(name, times)
    how = {"pull": budget_rules(name)[rule], "stop": _never, "most": horizon}
    return summary(*play(problem, cell[-1], rng_of(cell), how), of_stopped=False)


def _never(runs: batch.Runs, k: int) -> Array:
    return np.zeros(len(runs.counts), bool)


def accept_cell(name: str, times: float, rule: str, cell: Cell) -> dict[str, float]:
    """The same for `successive_accepts`, by the policy itself."""
    problem, horizon, rng, wrong = PROBLEMS[name], horizon_of(name, times), rng_of(cell), []
    mu = np.array(problem.mu)
    for _ in range(cell[-1]):
        policy = successive_accepts(sa.LinearReward(len(mu)), problem.k, horizon=horizon)
        for _ in range(horizon):
            arms = policy.ask(rng=rng)
            policy.tell(arms, problem.outcomes(mu[arms], rng), rng=rng)
        wrong.append((mu[policy.ask(rng=rng)] < np.sort(mu)[-problem.k]).any())
    samples = np.full(len(wrong), float(horizon * problem.k))
    return summary(samples, np.zeros(len(wrong), bool), np.array(wrong), of_stopped=False)


def summary(
    samples: Array, stopped: Array, wrong: Array, *, of_stopped: bool = True
) -> dict[str, float]:
    """Numbers of runs, of runs that stopped and that named wrong arms, and sums of outcomes."""
    return {
        "runs": len(samples),
        "stopped": int(stopped.sum()),
        "wrong": int((wrong & stopped).sum() if of_stopped else wrong.sum()),
        "samples": float(samples.sum()),
        "squares": float((samples**2).sum()),
        "most": float(samples.max()),
    }


def together(parts: list[dict[str, float]]) -> dict[str, Any]:
    """One row of several summaries: the mean number of outcomes, and its standard error."""
    n, stopped, wrong, samples, squares = (
        sum(part[of] for part in parts) for of in ("runs", "stopped", "wrong", "samples", "squares")
    )
    mean = samples / n
    error = math.sqrt(max(squares / n - mean**2, 0.0) / n)
    row = {"runs": n, "stopped": stopped, "wrong": wrong, "samples": round(mean, 1)}
    return {**row, "error": round(error, 1), "most": max(part["most"] for part in parts)}


KINDS: dict[str, Any] = {
    "play": play_cell,
    "session": session_cell,
    "budget": budget_cell,
    "accept": accept_cell,
    "statement": statements.cell,
}


def run(cell: Cell) -> tuple[Cell, dict[str, Any], float]:
    """A cell, what it found, and the processor seconds."""
    start = time.process_time()
    kind, *about = cell[:-2]
    return cell, KINDS[kind](*about, cell), time.process_time() - start


def cells_of(options: argparse.Namespace) -> list[Cell]:
    """All cells, the longest first."""
    found: list[Cell] = []

    def add(n: int, kind: str, *about: Any) -> None:
        for chunk, start in enumerate(range(0, n, CHUNK[kind])):
            found.append((kind, *about, chunk, min(CHUNK[kind], n - start)))

    for name in options.only:
        of = rules(name)
        for rule in sorted(of, key=lambda rule: "LUCB" not in rule or "verdict" in rule):
            add(options.rivals if "LUCB" in rule else options.runs, "play", name, rule)
        if not PROBLEMS[name].is_tie:
            add(options.sessions, "session", name, SESSIONS)
    found.sort(key=lambda cell: (cell[0] != "session", "LUCB" not in cell[2]))
    for name, times in ((name, times) for name in BUDGETS for times in TIMES):
        if name in options.only:
            add(options.budgets, "accept", name, times, ACCEPTS)
            for rule in budget_rules(name):
                add(options.budgets, "budget", name, times, rule)
    for kind in statements.KINDS:
        add(options.statements, "statement", kind)
    return found


def results(cells: list[Cell], done: dict[str, Any]) -> dict[str, Any]:
    """What docs/done_page.py reads: one row per problem and rule."""
    groups: dict[Cell, list[Any]] = {}
    for cell in cells:
        groups.setdefault(cell[:-2], []).append(done[json.dumps(cell)])
    rows, budgets, said = [], [], []
    for (kind, *about), parts in groups.items():
        if kind == "statement":
            said.append(statements.row(about[0], parts))
        elif kind in ("budget", "accept"):
            name, times, rule = about
            budgets.append({"problem": name, "times": times, "rule": rule, **together(parts)})
        else:
            rows.append({"problem": about[0], "rule": about[1], **together(parts)})
    names = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    rows.sort(key=lambda row: names.index(row["problem"]))
    problems = {name: about_problem(name) for name in names}
    return {
        "delta": DELTA,
        "problems": problems,
        "rows": rows,
        "budgets": budgets,
        "statements": said,
    }


def about_problem(name: str) -> dict[str, Any]:
    """Sizes, and what no rule can go below, for coins; pulled one at a time, and in sets."""
    problem = PROBLEMS[name]
    by_arm, by_set = (
        identification_floor(problem.mu, problem.k, DELTA, in_sets=in_sets)
        for in_sets in (False, True)
    )
    about = {"k": problem.k, "arms": len(problem.mu), "outcomes": problem.outcomes.__name__}
    return {**about, "floor": round(by_arm, 1), "floor_in_sets": round(by_set, 1)}


def write(path: Path, found: Any) -> None:
    """Write a file as a whole, or not at all."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(found, indent=1) + "\n")
    beside.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, n in (
        ("runs", 2000),
        ("rivals", 500),
        ("sessions", 20),
        ("budgets", 1000),
        ("statements", 1000),
    ):
        parser.add_argument(f"--{name}", type=int, default=n)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells, start = cells_of(options), time.perf_counter()
    partial = options.out / "identification.partial.json" if options.out else None
    done = json.loads(partial.read_text()) if partial and partial.exists() else {}
    left = [cell for cell in cells if json.dumps(cell) not in done]
    print(f"{len(left)} of {len(cells)} parts to do", flush=True)
    with ProcessPoolExecutor(options.workers) as pool:
        for n, future in enumerate(as_completed([pool.submit(run, cell) for cell in left]), 1):
            cell, found, seconds = future.result()
            done[json.dumps(cell)] = found
            if partial:
                write(partial, done)
            passed = time.perf_counter() - start
            print(f"{passed:5.0f} s  {n}/{len(left)}  {seconds:5.1f} s  {cell}", flush=True)
    found = results(cells, done)
    if options.out and partial:
        write(options.out / "identification.json", found)
        partial.unlink(missing_ok=True)
    else:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
