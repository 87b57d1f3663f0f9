"""Standard deviations of the weights of a mixed model, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from superarm.beliefs._logit_model import SiteModel
from superarm.beliefs._logit_rows import Rows
from superarm.core.arguments import FloatArray

# The first guess of what each block of weights adds to the log-odds, and its weak prior:
# log-normal about the guess, where a factor of e^1.5 is one sigma.
FIRST_STDS = {"features": 0.5, "context": 0.5, "products": 0.5, "own": 1.0, "own context": 0.2}
_SIGMA = 1.5
_LOG_STD = (-6.0, 2.0)
# Steps of the search in logarithms: the last is below the uncertainty of the estimate. A search
# begins where the last one ended, so few steps in one direction are enough.
STEPS = (0.4, 0.2, 0.1)
_MOST_MOVES = 4


def fit_stds(
    model: SiteModel, rows: Rows, start: dict[str, float], steps: tuple[float, ...] = STEPS
) -> dict[str, float]:
    """The standard deviations that make the observations most likely, and a weak prior.

    One after the other is changed by each of the steps, as long as that makes it better. Most
    searches cost two evaluations of `SiteModel.evidence` per standard deviation and step.
    """
    names = list(start)
    guess = np.log([FIRST_STDS[name] for name in names])

    def value(logs: FloatArray) -> float:
        stds = dict(zip(names, np.exp(logs).tolist(), strict=True))
        weak = float((((logs - guess) / _SIGMA) ** 2).sum()) / 2
        return model.evidence(*rows.prior(stds)) - weak

    here = np.log([start[name] for name in names])
    best = value(here)
    for step in steps:
        for direction in np.eye(len(names)) * step:
            there, found = _along(value, direction, here, best)
            if found == best:
                there, found = _along(value, -direction, here, best)
            here, best = there, found
    return dict(zip(names, np.exp(here).tolist(), strict=True))


def _along(
    value: Callable[[FloatArray], float], step: FloatArray, here: FloatArray, best: float
) -> tuple[FloatArray, float]:
    """Go in one direction as long as it becomes better."""
    for _ in range(_MOST_MOVES):
        there = np.clip(here + step, *_LOG_STD)
        found = value(there)
        if found <= best:
            break
        here, best = there, found
    return here, best
