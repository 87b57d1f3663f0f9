"""Rewards of an operator, for tests of slow work. Some wait until a file exists."""

import os
import time
from pathlib import Path

import superarm as sa


def _box(fn, n_arms):
    return sa.BlackBox(fn, n_arms=n_arms, lipschitz=1.0, upper=float(n_arms), monotone=True)


def total(n_arms, weight=1.0):
    return _box(lambda arms, means: weight * float(means.sum()), n_arms)


def averaged(n_arms):
    return sa.BlackBox(
        lambda arms, means: float(means.sum()),
        n_arms=n_arms,
        lipschitz=1.0,
        upper=float(n_arms),
        noisy=True,
        repeats=3,
    )


def gated(n_arms, folder="."):
    """Says in a file that it has begun, and ends never."""

    def value(arms, means):
        Path(folder, f"begun-{os.getpid()}").touch()
        while True:
            time.sleep(0.01)

    return _box(value, n_arms)


def broken(n_arms):
    return _box(lambda arms, means: 1 / 0, n_arms)


def choosy(n_arms, size=1):
    if size < 1:
        raise ValueError("size must be at least 1")
    return sa.LinearReward(n_arms)
