"""What a session adds to its policy, and what a save costs.

    python benchmarks/sessions.py [--rounds N] [--arms N]

A session and the bare policy play the same rounds, with the same seed and outcomes. They take
turns, so that the machine disturbs both alike. Numbers are medians of ask and tell per round. Then
a session of a million arms is saved and loaded. Its processor time does not include waiting for the
disk.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa

M, K = 5_000, 5
ORACLES: dict[str, Callable[[], sa.Oracle]] = {
    "TopK": sa.TopK,
    "Singletons": sa.Singletons,
    "LazySingletons": sa.LazySingletons,
}


def policy(n_arms: int, oracle: sa.Oracle) -> sa.Policy:
    return sa.Policy(sa.BetaBelief(n_arms), oracle, sa.LinearReward(n_arms), K)


def play_session(session: sa.Session, luck: np.ndarray, mu: np.ndarray) -> tuple[tuple, float]:
    """The decision of a round, and the seconds of ask and tell."""
    start = time.perf_counter()
    decision = session.ask()
    asked = time.perf_counter() - start
    told = dict(
        zip(
            decision.arms, (luck < mu[list(decision.arms)]).astype(np.float64).tolist(), strict=True
        )
    )
    start = time.perf_counter()
    session.tell(decision.id, told)
    return decision.arms, asked + time.perf_counter() - start


def play_bare(
    bare: sa.Policy, rng: np.random.Generator, luck: np.ndarray, mu: np.ndarray
) -> tuple[tuple, float]:
    """The same without a session."""
    start = time.perf_counter()
    arms = bare.ask(rng=rng)
    asked = time.perf_counter() - start
    outcomes = (luck < mu[arms]).astype(np.float64)
    start = time.perf_counter()
    bare.tell(arms, outcomes, rng=rng)
    return tuple(arms.tolist()), asked + time.perf_counter() - start


def compare(make: Callable[[], sa.Oracle], rounds: int) -> tuple[float, float]:
    """Microseconds per round: the session's, the policy's. Each goes first in every other round."""
    session, bare, rng = (
        sa.Session(policy(M, make()), seed=1),
        policy(M, make()),
        np.random.default_rng(1),
    )
    world, mu = np.random.default_rng(2), np.random.default_rng(3).random(M)
    seconds: tuple[list[float], list[float]] = ([], [])
    for t in range(rounds):
        luck = world.random(K)
        if t % 2:
            (one, ours), (other, theirs) = (
                play_session(session, luck, mu),
                play_bare(bare, rng, luck, mu),
            )
        else:
            (other, theirs), (one, ours) = (
                play_bare(bare, rng, luck, mu),
                play_session(session, luck, mu),
            )
        if one != other:
            raise AssertionError("a session must make the decisions of its policy")
        seconds[0].append(ours)
        seconds[1].append(theirs)
    return 1e6 * statistics.median(seconds[0]), 1e6 * statistics.median(seconds[1])


def save(n_arms: int, names: list[str] | None) -> tuple[float, float, float]:
    """Processor seconds of a save and of a load, and megabytes; medians of five."""
    rng = np.random.default_rng(0)
    made = policy(n_arms, sa.TopK())
    # As after many rounds: counts that differ from arm to arm do not compress well.
    made.belief = sa.BetaBelief(
        n_arms, prior=(1.0 + rng.integers(0, 50, n_arms), 1.0 + rng.integers(0, 50, n_arms))
    )
    session = sa.Session(made, names, seed=0)
    for decision in session.ask(100):
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    times: tuple[list[float], list[float]] = ([], [])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session"
        for _ in range(5):
            start = time.process_time()
            session.save(path)
            saved = time.process_time()
            sa.Session.load(path, lambda n: policy(n, sa.TopK()))
            times[0].append(saved - start)
            times[1].append(time.process_time() - saved)
        return statistics.median(times[0]), statistics.median(times[1]), path.stat().st_size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--arms", type=int, default=1_000_000)
    options = parser.parse_args()
    console = Console(width=100)
    table = Table(
        title=f"A round of ask and tell, {K} of {M:,} arms, "
        f"medians of {options.rounds} rounds in turns: µs"
    )
    for name in ("oracle", "session", "bare policy", "session / bare"):
        table.add_column(name, justify="left" if name == "oracle" else "right")
    for name, make in ORACLES.items():
        ours, bare = compare(make, options.rounds)
        table.add_row(name, f"{ours:.0f}", f"{bare:.0f}", f"{ours / bare:.2f}×")
    console.print(table)
    for text, names in (
        ("0, 1, 2, ...", None),
        ("strings", [f"item-{number:07}" for number in range(options.arms)]),
    ):
        save_s, load_s, size = save(options.arms, names)
        console.print(
            f"{options.arms:,} arms, names {text}: "
            f"save {save_s:.2f} s, load {load_s:.2f} s, {size:.1f} MB"
        )


if __name__ == "__main__":
    main()
