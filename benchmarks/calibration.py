"""How right the posteriors of `LinearBelief` and `LogisticBelief` are, and whether they stay so.

    python benchmarks/calibration.py [--runs 24] [--updates 1000000] [--out docs/calibration.json]

- coverage: how often 90% intervals contain the means of 100 synthetic arms with 5 features. Every
  round has outcomes of 20 random arms. The features explain a part of the means, and the arms' own
  deviations the rest. All settings are the defaults, and the variances are learned. The means of
  `LinearBelief` are linear in the features, and their log-odds are for `LogisticBelief`.
- stability: many updates of one arm each of the models of `LinearBelief`, without ever computing
  anything anew, against a solve from the sums of all outcomes. The largest difference, relative to
  the largest number.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.beliefs._disjoint import DisjointModel
from superarm.beliefs._mixed import MixedModel

OUT = Path(__file__).parents[1] / "docs" / "calibration.json"
N_ARMS, N_FEATURES, K = 100, 5, 20
EARLY, LATE = 30, 300
_UPDATED, _COLUMNS = 50, 12  # arms and columns of the models of the second part


def linear_means(own: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Features and means, which are 0.5 on average."""
    features = rng.normal(size=(N_ARMS, N_FEATURES))
    means = 0.5 + features @ rng.normal(0, 0.04, N_FEATURES) + own * rng.normal(size=N_ARMS)
    return features, np.clip(means, 0, 1)


def logistic_means(base: float, own: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Features and means, whose log-odds are ``base`` on average."""
    features = rng.normal(size=(N_ARMS, N_FEATURES))
    odds = base + features @ rng.normal(0, 0.25, N_FEATURES) + own * rng.normal(size=N_ARMS)
    return features, expit(odds)


def covered(make: Any, arms: tuple[Any, Any], rng: np.random.Generator) -> list[float]:
    """The share of arms whose interval contains their mean, early and late in one run."""
    features, means = arms
    belief, found = make(features), []
    for t in range(1, LATE + 1):
        some = rng.choice(N_ARMS, K, replace=False)
        belief.update(some, rng.random(K) < means[some], rng=rng)
        if t in (EARLY, LATE):
            low, high = belief.posterior(np.arange(N_ARMS)).interval(0.9)
            found.append(float(((low <= means) & (means <= high)).mean()))
    return found


def coverage(n_runs: int) -> list[dict[str, Any]]:
    """One row per problem, with all runs."""
    problems: list[tuple[str, Any, Callable[..., Any], dict[str, float]]] = [
        ("LinearBelief", LinearBelief, linear_means, {"own": own}) for own in (0.0, 0.05, 0.1)
    ]
    problems += [
        ("LogisticBelief", LogisticBelief, logistic_means, {"base": base, "own": own})
        for base in (-3.5, -1.0)
        for own in (0.0, 0.5, 1.0)
    ]
    rows = []
    for name, make, means, settings in problems:
        rngs = [np.random.default_rng(seed) for seed in range(n_runs)]
        runs = np.array([covered(make, means(**settings, rng=rng), rng) for rng in rngs])
        shares = {"early": runs[:, 0].tolist(), "late": runs[:, 1].tolist()}
        rows.append({"belief": name, **settings, **shares})
        print(name, settings, runs.mean(axis=0), flush=True)
    return rows


def stability(n_updates: int) -> dict[str, float]:
    """The largest relative difference of each model after many updates of rank one."""
    rng = np.random.default_rng(0)
    mixed = MixedModel(None, _UPDATED, np.zeros(_COLUMNS - 1, np.intp))
    disjoint = DisjointModel(_UPDATED, _COLUMNS)
    for _ in range(n_updates // 1000):
        rows = rng.normal(size=(1000, 1, _COLUMNS))
        rows[:, 0, 0] = 1.0
        arms, outcomes = rng.integers(_UPDATED, size=(1000, 1)), rng.random((1000, 1)) - 0.5
        for arm, row, outcome in zip(arms, rows, outcomes, strict=True):
            mixed.add(arm, row, outcome)
            disjoint.add(arm, row, outcome)
    before = mixed.precision.copy(), disjoint.covariances.copy()
    mixed.rebuild()
    disjoint.rebuild()
    after = mixed.precision, disjoint.covariances
    names = ("weights in common", "one model per arm")
    found = {
        name: float(np.abs(old - new).max() / np.abs(new).max())
        for name, old, new in zip(names, before, after, strict=True)
    }
    print(found, flush=True)
    return {"updates": n_updates, **found}


def main() -> None:
    """Print and write everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--updates", type=int, default=10**6)
    parser.add_argument("--only", choices=("coverage", "stability"))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.only != "stability":
        found["coverage"] = coverage(given.runs)
    if given.only != "coverage":
        found["stability"] = stability(given.updates)
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
