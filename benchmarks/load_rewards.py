"""A reward that sleeps, as one that waits for a network does. For ``superarm serve --rewards``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import superarm as sa

_S = 0.005  # per evaluation


def sleeping(n_arms: int) -> Any:
    def value(arms: Any, means: Any) -> float:
        time.sleep(_S)
        return float(np.sum(means))

    return sa.BlackBox(value, n_arms=n_arms, lipschitz=1.0, upper=float(n_arms))
