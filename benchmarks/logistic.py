"""What `LogisticBelief` learns from features and contexts, and how right its posterior is.

    python benchmarks/logistic.py [--runs 10] [--out logistic.json] [--only shop ta-feng ...]

- shop: 5 of 200 products for visitors of 4 kinds, at rates of about 1%. What is reached of the
  value of the best sets for each visitor.
- ta-feng: 10 of 200 products of a supermarket, 2,000 baskets. The features are the products' 30
  most frequent subclasses, the context is the customer's group of age. The gap closed is 0 for
  random sets and 100 for the best fixed set in hindsight.
- coverage: how often 90% intervals contain the means of synthetic arms.
- simulation: the posterior against draws from it, by elliptical slice sampling.
- times: processor milliseconds per sample and per update, over the first 300 rounds.

All beliefs have their default settings. Shuffled features are the true ones of other arms.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import superarm as sa
from elliptical import simulated
from superarm.beliefs import LearnedBetaBelief, LinearBelief, LogisticBelief
from superarm.environments import ContextualReplay, ReplayEnvironment, datasets
from superarm.features import Encoder

_SEGMENTS, _CATEGORIES, _PRODUCTS, _ROUNDS = 4, 8, 200, 1000
Policies = dict[str, tuple[Callable[[Any], Any], bool]]


def shop(runs: int) -> dict[str, Any]:
    """The value of the chosen sets as a share of that of the best sets; more is better."""
    policies: Policies = {
        "random": (lambda x: None, False),
        "cts": (lambda x: sa.BetaBelief(len(x)), False),
        "thompson": (lambda x: LearnedBetaBelief(len(x)), False),
        "features": (LogisticBelief, False),
        "context": (lambda x: LogisticBelief(len(x), context=_SEGMENTS), True),
        "both, bilinear": (_shop_belief(LogisticBelief, structure="bilinear"), True),
        "both, hybrid": (_shop_belief(LogisticBelief), True),
        "shuffled features and context": (
            lambda x: LogisticBelief(_shuffled(x), context=_SEGMENTS),
            True,
        ),
        "both, linear": (_shop_belief(LinearBelief), True),
    }
    return _table(policies, _shop_run, runs)


def _shop_belief(belief: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda x: belief(x, context=_SEGMENTS, **options)


def _shop_run(
    make: Callable[[Any], Any], in_context: bool, seed: int, horizon: int = 1500
) -> float:
    features, means = _a_shop(np.random.default_rng([seed, 0]))
    belief, k = make(features), 5
    policy = (
        sa.random_sets(sa.LinearReward(_PRODUCTS), k)
        if belief is None
        else sa.Policy(belief, sa.TopK(), sa.LinearReward(_PRODUCTS), k)
    )
    rng, world = (np.random.default_rng([seed, part]) for part in (1, 2))
    best = np.sort(means, axis=1)[:, -k:].sum(axis=1)
    got = possible = 0.0
    for _ in range(_ROUNDS):
        segment = world.integers(_SEGMENTS)
        known = {"context": np.eye(_SEGMENTS)[segment]} if in_context else {}
        arms = policy.ask(rng=rng, **known)
        policy.tell(arms, world.random(k) < means[segment, arms], rng=rng, **known)
        got, possible = got + means[segment, arms].sum(), possible + best[segment]
    return 100 * got / possible


def _a_shop(rng: np.random.Generator) -> tuple[Any, Any]:
    """Features of the products, and their rates for each kind of visitor."""
    category = rng.integers(_CATEGORIES, size=_PRODUCTS)
    price = rng.normal(size=_PRODUCTS)
    taste = rng.normal(0, 1.6, (_SEGMENTS, _CATEGORIES))
    slope = rng.normal(0, 0.5, _SEGMENTS)
    odds = -5.5 + taste[:, category] + slope[:, None] * price + rng.normal(0, 0.4, _PRODUCTS)
    odds += rng.normal(0, 0.2, (_SEGMENTS, _PRODUCTS))
    rows = [{"category": str(c), "price": p} for c, p in zip(category, price, strict=True)]
    return Encoder.fit(rows).transform(rows), expit(odds)


def _shuffled(features: Any) -> Any:
    return np.random.default_rng(0).permutation(features)


def ta_feng(runs: int) -> dict[str, Any]:
    """The gap closed in percent; more is better."""
    data = datasets.ta_feng(_PRODUCTS)
    replay = ReplayEnvironment(data.table, order="shuffled")
    features, ages = data.features, data.contexts
    assert ages is not None
    n_ages = ages.shape[1]

    def run(make: Callable[[Any], Any], in_context: bool, seed: int) -> float:
        environment: Any = replay.fresh()
        if in_context:
            environment = ContextualReplay(environment, ages)
        policy = sa.Policy(make(features), sa.TopK(), sa.LinearReward(_PRODUCTS), 10)
        rngs = [np.random.default_rng([seed, part]) for part in range(2)]
        trace = sa.simulate(policy, environment, horizon=2000, rng=rngs[0], world_rng=rngs[1])
        return 100 * replay.gap_closed(trace.arms, trace.outcomes)

    policies: Policies = {
        "cts": (lambda x: sa.BetaBelief(_PRODUCTS), False),
        "thompson": (lambda x: LearnedBetaBelief(_PRODUCTS), False),
        "no features": (lambda x: LogisticBelief(_PRODUCTS), False),
        "features": (LogisticBelief, False),
        "shuffled features": (lambda x: LogisticBelief(_shuffled(x)), False),
        "age": (lambda x: LogisticBelief(_PRODUCTS, context=n_ages), True),
    }
    return _table(policies, run, runs)


def coverage(runs: int) -> list[dict[str, float]]:
    """Synthetic arms: 100 of them, 5 features, 20 arms per round chosen at random."""
    found = []
    for base in (-3.5, -1.0):
        for own in (0.0, 0.5, 1.0):
            for n_rounds in (30, 300):
                hits = [_hits(base, own, n_rounds, seed) for seed in range(runs)]
                row = {"base": base, "own_std": own, "rounds": n_rounds}
                error = float(np.std(hits) / np.sqrt(runs))
                found.append({**row, "covered": float(np.mean(hits)), "error": error})
    return found


def _hits(base: float, own: float, n_rounds: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(100, 5))
    means = expit(base + features @ rng.normal(0, 0.25, 5) + own * rng.normal(size=100))
    belief = _learned(features, means, n_rounds, 20, rng)
    low, high = belief.posterior(np.arange(100)).interval(0.9)
    return float(((low <= means) & (means <= high)).mean())


def _learned(features: Any, means: Any, n_rounds: int, k: int, rng: Any) -> LogisticBelief:
    belief = LogisticBelief(features)
    for _ in range(n_rounds):
        arms = rng.choice(len(means), k, replace=False)
        belief.update(arms, rng.random(k) < means[arms], rng=rng)
    return belief


def simulation(runs: int) -> list[dict[str, float]]:
    """Differences of locations in standard deviations, ratios of deviations, and what 90% hold."""
    found = []
    for base in (-3.5, -1.0):
        for n_rounds in (30, 200):
            rows = [_against_draws(base, n_rounds, seed) for seed in range(min(runs, 5))]
            columns = zip(*rows, strict=True)
            error, low, high, least, most = (np.array(column) for column in columns)
            row = {"base": base, "rounds": n_rounds, "largest_error": float(error.max())}
            row |= {"std_ratio_low": float(low.min()), "std_ratio_high": float(high.max())}
            found.append({**row, "mass_low": float(least.min()), "mass_high": float(most.max())})
    return found


def _against_draws(base: float, n_rounds: int, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(20, 3))
    means = expit(base + features @ [0.6, -0.4, 0.0] + 0.6 * rng.normal(size=20))
    belief = _learned(features, means, n_rounds, 5, rng)
    rows, _ = belief._rows.at(None, slice(None))
    fixed, own = belief._rows.prior(belief.stds)
    full = np.hstack([rows, np.eye(20)])
    n, s = belief.outcomes.counts, belief.outcomes.sums

    def log_likelihood(weights: Any) -> Any:
        eta = weights @ full.T
        return (s * eta - n * np.logaddexp(0, eta)).sum(axis=1)

    stds = np.sqrt(np.concatenate([fixed, np.full(20, own[0])]))
    eta = simulated(log_likelihood, stds, n_steps=2000, rng=rng) @ full.T
    known = belief.posterior(np.arange(20))
    ratio = np.sqrt(known.var) / eta.std(axis=0)
    low, high = known.interval(0.9)
    inside = ((expit(eta) > low) & (expit(eta) < high)).mean(axis=0)
    error = np.abs(known.location - eta.mean(axis=0)) / eta.std(axis=0)
    return tuple(map(float, (error.max(), ratio.min(), ratio.max(), inside.min(), inside.max())))


def times(runs: int) -> list[dict[str, Any]]:
    """Milliseconds of processor time; the mean of an update has the fits in it."""
    found = []
    for m, d, context in ((1000, 20, None), (10_000, 20, None), (1000, 20, 4)):
        rng = np.random.default_rng(0)
        belief = LogisticBelief(rng.normal(size=(m, d)), context=context)
        took = np.array([_times(belief, context, rng) for _ in range(300)]) * 1e3
        row = {"m": m, "d": d, "context": context, "sample": float(np.median(took[:, 0]))}
        found.append(
            {**row, "update": float(np.median(took[:, 1])), "mean": float(took[:, 1].mean())}
        )
    return found


def _times(belief: LogisticBelief, context: int | None, rng: Any) -> tuple[float, float]:
    now = belief.at(None if context is None else np.eye(context)[rng.integers(context)])
    arms = rng.choice(belief.n_arms, 10, replace=False)
    outcomes = rng.random(10) < 0.05
    marks = [time.process_time()]
    now.sample(rng=rng)
    marks.append(time.process_time())
    now.update(arms, outcomes, rng=rng)
    marks.append(time.process_time())
    return marks[1] - marks[0], marks[2] - marks[1]


def _table(policies: Policies, run: Callable[..., float], runs: int) -> dict[str, Any]:
    found = {}
    for name, (make, in_context) in policies.items():
        values = [run(make, in_context, seed) for seed in range(runs)]
        error = float(np.std(values, ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan")
        found[name] = {"mean": float(np.mean(values)), "error": error, "runs": values}
        print(f"  {name:32s} {np.mean(values):6.1f} ± {error:.1f}", flush=True)
    return found


STUDIES: dict[str, Callable[[int], Any]] = {
    "simulation": simulation,
    "times": times,
    "shop": shop,
    "coverage": coverage,
    "ta-feng": ta_feng,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {}
    for name in options.only:
        print(name, flush=True)
        found[name] = STUDIES[name](options.runs)
        if isinstance(found[name], list):
            print(*found[name], sep="\n", flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
