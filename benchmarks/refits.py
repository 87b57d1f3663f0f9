"""What it costs to learn the prior: the share of refits in the time of all rounds.

    python benchmarks/refits.py [--rounds 3000] [--runs 3] [--out docs/refits.json]

`superarm.thompson` with its default settings picks 10 of m arms with means from Beta(2, 38). Times
are processor times of `ask` and `tell`, without those of the environment.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa

K = 10
SIZES = (10**3, 10**4, 10**5, 10**6)


def refits(n_arms: int, n_rounds: int, seed: int) -> dict[str, float]:
    """One run: seconds of all rounds and of the refits in them, and how many refits there were."""
    world, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    mu = world.beta(2, 38, n_arms)
    policy = sa.thompson(sa.LinearReward(n_arms), K)
    belief: Any = policy.belief
    fit, fits = belief._fit, []

    def timed() -> None:
        start = time.process_time()
        fit()
        fits.append(time.process_time() - start)

    belief._fit = timed
    spent = 0.0
    for _ in range(n_rounds):
        start = time.process_time()
        arms = policy.ask(rng=rng)
        spent += time.process_time() - start
        outcomes = (world.random(K) < mu[arms]).astype(np.float64)
        start = time.process_time()
        policy.tell(arms, outcomes, rng=rng)
        spent += time.process_time() - start
    return {"rounds_s": spent, "refits_s": sum(fits), "n_refits": len(fits)}


def main() -> None:
    """Print a table, and write it as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=Path("docs/refits.json"))
    given = parser.parse_args()
    rows = []
    for n_arms in given.sizes:
        runs = [refits(n_arms, given.rounds, seed) for seed in range(given.runs)]
        share = float(np.median([run["refits_s"] / run["rounds_s"] for run in runs]))
        each = float(np.median([run["rounds_s"] for run in runs])) / given.rounds
        row = {
            "n_arms": n_arms,
            "rounds": given.rounds,
            "n_refits": runs[0]["n_refits"],
            "share": share,
            "round_s": each,
        }
        rows.append(row)
        print(f"{n_arms:9,} arms: {share:.1%} of {1e3 * each:.2f} ms per round", flush=True)
    given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
