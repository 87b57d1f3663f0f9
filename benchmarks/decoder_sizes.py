"""Regret of the regression decoder with its own choice of test sizes, for many rewards.

    python benchmarks/decoder_sizes.py [--arms 500] [--rounds 1000] [--tests 60] [--runs 5]
        [--policies own half k_of_m] [NAME ...]

For each reward: the regret of CTS with the exact oracle relative to that of random sets, and the
regret of ``GroupTesting(decoder="regression")`` relative to that of CTS: with its own sizes
("own"), with p = 1/2 ("half") and with p = k/m ("k_of_m"). Runs are paired: the same means, the
same reward and the same seed. Intervals are 95% by Student's t. "explained" is the last
``report.explained`` of "own", averaged over the runs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import superarm as sa
from decoder_rewards import DESIGNED_WITH, REWARDS
from superarm.reporting.statistics import paired_ratio

K, DELTA = 5, 0.25
# Rewards in which the arms that are best alone are not the best set.
_BY_GREEDY = ("coverage", "ratio of two sums")


def best_set(name: str, reward: Any, mu: np.ndarray) -> np.ndarray:
    """The best set at the true means, or for `_BY_GREEDY` that of the greedy oracle."""
    rng = np.random.default_rng(0)
    if name == "least of five sums":
        places = [np.arange(part, len(mu), 5) for part in range(5)]
        return np.sort([arms[np.argmax(mu[arms])] for arms in places])
    oracle = sa.Greedy() if name in _BY_GREEDY else sa.Singletons()
    return oracle.select(reward, mu, K, rng=rng)


def make_oracle(policy: str, m: int, n_tests: int) -> Any:
    """The oracle of a policy: exact, or the regression decoder with some p."""
    p = {"own": None, "half": 0.5, "k_of_m": K / m}
    if policy == "cts":
        return sa.Singletons()
    return sa.GroupTesting(delta=DELTA, n_tests=n_tests, decoder="regression", p=p[policy])


def play(name: str, policy: str, seed: int, asked: argparse.Namespace) -> tuple[float, float]:
    """The regret relative to that of random sets, and the share of variance explained."""
    rng = np.random.default_rng([seed, 7])
    instance = sa.linear_instance(asked.arms, K, DELTA, rng=rng)
    reward, mu = REWARDS[name](asked.arms, rng), instance.mu
    best = best_set(name, reward, mu)
    best_value = float(reward(best, mu[best]))
    random_sets = [rng.choice(asked.arms, K, replace=False) for _ in range(2000)]
    random_value = float(reward.batch(sa.Pools.of(random_sets, asked.arms), mu).mean())
    oracle = make_oracle(policy, asked.arms, asked.tests)
    trace = sa.simulate(
        sa.cts(reward, K, oracle=oracle),
        instance.environment,
        horizon=asked.rounds,
        rng=np.random.default_rng([seed, 1]),
    )
    value = reward.batch(sa.Pools.of(trace.arms, asked.arms), mu).mean()
    # None, and for CTS missing: NaN in the table.
    explained = getattr(oracle.report, "explained", None)
    regret = (best_value - value) / (best_value - random_value)
    return regret, np.nan if explained is None else explained


def ratio(values: np.ndarray, base: np.ndarray) -> str:
    """The mean of the paired ratios and its interval."""
    found = paired_ratio(values, base)
    return f"{found.mean:.2f} ({found.low:.2f}–{found.high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(REWARDS))
    parser.add_argument("--policies", nargs="+", default=["own", "half", "k_of_m"])
    for option, default in {"arms": 500, "rounds": 1000, "tests": 60, "runs": 5}.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    asked = parser.parse_args()
    print("| reward | CTS / random sets |", " | ".join(asked.policies), "| explained | s |")
    for name in asked.names:
        start = time.perf_counter()
        seeds = range(asked.runs)
        cts = np.array([play(name, "cts", seed, asked)[0] for seed in seeds])
        cells, explained = [], np.nan
        for policy in asked.policies:
            played = np.array([play(name, policy, seed, asked) for seed in seeds])
            cells.append(ratio(played[:, 0], cts))
            explained = played[:, 1].mean() if policy == "own" else explained
        mark = "" if name in DESIGNED_WITH else "*"
        cells += [f"{explained:.2f}", f"{time.perf_counter() - start:.0f}"]
        print(f"| {name}{mark} | {cts.mean():.3f} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
