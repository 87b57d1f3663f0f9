"""Standard deviations of the weights of a mixed model, by marginal likelihood."""

from __future__ import annotations

import numpy as np

from superarm.beliefs._mixed import MixedModel
from superarm.beliefs._rows import Rows

# The first guess of what each block of weights adds to the log-odds, and its weak prior:
# log-normal about the guess, where a factor of e^1.5 is one sigma.
FIRST_STDS = {"features": 0.5, "context": 0.5, "products": 0.5, "own": 1.0, "own context": 0.5}
_SIGMA = 1.5
_LOG_STD = (-6.0, 2.0)
_FIRST_STEP, _LAST_STEP, _MOST_MOVES = 0.6, 0.1, 30


def fit_stds(model: MixedModel, rows: Rows, start: dict[str, float]) -> dict[str, float]:
    """The standard deviations that make the observations most likely, and a weak prior."""
    names = list(start)
    here = np.log([start[name] for name in names])
    guess = np.log([FIRST_STDS[name] for name in names])

    def value(logs):
        stds = dict(zip(names, np.exp(logs).tolist(), strict=True))
        weak = ((logs - guess) ** 2).sum() / (2 * _SIGMA**2)
        return model.evidence(*rows.prior(stds)) - weak

    best, step = value(here), _FIRST_STEP
    for _ in range(_MOST_MOVES):
        moved = False
        for place in range(len(names)):
            for sign in (1, -1):
                there = here.copy()
                there[place] = np.clip(there[place] + sign * step, *_LOG_STD)
                found = value(there)
                if found > best:
                    best, here, moved = found, there, True
                    break
        if not moved:
            step /= 2
            if step < _LAST_STEP:
                break
    return dict(zip(names, np.exp(here).tolist(), strict=True))
