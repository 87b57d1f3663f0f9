"""What features and contexts are worth: real tables, with the true features and with random ones.

    python benchmarks/features.py [--runs 20] [--out features.json]

Every policy is `LinearBelief` with its default settings and the oracle `TopK`. The random features
have the shape of the true ones, and say nothing. The gap closed is 0 for random sets and 100 for
the best fixed set in hindsight. Runs are paired: the rows come in the same order for all policies.
The second part is how often the 90% intervals of arms from the model contain the true mean.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm.beliefs import LearnedBetaBelief, LinearBelief
from superarm.environments import ContextualReplay, ReplayEnvironment, datasets

Make = Callable[[np.random.Generator], tuple[Any, Any]]
_N_RANDOM = 20  # random features, where there are no true ones to replace


def yeast() -> tuple[ReplayEnvironment, int, int, dict[str, Make]]:
    """Which 4 of 14 functions has a gene? The context is the gene's measurements."""
    data = datasets.yeast()
    replay = ReplayEnvironment(data.table, order="shuffled")
    assert data.contexts is not None
    n_context = data.contexts.shape[1]

    def with_contexts(rng: np.random.Generator, *, true: bool) -> tuple[Any, Any]:
        contexts = data.contexts if true else rng.permutation(data.contexts)
        return LinearBelief(14, context=n_context), ContextualReplay(replay.fresh(), contexts)

    makes: dict[str, Make] = {
        "contexts": partial(with_contexts, true=True),
        "random contexts": partial(with_contexts, true=False),
        "no contexts": lambda rng: (LinearBelief(14), replay.fresh()),
        "learned beta": lambda rng: (LearnedBetaBelief(14), replay.fresh()),
    }
    return replay, 4, replay.n_rounds, makes


def by_features(
    replay: ReplayEnvironment, features: Any, k: int, horizon: int
) -> tuple[ReplayEnvironment, int, int, dict[str, Make]]:
    """Features of arms, if there are any, beside random ones and none."""
    m = replay.n_arms

    def random(rng: np.random.Generator) -> tuple[Any, Any]:
        drawn = (
            rng.permutation(features) if features is not None else rng.normal(size=(m, _N_RANDOM))
        )
        return LinearBelief(drawn), replay.fresh()

    makes: dict[str, Make] = {
        "random features": random,
        "no features": lambda rng: (LinearBelief(m), replay.fresh()),
        "learned beta": lambda rng: (LearnedBetaBelief(m), replay.fresh()),
    }
    if features is not None:
        makes = {"features": lambda rng: (LinearBelief(features), replay.fresh()), **makes}
    return replay, k, horizon, makes


def flights(outcome: Any) -> tuple[ReplayEnvironment, int, int, dict[str, Make]]:
    """Which 10 of 175 connections are late, or on time, tomorrow? In the order of the days."""
    data = datasets.flights(outcome)
    replay = ReplayEnvironment(data.table)
    return by_features(replay, data.features, 10, replay.n_rounds)


def ta_feng() -> tuple[ReplayEnvironment, int, int, dict[str, Make]]:
    """Which 10 of 200 products are in a basket? Nothing is known of them."""
    replay = ReplayEnvironment(datasets.ta_feng(200).table, order="shuffled")
    return by_features(replay, None, 10, 2000)


STUDIES = {
    "yeast": yeast,
    "flights, late": partial(flights, "late"),
    "flights, on time": partial(flights, "on time"),
    "ta-feng": ta_feng,
}


def play(
    make: Make, k: int, horizon: int, replay: ReplayEnvironment, seed: int
) -> dict[str, float]:
    """One run: the gap closed in percent, and seconds per round."""
    belief, environment = make(np.random.default_rng([seed, 2]))
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(replay.n_arms), k)
    start = time.perf_counter()
    rngs = (np.random.default_rng([seed, part]) for part in range(2))
    trace = sa.simulate(policy, environment, horizon=horizon, rng=next(rngs), world_rng=next(rngs))
    took = time.perf_counter() - start
    return {"gap": 100 * replay.gap_closed(trace.arms, trace.outcomes), "round_s": took / horizon}


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


def main() -> None:
    """Print a table, and write all runs as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", choices=[*STUDIES, "coverage"])
    parser.add_argument("--out", type=Path, default=Path("features.json"))
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name, study in STUDIES.items():
        if given.only in (None, name):
            replay, k, horizon, makes = study()
            found[name] = {}
            for label, make in makes.items():
                runs = [play(make, k, horizon, replay, seed) for seed in range(given.runs)]
                gaps = [run["gap"] for run in runs]
                round_s = float(np.median([run["round_s"] for run in runs]))
                found[name][label] = {"gaps": gaps, "round_s": round_s}
                error = np.std(gaps) / np.sqrt(len(gaps))
                print(
                    f"{name:18} {label:16} {np.mean(gaps):6.1f} ± {error:.1f}  "
                    f"{1e3 * round_s:.2f} ms per round",
                    flush=True,
                )
                # After each policy, so that a run that is stopped leaves its results.
                given.out.write_text(json.dumps(found, indent=1) + "\n")
    if given.only in (None, "coverage"):
        found["coverage"] = coverage(given.runs)
        for row in found["coverage"]:
            print(row)
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
