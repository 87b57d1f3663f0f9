"""A round of group testing against the straightforward numpy program, side by side in one run.

The numpy program draws floats, compares them with p, and takes two matrix products. Both get the same theta, linear
reward and quantizer, alternate, and are compared by medians; the ratio is what matters, since machines are noisy.

    python benchmarks/group_testing.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import superarm as sa

N_ARMS, K, N_TESTS, DELTA, ROUNDS = 5000, 5, 302, 0.25, 61


def numpy_program(theta: np.ndarray, p: float, rng: np.random.Generator) -> np.ndarray:
    A = (rng.random((N_TESTS, N_ARMS)) < p).astype(np.float64)
    rho = A @ theta
    width = DELTA / 2
    rho = np.maximum(width, np.round(rho / width) * width)
    phi = rho @ A
    return np.sort(np.argpartition(phi, -K)[-K:])


def medians(programs: list[Callable[[], object]]) -> list[tuple[float, float, float]]:
    """Median and quartiles in milliseconds, the programs taking turns."""
    seconds: list[list[float]] = [[] for _ in programs]
    for turn in range(ROUNDS + 3):
        for program, times in zip(programs, seconds, strict=True):
            start = time.perf_counter()
            program()
            if turn >= 3:  # the first turns warm the caches
                times.append(time.perf_counter() - start)
    return [tuple(1000 * np.quantile(times, [0.5, 0.25, 0.75])) for times in seconds]


def main() -> None:
    rng = np.random.default_rng(0)
    theta, reward = rng.random(N_ARMS), sa.LinearReward(N_ARMS)
    table = Table(title=f"One round of group testing: {N_TESTS} tests of {N_ARMS} arms, linear reward, ms (quartiles)")
    for name in ("p", "superarm", "numpy", "numpy / superarm"):
        table.add_column(name, justify="right")
    for name, p in (("1/2", 1 / 2), ("2/3", 2 / 3), ("0.05", 0.05), ("K/m", K / N_ARMS), ("1/m", 1 / N_ARMS)):
        oracle = sa.GroupTesting(delta=DELTA, p=p, n_tests=N_TESTS)
        ours, theirs = medians(
            [
                lambda oracle=oracle: oracle.select(reward, theta, K, rng=rng),
                lambda p=p: numpy_program(theta, p, rng),
            ]
        )
        cells = [f"{middle:.2f} ({low:.2f} to {high:.2f})" for middle, low, high in (ours, theirs)]
        table.add_row(name, *cells, f"{theirs[0] / ours[0]:.1f}×")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
