"""A round of linear Thompson sampling over many arms against the dense numpy program.

    python benchmarks/linear.py [--arms 1000000] [--columns 50] [--rounds 3000]
        [--contexts none repeated new] [--out docs/linear.json]

Arms have normal features, and 0/1 outcomes whose means are linear in them, with own deviations of
the arms. The policy is `LinearBelief` with default settings and `TopK`, k = 10. Contexts are four
kinds of visitors that come in turn ("repeated"), or four normal numbers per round ("new"), and act
on all features ("bilinear").

At some rounds, the next rounds are timed: `sample_top`; the dense program, which is one product of
all features with the weights of the round, one normal number per arm, and a partition; and only the
product, in float64 and in blocks of float32. Decisions are compared with all scores of the same
draws. Times are processor times. Rows of other sizes stay in the file.
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
from superarm.beliefs._linear_round import LinearRound
from superarm.beliefs._linear_top import Place
from superarm.beliefs._own_noise import OwnNoise
from superarm.core.k_of_m import top_k

OUT = Path(__file__).parents[1] / "docs" / "linear.json"
K, N_CONTEXT = 10, 4
_BLOCK = 4096  # rows of float32 that stay in the processor's cache
_AT = (1, 3, 10, 30, 100, 300, 1000, 3000)
_KEYS = ("arms", "columns", "own_std", "contexts", "round")


def a_context(kind: str, t: int, rng: np.random.Generator) -> np.ndarray | None:
    """The context of a round."""
    if kind == "none":
        return None
    return np.eye(N_CONTEXT)[t % N_CONTEXT] if kind == "repeated" else rng.normal(size=N_CONTEXT)


def dense(now: LinearRound, rng: np.random.Generator) -> np.ndarray:
    """The straightforward program: every arm is scored, with its own number."""
    return np.argpartition(now.uncut(rng=rng), -K)[-K:]


def same_draws(now: LinearRound, place: Place, rng: np.random.Generator) -> np.ndarray:
    """All scores, from the draws that ``sample_top`` makes."""
    belief: Any = now.belief
    model, law = belief._model, belief._law()
    weights = model.draw_weights(law.spread, rng=rng)
    common = law.common_std * rng.standard_normal()
    noise = OwnNoise(belief.n_arms, rng=rng).of(np.arange(belief.n_arms))
    values, std = model.completed(place.features @ place.folded(weights), weights)
    values += std * (law.rise(std) + common + law.own_std * noise)
    return top_k(values, K, rng=rng)


def lazy(now: LinearRound, place: Place, rng: np.random.Generator) -> np.ndarray:
    """``sample_top``, also with so few arms that the belief would score all of them."""
    belief: Any = now.belief
    return belief._top.draw(belief._model, place, K, belief._law(), rng=rng)[0]


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


def measure(
    n_arms: int, n_columns: int, n_rounds: int, own: float, contexts: str
) -> list[dict[str, Any]]:
    """One run; a row of numbers at some of its rounds."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_arms, n_columns))
    narrow, own_part = features.astype(np.float32), own * rng.standard_normal(n_arms)
    kinds = rng.normal(0, 0.08 / np.sqrt(n_columns), (N_CONTEXT, n_columns))
    belief, rows = LinearBelief(features, context=None if contexts == "none" else N_CONTEXT), []
    spent, since = 0.0, 0
    for t in range(1, n_rounds + 1):
        context = a_context(contexts, t, rng)
        now = LinearRound(belief, context)
        start = time.process_time()
        arms = lazy(now, _place(now), rng)
        took = time.process_time() - start
        weights = kinds[0] if context is None else context @ kinds
        means = np.clip(0.3 + features[arms] @ weights + own_part[arms], 0, 1)
        start = time.process_time()
        now.update(arms, rng.random(K) < means, rng=rng)
        spent, since = spent + took + time.process_time() - start, since + 1
        if t in _AT or t == n_rounds:
            found = {"arms": n_arms, "columns": n_columns, "own_std": own, "contexts": contexts}
            row = at_round(belief, narrow, contexts, rng)
            mean_ms = 1e3 * spent / since  # ask and tell since the last row, refits included
            rows.append({**found, "round": t, **row, "round_ms": mean_ms})
            print(rows[-1], flush=True)
            spent, since = 0.0, 0
    return rows


def at_round(
    belief: LinearBelief, narrow: np.ndarray, contexts: str, rng: np.random.Generator
) -> dict[str, float]:
    """Times, the share of arms that are scored, and decisions that differ, at one moment."""
    n_different, scored, model = 0, [], belief._model
    rounds = [LinearRound(belief, a_context(contexts, t, rng)) for t in range(12)]
    places = [_place(now) for now in rounds]
    for seed, (now, place) in enumerate(zip(rounds, places, strict=True)):
        arms = lazy(now, place, np.random.default_rng(seed))
        scored.append(belief._top.n_scored / belief.n_arms)
        n_different += not np.array_equal(arms, same_draws(now, place, np.random.default_rng(seed)))
    turns = iter(range(10**6))
    lazy_s = seconds(lambda: lazy(rounds[(i := next(turns) % 12)], places[i], rng), 16)
    dense_s = seconds(lambda: dense(rounds[0], rng), 5)
    weights = places[0].folded(model.factor()[1])
    product_s = seconds(lambda: places[0].features @ weights, 5)
    return {
        "scored": float(np.mean(scored)),
        "different": n_different,
        "lazy_ms": 1e3 * lazy_s,
        "dense_ms": 1e3 * dense_s,
        "product_ms": 1e3 * product_s,
        "float32_ms": 1e3 * seconds(lambda: blocked(narrow, weights[1:]), 5),
        "ratio": lazy_s / dense_s,
    }


def _place(now: LinearRound) -> Place:
    place = now._place()
    assert place is not None
    return place


def main() -> None:
    """Print and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--own", type=float, nargs="+", default=[0.0, 0.03])
    parser.add_argument("--contexts", nargs="+", default=["none", "repeated", "new"])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    sizes = [
        (n_arms, n_columns, given.rounds, own, contexts)
        for n_arms in given.arms
        for n_columns in given.columns
        for own in given.own
        for contexts in given.contexts
    ]
    for size in sizes:
        rows = json.loads(given.out.read_text()) if given.out.exists() else []
        new = measure(*size)
        done = {tuple(row[key] for key in _KEYS) for row in new}
        rows = [row for row in rows if tuple(row.get(key) for key in _KEYS) not in done] + new
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
