"""`NoisySingletons` next to repeated `Singletons` of the same reliability, on seven noisy rewards.

    python benchmarks/noisy.py [--arms 500] [--rounds 100] [--runs 2] [--out noisy.json]

Thompson sampling plays with `NoisySingletons`. Every set is compared with the true values at the
same theta: it is wrong if an arm outside is worth more than an arm inside by more than the
tolerance. The noise is normal, with a standard deviation of 10% of the range of the values of the
single arms; the tolerance is ``--tolerance`` of that range.

Repeated `Singletons` evaluates every arm n times per round. "Gap known" takes the smallest n with
which two arms that differ by the gap of the round between the k-th and the next value (or by the
tolerance if that is larger) are in the right order, except with probability delta / rounds. That is
less than any real procedure can do: it knows the gap, and all other arms are never mistaken. "Gap
unknown" takes the n for the tolerance in every round.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import superarm as sa
from lazy_rewards import REWARDS, Sum
from superarm.oracles import NoisySingletons
from superarm.oracles._noisy_answers import radius

NAMES = ("linear", "network, std 0.3", "coverage", "plateaus", "steep", "waves", "roots")
NOISE, DELTA, K = 0.1, 0.05, 5


def roots(arms: Any, means: Any) -> Any:
    """Steep near 0 and flat near 1, with another weight for each arm."""
    return (1 + arms % 7 / 7) * (np.sqrt(means + 0.05) - np.sqrt(0.05))


class Noisy:
    """A reward whose answers have normal noise."""

    noisy = True

    def __init__(self, exact: Any, std: float, rng: np.random.Generator) -> None:
        self.exact, self.std, self.rng = exact, std, rng
        for name in ("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive"):
            setattr(self, name, getattr(exact, name))

    def __call__(self, arms: Any, means: Any) -> float:
        return float(self.exact(arms, means) + self.rng.normal(0, self.std))

    def batch(self, pools: sa.Pools, theta: Any) -> Any:
        first = self.exact.batch(sa.Pools.of([pools[0]], self.n_arms), theta)[0]
        # The oracle repeats one question per batch, so that one exact answer will do.
        same = len(pools.members) == 0 or (pools.members == pools.members[0]).all()
        exact = first if same else self.exact.batch(pools, theta)
        return exact + self.rng.normal(0, self.std, len(pools))


def make(name: str, m: int, rng: np.random.Generator) -> tuple[Any, float]:
    """The exact reward, and the range of the values of its single arms."""
    if name == "roots":
        exact = Sum(roots, m, 2 / (2 * math.sqrt(0.05)), monotone=True, zero_is_absent=True)
    else:
        exact = REWARDS[name](m, rng)
    alone = sa.Pools.singletons(np.arange(m), m)
    values = np.array([exact.batch(alone, rng.random(m)) for _ in range(5)])
    return exact, float(np.ptp(values))


def play(name: str, m: int, rounds: int, share: float, seed: int) -> dict[str, Any]:
    """One run: evaluations, what repeated Singletons takes, and wrong sets."""
    rng = np.random.default_rng(seed)
    exact, spread = make(name, m, rng)
    std, tolerance = NOISE * spread, share * spread
    oracle = NoisySingletons(DELTA, noise_std=std, tolerance=tolerance, budget=10**7)
    policy = sa.cts(Noisy(exact, std, rng), K, oracle=oracle)
    arms = sa.BernoulliArms(rng.random(m))
    alone, z = sa.Pools.singletons(np.arange(m), m), norm.isf(DELTA / rounds)
    found = {"spent": 0, "known": 0, "unknown": 0, "wrong": 0, "uncertified": 0, "late": 0}
    for t in range(rounds):
        picked, sample = policy.decide(rng=rng)
        values = exact.batch(alone, sample.whole())
        inside = np.isin(np.arange(m), picked)
        ordered = np.sort(values)[::-1]
        gap = max(ordered[K - 1] - ordered[K], tolerance)
        n_known, n_unknown = (math.ceil(2 * (std * z / each) ** 2) for each in (gap, tolerance))
        found["known"] += m * n_known
        found["unknown"] += m * n_unknown
        if t >= rounds // 2:
            found["late"] += oracle.report.evaluations
        found["wrong"] += bool(values[~inside].max() - values[inside].min() > tolerance)
        found["uncertified"] += not oracle.report.certified
        policy.tell(picked, arms.pull(picked, rng=rng), rng=rng)
    return {"reward": name, "rounds": rounds, **found, "spent": policy.evaluations}


def union_cost(m: int, rounds: int, share: float, j: int) -> float:
    """Answers about one deciding arm in its j-th round, as a multiple of "gap known".

    For two arms that differ by the tolerance: the bounds of each may be off by half of it.
    """
    alpha, n = DELTA / 2 * 6 / (np.pi * j) ** 2 / m, np.arange(1.0, 1e6)
    enough = n[np.argmax(radius(n, alpha, NOISE) <= share / 2)]
    return float(enough / (2 * (NOISE * norm.isf(DELTA / rounds) / share) ** 2))


def main() -> None:
    """Print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=0.005, help="share of the range")
    parser.add_argument("--rewards", nargs="*", default=NAMES)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    head = ("reward", "evaluations per round", "gap known", "gap unknown", "wrong", "uncertified")
    print(f"| {' | '.join(head)} |\n| --- |{' ---: |' * 5}")
    kept = []
    for name in given.rewards:
        runs = [
            play(name, given.arms, given.rounds, given.tolerance, seed)
            for seed in range(given.runs)
        ]
        total = {key: sum(run[key] for run in runs) for key in runs[0] if key != "reward"}
        kept.append({"reward": name, "arms": given.arms, "k": K, "runs": len(runs), **total})
        print(
            f"| {name} | {total['spent'] / total['rounds']:,.0f} "
            f"| {total['spent'] / total['known']:.1%} | {total['spent'] / total['unknown']:.1%} "
            f"| {total['wrong']} of {total['rounds']} | {total['uncertified']} |",
            flush=True,
        )
    for j in (1, given.rounds):
        cost = union_cost(given.arms, given.rounds, given.tolerance, j)
        print(f"An arm that decides takes {cost:.1f} times the repeats of gap known, round {j}.")
    if given.out is not None:
        given.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
