"""A round of linear Thompson sampling over many arms against the dense numpy program.

    python benchmarks/linear.py [--arms 1000000] [--columns 50] [--rounds 3000] [--out linear.json]

Arms have normal features, and 0/1 outcomes whose means are linear in them, with own deviations of
the arms. The policy is `LinearBelief` with default settings and `TopK`, k = 10. At some rounds,
the next rounds are timed: `sample_top`; the dense program, which is one product of all features
with a drawn w, one normal number per arm, and a partition; and only the product, in float64 and in
blocks of float32. The last is the floor where bounds do not help, as for a new context in every
round. Decisions are compared with all scores of the same draws. Times are processor times.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.beliefs import LinearBelief
from superarm.beliefs._own_noise import OwnNoise
from superarm.core.k_of_m import top_k

K = 10
_BLOCK = 4096  # rows of float32 that stay in the processor's cache
_AT = (1, 3, 10, 30, 100, 300, 1000, 3000)


def dense(belief: LinearBelief, rng: np.random.Generator) -> np.ndarray:
    """The straightforward program: every arm is scored, with its own number."""
    model = belief._model
    weights = model.draw_weights(belief.spread, rng=rng)
    values, std = model.given(model.rows, weights)
    values += std * belief._scores(std, rng=rng)
    return np.argpartition(values, -K)[-K:]


def same_draws(belief: LinearBelief, rng: np.random.Generator) -> np.ndarray:
    """All scores, from the draws that ``sample_top`` makes."""
    model, law = belief._model, belief._law()
    weights = model.draw_weights(law.spread, rng=rng)
    common = law.common_std * rng.standard_normal()
    noise = OwnNoise(belief.n_arms, rng=rng).of(np.arange(belief.n_arms))
    values, std = model.given(model.rows, weights)
    values += std * (law.rise(std) + common + law.own_std * noise)
    return top_k(values, K, rng=rng)


def blocked(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A product in float32, in blocks."""
    narrow, values = weights.astype(np.float32), np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK):
        np.matmul(rows[start : start + _BLOCK], narrow, out=values[start : start + _BLOCK])
    return values


def seconds(program: Callable[[], Any], n: int) -> float:
    """Median processor time of n calls."""
    took = []
    for _ in range(n):
        start = time.process_time()
        program()
        took.append(time.process_time() - start)
    return float(np.median(took))


def measure(n_arms: int, n_columns: int, n_rounds: int, own: float) -> list[dict[str, float]]:
    """One run; a row of numbers at some of its rounds."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_arms, n_columns))
    means = 0.3 + features @ rng.normal(0, 0.08 / np.sqrt(n_columns), n_columns)
    means = np.clip(means + own * rng.standard_normal(n_arms), 0, 1)
    belief, rows = LinearBelief(features), []
    narrow = features.astype(np.float32)
    best, spent, since = np.sort(means)[-K:].sum(), 0.0, 0
    for t in range(1, n_rounds + 1):
        start = time.process_time()
        arms, _ = belief.sample_top(K, rng=rng)
        belief.update(arms, rng.random(K) < means[arms], rng=rng)
        spent, since = spent + time.process_time() - start, since + 1
        if t in _AT or t == n_rounds:
            row = at_round(belief, narrow, rng)
            found = {"arms": n_arms, "columns": n_columns, "own_std": own, "round": t}
            mean_ms = 1e3 * spent / since  # ask and tell since the last row, refits included
            value = float(means[arms].sum() / best)
            rows.append({**found, **row, "round_ms": mean_ms, "of_best": value})
            print({key: round(number, 4) for key, number in rows[-1].items()}, flush=True)
            spent, since = 0.0, 0
    return rows


def at_round(
    belief: LinearBelief, narrow: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """Times, the share of arms that are scored, and decisions that differ, at one moment."""
    n_different, scored = 0, []
    for seed in range(10):
        arms = belief.sample_top(K, rng=np.random.default_rng(seed))[0]
        scored.append(belief._top.n_scored / belief.n_arms)
        n_different += not np.array_equal(arms, same_draws(belief, np.random.default_rng(seed)))
    model = belief._model
    weights = model.draw_weights(belief.spread, rng=rng)
    lazy_s = seconds(lambda: belief.sample_top(K, rng=rng), 15)
    dense_s = seconds(lambda: dense(belief, rng), 5)
    product_s = seconds(lambda: model.rows @ weights, 5)
    return {
        "scored": float(np.mean(scored)),
        "different": n_different,
        "lazy_ms": 1e3 * lazy_s,
        "dense_ms": 1e3 * dense_s,
        "product_ms": 1e3 * product_s,
        "float32_ms": 1e3 * seconds(lambda: blocked(narrow, weights[1:]), 5),
        "ratio": lazy_s / dense_s,
    }


def main() -> None:
    """Print and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--own", type=float, nargs="+", default=[0.0, 0.03])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=Path("linear.json"))
    given = parser.parse_args()
    rows = [
        row
        for n_arms in given.arms
        for n_columns in given.columns
        for own in given.own
        for row in measure(n_arms, n_columns, given.rounds, own)
    ]
    given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
