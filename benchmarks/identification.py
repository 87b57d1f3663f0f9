"""Are we done? How often verdicts are wrong, and how many outcomes they need.

    python benchmarks/identification.py [--runs N] [--rivals N] [--only PROBLEM ...] [--out FOLDER]

On ten problems: runs of the top-two rule and of equal pulls, both stopped by the rule of
`Session.verdict` at an error of 5%, which is asked after every round; the papers' CLUCB, LUCB and
KL-LUCB with their own rules to stop; the same pulls stopped by the verdict; the floor that no rule
can go below; and the habit of looking at 95% intervals after every round. An eleventh problem is
close to a tie and ends after 2,000 rounds. It takes about 15 minutes.

``--runs`` are those per problem of the top-two rule and of the habit, and a fifth of them those of
equal pulls. ``--rivals`` are those of the papers' rules, ``--sessions`` those of sessions with
`top_two`, and ``--budgets`` those of a given number of rounds. With ``--out`` the numbers go into
FOLDER/identification.json, in place of earlier ones of the same problems. ``docs/done_page.py``
makes the page and the picture.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import identification_batch as batch
import superarm as sa
from superarm.policies import successive_accepts, top_two
from superarm.theory import identification_floor

DELTA = 0.05
Array = np.ndarray


def coins(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes of 0 and 1."""
    return (rng.random(means.shape) < means).astype(float)


def beta(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes with an eleventh of the variance of a coin."""
    return rng.beta(10 * means, 10 * (1 - means))


def even(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes between 0 and twice the mean, which is at most a half."""
    return 2 * means * rng.random(means.shape)


@dataclass(frozen=True)
class Problem:
    """Means of arms, how many are looked for, and the law of the outcomes."""

    mu: tuple[float, ...]
    k: int
    outcomes: Any = coins
    most: int = 10**9  # rounds; only a problem close to a tie has a limit


def _means(*parts: tuple[float, int]) -> tuple[float, ...]:
    return tuple(mean for mean, times in parts for _ in range(times))


PROBLEMS = {
    "one of ten": Problem(_means((0.6, 1), (0.4, 9)), 1),
    "two of ten": Problem(_means((0.5, 2), (0.3, 8)), 2),
    "steps": Problem(tuple(np.linspace(0.95, 0.05, 7)), 3),
    "five of twenty": Problem(_means((0.3, 5), (0.1, 15)), 5),
    "low rates": Problem(_means((0.2, 2), (0.06, 6)), 2),
    "high rates": Problem((0.97, 0.96, 0.95, 0.85, 0.8, 0.7, 0.6, 0.5), 3),
    "close": Problem((0.6, 0.55, 0.43, 0.42, 0.41, 0.4), 2),
    "half": Problem(_means((0.65, 5), (0.45, 5)), 5),
    "measured, steps": Problem(tuple(np.linspace(0.95, 0.05, 7)), 3, beta),
    "measured, even": Problem((0.5, 0.45, 0.3, 0.25, 0.2, 0.2, 0.1, 0.1), 2, even),
    "near tie": Problem((0.5, 0.49), 1, most=2000),
}

# The problems that are also played with a given number of rounds.
BUDGETS = ("two of ten", "five of twenty", "high rates")


def rules(problem: Problem, n_runs: int, n_rivals: int) -> dict[str, tuple[int, dict[str, Any]]]:
    """How each rule is played: its runs and the arguments of `identification_batch.play`."""
    verdict, lucb = partial(batch.verdict, delta=DELTA), partial(batch.lucb, kl=False)
    found: dict[str, tuple[int, dict[str, Any]]] = {
        "top-two, verdict": (n_runs, {"both": batch.top_two}),
        "equal pulls, verdict": (math.ceil(n_runs / 5), {"pull": batch.uniform, "stop": verdict}),
        "equal pulls, habit": (n_runs, {"pull": batch.uniform, "stop": batch.habit}),
    }
    if problem.most == Problem.most:
        found |= {
            "CLUCB": (n_rivals, {"both": batch.clucb}),
            "LUCB": (n_rivals, {"both": lucb}),
            "KL-LUCB": (n_rivals, {"both": batch.lucb}),
            "KL-LUCB, verdict": (n_rivals, {"both": batch.lucb, "stop": verdict}),
        }
    return found


def rows_of(name: str, n_runs: int, n_rivals: int) -> list[dict[str, Any]]:
    """One row per rule."""
    problem, found = PROBLEMS[name], []
    mu = np.array(problem.mu)
    for number, (rule, (n, how)) in enumerate(rules(problem, n_runs, n_rivals).items()):
        rng = np.random.default_rng([list(PROBLEMS).index(name), number])
        start = time.process_time()
        samples, stopped, wrong = batch.play(
            mu, problem.k, n, rng, outcomes=problem.outcomes, most=problem.most, **how
        )
        found.append({"problem": name, "rule": rule, "runs": n, **summary(samples, stopped, wrong)})
        print(found[-1], f"{time.process_time() - start:.1f} s", flush=True)
    return found


def summary(samples: Array, stopped: Array, wrong: Array) -> dict[str, Any]:
    """Numbers of runs that stopped, that named wrong arms, and the outcomes of a run."""
    error = samples.std() / math.sqrt(len(samples))
    return {
        "stopped": int(stopped.sum()),
        "wrong": int((wrong & stopped).sum()),
        "samples": round(float(samples.mean()), 1),
        "error": round(float(error), 1),
        "most": float(samples.max()),
    }


def floors(name: str) -> dict[str, Any]:
    """What no rule can go below, for coins; pulled one at a time, and in sets."""
    problem = PROBLEMS[name]
    by_arm, by_set = (
        identification_floor(problem.mu, problem.k, DELTA, in_sets=in_sets)
        for in_sets in (False, True)
    )
    about = {"k": problem.k, "arms": len(problem.mu), "outcomes": problem.outcomes.__name__}
    return {**about, "floor": round(by_arm, 1), "floor_in_sets": round(by_set, 1)}


def sessions(name: str, n_runs: int) -> dict[str, Any]:
    """The same by a `Session` with `top_two`, for a few runs: no twin, and a learned prior."""
    problem, mu, samples, wrong = PROBLEMS[name], np.array(PROBLEMS[name].mu), [], 0
    for seed in range(n_runs):
        rng = np.random.default_rng([seed, 99])
        session = sa.Session(top_two(sa.LinearReward(len(mu)), problem.k), seed=seed)
        while True:
            decision = session.ask()
            drawn = problem.outcomes(mu[list(decision.arms)], rng).tolist()
            session.tell(decision, dict(zip(decision.arms, drawn, strict=True)))
            outcomes = session.policy.belief.outcomes
            # The verdict itself also draws from the posterior: only the last one is needed here.
            if batch.verdict(outcomes.counts[None], outcomes.sums[None], None, problem.k)[0]:
                break
        assert session.verdict(DELTA).done
        samples.append(outcomes.counts.sum())
        wrong += bool((mu[list(session.verdict(DELTA).arms)] < np.sort(mu)[-problem.k]).any())
    done = np.ones(n_runs, bool)
    found = summary(np.array(samples), done, done * (np.arange(n_runs) < wrong))
    row = {"problem": name, "rule": "top-two, verdict, sessions", "runs": n_runs, **found}
    print(row, flush=True)
    return row


def budgets(name: str, n_runs: int) -> list[dict[str, Any]]:
    """How often the k arms are wrong after a given number of rounds."""
    problem, mu = PROBLEMS[name], np.array(PROBLEMS[name].mu)
    floor, found = identification_floor(mu, problem.k, DELTA), []
    for times in (0.5, 1.0, 2.0):
        horizon = math.ceil(times * floor / problem.k)
        never = lambda n, s, q, k: np.zeros(len(n), bool)  # noqa: E731
        row = {"problem": name, "runs": n_runs, "samples": horizon * problem.k}
        for rule, how in (("top-two", "both"), ("equal pulls", "pull")):
            pull = batch.top_two if how == "both" else batch.uniform
            settings = {"outcomes": problem.outcomes, "most": horizon, "stop": never, how: pull}
            rng = np.random.default_rng([7, horizon])
            wrong = batch.play(mu, problem.k, n_runs, rng, **settings)[2]
            row[rule] = round(float(wrong.mean()), 4)
        row["accepts and rejects"] = round(_accepted(problem, horizon, n_runs), 4)
        found.append(row)
        print(row, flush=True)
    return found


def _accepted(problem: Problem, horizon: int, n_runs: int) -> float:
    """How often `successive_accepts` is wrong after its horizon."""
    mu, n_wrong = np.array(problem.mu), 0
    for seed in range(n_runs):
        rng = np.random.default_rng([8, horizon, seed])
        policy = successive_accepts(sa.LinearReward(len(mu)), problem.k, horizon=horizon)
        for _ in range(horizon):
            arms = policy.ask(rng=rng)
            policy.tell(arms, problem.outcomes(mu[arms], rng), rng=rng)
        n_wrong += bool((mu[policy.ask(rng=rng)] < np.sort(mu)[-problem.k]).any())
    return n_wrong / n_runs


def keep(new: dict[str, Any], folder: Path) -> None:
    """Put what is new into the file, in the order of the problems."""
    path = folder / "identification.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["delta"] = DELTA
    found["problems"] = {**found.get("problems", {}), **new["problems"]}
    for part in ("rows", "budgets"):
        old = [row for row in found.get(part, []) if row["problem"] not in new["problems"]]
        rows = [*old, *new[part]]
        found[part] = sorted(rows, key=lambda row: list(PROBLEMS).index(row["problem"]))
    path.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rivals", type=int, default=40)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--budgets", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    for name in options.only:
        rows = rows_of(name, options.runs, options.rivals)
        by_budget = []
        if PROBLEMS[name].most == Problem.most:
            rows.append(sessions(name, options.sessions))
        if name in BUDGETS:
            by_budget = budgets(name, options.budgets)
        new = {"problems": {name: floors(name)}, "rows": rows, "budgets": by_budget}
        if options.out:
            keep(new, options.out)


if __name__ == "__main__":
    main()
