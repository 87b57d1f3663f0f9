"""A round of Thompson sampling with TopK against the plain numpy program, side by side.

    python benchmarks/top_k.py [--rounds N] [--shared RHO] [--memory] [--together]

The numpy program draws every posterior, partitions, and updates. Both play k = 5 of n_arms arms
with uniform means. They take turns, so that the machine disturbs both alike. Checks of arguments
are included. Times are processor times, and the ratio is what matters. "mean" is over all rounds.
It includes the first round, and rounds in which superarm moves its level, which cost a draw of
every arm.

``--shared`` plays a `SharedSeedBelief` instead of `BetaBelief`. ``--memory`` also plays a few
rounds with ten million arms, and prints the peak memory.

``--together`` compares samples of `LearnedBetaBelief` that are drawn at once, as for requests that
wait at the same time, with samples one by one. Both are of the same belief, after ``--rounds``
rounds, and outcomes are learned between the calls.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa
from superarm.beliefs import LearnedBetaBelief, SharedSeedBelief

K = 5
TOGETHER = (4, 8, 16, 32)
# Arms, and rounds of superarm per round of numpy, which is slower.
SIZES = [(1_000, 1), (3_000, 1), (10_000, 1), (100_000, 10), (1_000_000, 100)]


class Ours:
    """superarm's Policy."""

    def __init__(self, n_arms: int, shared: float | None = None) -> None:
        belief = sa.BetaBelief(n_arms) if shared is None else SharedSeedBelief(n_arms, shared)
        self.policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(n_arms), K)

    def ask(self, rng: np.random.Generator) -> np.ndarray:
        return self.policy.ask(rng=rng)

    def tell(self, arms: np.ndarray, outcomes: np.ndarray, rng: np.random.Generator) -> None:
        self.policy.tell(arms, outcomes, rng=rng)


class Numpy:
    """The straightforward program."""

    def __init__(self, n_arms: int) -> None:
        self.a, self.b = np.ones(n_arms), np.ones(n_arms)

    def ask(self, rng: np.random.Generator) -> np.ndarray:
        return np.argpartition(rng.beta(self.a, self.b), -K)[-K:]

    def tell(self, arms: np.ndarray, outcomes: np.ndarray, rng: np.random.Generator) -> None:
        self.a[arms] += outcomes
        self.b[arms] += 1 - outcomes


def play(program: Ours | Numpy, mu: np.ndarray, rng: np.random.Generator) -> float:
    """One round; the seconds of ask and tell."""
    start = time.process_time()
    arms = program.ask(rng)
    asked = time.process_time()
    outcomes = (rng.random(K) < mu[arms]).astype(np.float64)
    between = time.process_time()
    program.tell(arms, outcomes, rng)
    return time.process_time() - between + asked - start


def compare(
    n_arms: int, every: int, rounds: int, shared: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds per round of both, taking turns; numpy plays one round in ``every``."""
    mu = np.random.default_rng(0).random(n_arms)
    ours, theirs = Ours(n_arms, shared), Numpy(n_arms)
    rngs = [np.random.default_rng(i) for i in (1, 2)]
    seconds: tuple[list[float], list[float]] = ([], [])
    for t in range(rounds):
        seconds[0].append(play(ours, mu, rngs[0]))
        if t % every == 0:
            seconds[1].append(play(theirs, mu, rngs[1]))
    return 1000 * np.array(seconds[0]), 1000 * np.array(seconds[1])


def memory(n_arms: int = 10_000_000, rounds: int = 100) -> None:
    rng, ours = np.random.default_rng(0), Ours(n_arms)
    mu = rng.random(n_arms)
    times = [play(ours, mu, rng) for _ in range(rounds)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n_arms:,} arms: first round {times[0]:.2f} s, second {times[1]:.2f} s, "
        f"then {1000 * np.median(times[2:]):.2f} ms; peak memory {peak:.2f} GiB"
    )


def together(n_arms: int, rounds: int, calls: int = 60) -> list[str]:
    """How many times as long samples take one by one as at once, for some numbers of samples."""
    rng, belief = np.random.default_rng(0), LearnedBetaBelief(n_arms)
    mu, ratios = rng.beta(2, 38, n_arms), []

    def learn(arms: np.ndarray) -> None:
        outcomes = [(rng.random(K) < mu[row]).astype(np.float64) for row in arms]
        belief.update_many(list(arms), outcomes, rng=rng)

    for _ in range(rounds // 16):
        learn(belief.sample_tops(16, K, rng=rng)[0])
    for n in TOGETHER:
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in range(calls):
            start = time.process_time()
            for _ in range(n):
                belief.sample_top(K, rng=rng)
            between = time.process_time()
            arms, _ = belief.sample_tops(n, K, rng=rng)
            seconds[1].append(time.process_time() - between)
            seconds[0].append(between - start)
            learn(arms)
        ratios.append(f"{np.median(seconds[0]) / np.median(seconds[1]):.2f}×")
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--shared", type=float)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args()
    if options.memory:
        memory()
        return
    if options.together:
        table = Table(title=f"Samples one by one / at once, {K} arms, {options.rounds} rounds")
        for name in ("arms", *(f"{n} samples" for n in TOGETHER)):
            table.add_column(name, justify="right")
        for n_arms in (200, 1_000, 5_000, 50_000):
            table.add_row(f"{n_arms:,}", *together(n_arms, options.rounds))
        Console(width=120).print(table)
        return
    table = Table(
        title=f"One round of Thompson sampling, {K} arms per set, {options.rounds} rounds: "
        f"ms (quartiles)"
    )
    for name in ("arms", "superarm", "mean", "last fourth", "numpy", "numpy / superarm"):
        table.add_column(name, justify="right")
    for n_arms, every in SIZES:
        ours, theirs = compare(n_arms, every, options.rounds, options.shared)
        cells = [
            "{:.3f} ({:.3f} to {:.3f})".format(*np.quantile(ms, [0.5, 0.25, 0.75]))
            for ms in (ours, theirs)
        ]
        late = np.median(ours[-len(ours) // 4 :])
        ratio = np.median(theirs) / np.median(ours)
        table.add_row(
            f"{n_arms:,}", cells[0], f"{ours.mean():.3f}", f"{late:.3f}", cells[1], f"{ratio:.2f}×"
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
