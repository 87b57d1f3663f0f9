"""What features and contexts are worth on real tables: true ones, random ones, and neither.

    python benchmarks/features.py [--runs 20] [--out features.json] [--only CASE] [--policy NAME]
    python benchmarks/features.py --table --out docs/features.json

What random ones change is small, and takes more runs to see: `MORE_RUNS`.

All policies but "thompson" have the belief `LinearBelief` with its default settings and the oracle
`TopK`. Random features are those of other arms, and random contexts those of other rounds: they
have the law of the true ones, and say nothing. The gap closed is 0 for random sets and 100 for the
best fixed set in hindsight. Runs are paired: the rows come in the same order for all policies, and
scores of arms have the same normal numbers. Runs that the file has are not played again.

"expected" is the gap closed by the means of the arms over the whole table instead of the outcomes.
It has less noise, and the same expectation for policies that know nothing of a row, if rows come in
random order. "coverage" is how often 90% intervals of arms from the model contain the true mean.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.beliefs import LearnedBetaBelief, LinearBelief
from superarm.environments import ContextualReplay, ReplayEnvironment, datasets
from superarm.reporting.statistics import mean_interval


@dataclass(frozen=True)
class Case:
    """A case study: a table, and what is known of its arms and rounds."""

    data: datasets.Dataset
    k: int
    order: Any = "shuffled"
    horizon: int | None = None

    def policies(self) -> list[str]:
        """Which policies there are, by what they know."""
        known = ["features"] * (self.data.features is not None)
        known += ["contexts"] * (self.data.contexts is not None)
        both = ["both"] * (len(known) == 2)
        return ["thompson", "neither", *known, *(f"random {one}" for one in known), *both]

    def make(self, policy: str, rng: np.random.Generator) -> tuple[Any, Any]:
        """The belief and the environment of one run."""
        replay, m = ReplayEnvironment(self.data.table, order=self.order), self.data.table.shape[1]
        if policy == "thompson":
            return LearnedBetaBelief(m), replay
        features: Any = m
        if policy in ("features", "random features", "both"):
            features = self.data.features
        if policy == "random features":
            features = rng.permutation(features)
        if policy not in ("contexts", "random contexts", "both"):
            return LinearBelief(features), replay
        contexts: Any = self.data.contexts
        if policy == "random contexts":
            contexts = rng.permutation(contexts)
        belief = LinearBelief(features, context=contexts.shape[1])
        return belief, ContextualReplay(replay, contexts)


def ta_feng(horizon: int) -> Case:
    """Which 10 of 200 products are in a basket? By the product's subclass, the customer's age."""
    return Case(datasets.ta_feng(200), 10, horizon=horizon)


def flights(outcome: Any) -> Case:
    """Which 10 of 175 connections? By the route; by the day and its weather. In given order."""
    return Case(datasets.flights(outcome), 10, order="given")


# Which 4 of 14 functions has a gene, by its measurements? Which 8 of 64 pixels are dark, by their
# place, and by the digit?
CASES: dict[str, Callable[[], Case]] = {
    "yeast": lambda: Case(datasets.yeast(), 4),
    "flights, late": partial(flights, "late"),
    "flights, on time": partial(flights, "on time"),
    "digits": lambda: Case(datasets.digits(), 8),
    "ta-feng": partial(ta_feng, 3000),
    # Early rounds differ most between runs. What random ones change needs less noise.
    "ta-feng, long": partial(ta_feng, 10_000),
}
# More runs where runs of a case differ much, so that what random ones change can be seen.
MORE_RUNS: dict[str, dict[str, int]] = {
    "flights, late": {"neither": 400, "random features": 400, "random contexts": 100},
    "ta-feng": {"neither": 100, "random features": 100},
    "ta-feng, long": {"neither": 60, "random features": 60, "random contexts": 40},
}


class SameDraws(np.random.Generator):
    """Normal numbers of each size from a stream of their own.

    A belief draws one number per column, and then one number per arm. So two beliefs that differ in
    their columns draw the same numbers for the arms, and chance adds less to their difference. What
    a belief draws has the same law as always.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64([seed, 0]))
        self._seed = seed
        self._streams: dict[Any, np.random.Generator] = {}

    def standard_normal(self, size: Any = None, **given: Any) -> Any:
        """Like that of numpy."""
        if size not in self._streams:
            self._streams[size] = np.random.default_rng([self._seed, 3, size or 0])
        return self._streams[size].standard_normal(size, **given)


def play(case: Case, policy: str, seed: int) -> dict[str, float]:
    """One run: the gap closed in percent, by outcomes and by means, and seconds per round."""
    belief, environment = case.make(policy, np.random.default_rng([seed, 2]))
    replay = getattr(environment, "replay", environment)
    horizon = case.horizon or replay.n_rounds
    player = sa.Policy(belief, sa.TopK(), sa.LinearReward(replay.n_arms), case.k)
    start = time.process_time()
    world_rng = np.random.default_rng([seed, 1])
    trace = sa.simulate(
        player, environment, horizon=horizon, rng=SameDraws(seed), world_rng=world_rng
    )
    took = time.process_time() - start
    gaps = replay.gap_closed(trace.arms, trace.outcomes)
    expected = replay.gap_closed(trace.arms, replay.means[trace.arms])
    return {
        "gaps": round(100 * gaps, 3),
        "expected": round(100 * expected, 3),
        "round_s": round(took / horizon, 6),
    }


def coverage(n_runs: int) -> list[dict[str, float]]:
    """How often 90% intervals contain the means of synthetic arms, by deviation and rounds."""
    found = []
    for own in (0.0, 0.05, 0.1):
        for n_rounds in (30, 300, 1000):
            hits = [_hits(own, n_rounds, np.random.default_rng(seed)) for seed in range(n_runs)]
            error = float(np.std(hits) / np.sqrt(n_runs))
            row = {"own_std": own, "rounds": n_rounds, "covered": float(np.mean(hits))}
            found.append({**row, "error": error})
    return found


def _hits(own: float, n_rounds: int, rng: np.random.Generator) -> float:
    features = rng.normal(size=(100, 5))
    means = 0.5 + features @ rng.normal(0, 0.04, 5) + own * rng.normal(size=100)
    belief = LinearBelief(features)
    for _ in range(n_rounds):
        arms = rng.choice(100, 20, replace=False)
        belief.update(arms, rng.random(20) < means[arms], rng=rng)
    low, high = belief.posterior(np.arange(100)).interval(0.9)
    return float(((low <= means) & (means <= high)).mean())


def record(found: dict[str, Any], name: str, n_runs: int, only: str | None, out: Path) -> None:
    """Play the runs of a case that are not there yet, and write the file after each."""
    case = CASES[name]()
    rows = found.setdefault(name, {})
    for policy in [one for one in case.policies() if only in (None, one)]:
        row = rows.setdefault(policy, {"gaps": [], "expected": [], "round_s": []})
        n_wanted = max(n_runs, MORE_RUNS.get(name, {}).get(policy, 0))
        for seed in range(len(row["gaps"]), n_wanted):
            for measure, value in play(case, policy, seed).items():
                row[measure].append(value)
            out.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")
        print(f"{name:18} {policy:16} {_line(rows, policy)}", flush=True)


def _line(rows: dict[str, Any], policy: str) -> str:
    row, base = rows[policy], rows.get("neither", {"gaps": []})
    line = f"{mean_interval(row['gaps'])}  {1e3 * np.median(row['round_s']):.2f} ms per round"
    n = min(len(base["gaps"]), len(row["gaps"]))
    for measure in ("gaps", "expected") if n > 1 else ():
        line += f", {measure} {mean_interval(np.subtract(row[measure][:n], base[measure][:n]))}"
    return line


# For the page: what a row is called, and whether rows of the table come in random order.
TITLES = {
    "yeast": "Yeast, 4 of 14 functions of a gene; context: 103 measurements",
    "digits": "Digits, 8 dark pixels of 64; row and column; context: the digit",
    "ta-feng": "Ta-Feng, 10 products of 200; subclass; context: age of the customer",
    "flights, late": "Late flights, 10 of 175 routes; route; context: day and weather",
    "flights, on time": "Flights on time, the same",
}
WITH_RANDOM = {
    "yeast": "Yeast",
    "digits": "Digits",
    "flights, late": "Late flights",
    "ta-feng, long": "Ta-Feng, 10,000 baskets",
    "ta-feng": "Ta-Feng, 3,000 baskets",
}
_IN_ORDER = ("flights, late", "flights, on time")
_RULE = "|---|---:|---:|---:|---:|"
_N_SHOWN = 20  # runs of the means, so that all of them are paired


def markdown(found: dict[str, Any]) -> str:
    """The first table of `docs/features.md`: gaps closed."""
    lines = ["|case: features; context|neither|features|contexts|both|", _RULE]
    for name, title in TITLES.items():
        rows = found.get(name, {})
        means = [_mean(rows.get(one)) for one in ("neither", "features", "contexts", "both")]
        if any(means):
            lines.append("|".join(["", title, *means, ""]))
    return "\n".join(lines) + "\n"


def of_random(found: dict[str, Any]) -> str:
    """The second table: what random features and contexts change."""
    lines = ["|case|random features|runs|random contexts|runs|", _RULE]
    for name, title in WITH_RANDOM.items():
        both = [_change(name, found, f"random {one}") for one in ("features", "contexts")]
        if any(both[0] + both[1]):
            lines.append("|".join(["", title, *both[0], *both[1], ""]))
    return "\n".join(lines) + "\n"


def _mean(row: dict[str, Any] | None) -> str:
    return "" if row is None else f"{np.mean(row['gaps'][:_N_SHOWN]):.1f}"


def _change(case: str, found: dict[str, Any], policy: str) -> tuple[str, str]:
    """Points beyond the policy that knows neither, over paired runs, and how many runs."""
    rows = found.get(case, {})
    if policy not in rows:
        return "", ""
    measure = "gaps" if case in _IN_ORDER else "expected"
    ours, theirs = rows[policy][measure], rows["neither"][measure]
    n = min(len(ours), len(theirs))
    found = mean_interval(np.subtract(ours[:n], theirs[:n]))
    return f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})", str(n)


def main() -> None:
    """Print a line per policy, and write all runs as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", choices=[*CASES, "coverage"])
    parser.add_argument("--policy")
    parser.add_argument("--table", action="store_true", help="print the table of the page only")
    parser.add_argument("--out", type=Path, default=Path("features.json"))
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.table:
        print(markdown(found), of_random(found), sep="\n", end="")
        return
    for name in CASES:
        if given.only in (None, name):
            record(found, name, given.runs, given.policy, given.out)
    if given.only in (None, "coverage") and "coverage" not in found:
        found["coverage"] = coverage(given.runs)
        given.out.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
