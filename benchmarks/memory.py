"""The peak memory of one round with ten million arms: BetaBelief, LinearReward, Singletons.

python benchmarks/memory.py
"""

from __future__ import annotations

import resource
import time

import numpy as np

import superarm as sa

N_ARMS, K = 10_000_000, 5


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    before = peak_gib()
    rng = np.random.default_rng(0)
    policy = sa.cts(sa.LinearReward(N_ARMS), K)
    start = time.perf_counter()
    arms = policy.ask(rng=rng)
    policy.tell(arms, np.ones(K), rng=rng)
    print(
        f"one round of {N_ARMS:,} arms: {time.perf_counter() - start:.2f} s, "
        f"peak memory {peak_gib():.2f} GiB ({before:.2f} GiB before it)"
    )


if __name__ == "__main__":
    main()
