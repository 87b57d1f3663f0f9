"""The rounds at which cells record totals."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import IndexArray

_N_EACH = 61  # of evenly spread rounds, and of rounds spread by their logarithm


def checkpoints(horizon: int) -> IndexArray:
    """About 120 rounds, half of them spread evenly and half by their logarithm.

    The last checkpoint is the horizon.
    """
    # Evenly spread rounds are for plain axes and rounds spread by their logarithm for logarithmic
    # axes, where evenly spread ones would leave the left half of the picture empty.
    even = np.linspace(1, horizon, _N_EACH)
    logarithmic = np.geomspace(1, horizon, _N_EACH)
    # Both halves have the first and the last round, and small horizons repeat more rounds.
    return np.unique(np.round(np.concatenate([even, logarithmic]))).astype(np.intp)
