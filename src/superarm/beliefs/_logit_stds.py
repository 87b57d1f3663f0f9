"""Standard deviations of the weights of a mixed model, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from superarm.beliefs._logit_model import SiteModel
from superarm.beliefs._logit_rows import Rows
from superarm.core.arguments import FloatArray

# The first guess of what each block of weights adds to the log-odds, and its weak prior:
# log-normal about the guess, where a factor of e^1.5 is one sigma.
FIRST_STDS = {"features": 0.5, "context": 0.5, "products": 0.5, "own": 1.0, "own context": 0.5}
_SIGMA = 1.5
_LOG_STD = (-6.0, 2.0)
# Steps of the search, from first to last: 0.1 is below the uncertainty of the estimate.
_FIRST_STEP, _LAST_STEP = 0.4, 0.1


def fit_stds(model: SiteModel, rows: Rows, start: dict[str, float]) -> dict[str, float]:
    """The standard deviations that make the observations most likely, and a weak prior."""
    names = list(start)
    guess = np.log([FIRST_STDS[name] for name in names])

    def value(logs: FloatArray) -> float:
        stds = dict(zip(names, np.exp(logs).tolist(), strict=True))
        return model.evidence(*rows.prior(stds)) - float(((logs - guess) / _SIGMA) ** 2 @ ones) / 2

    ones = np.ones(len(names))
    here = np.log([start[name] for name in names])
    best, step = value(here), _FIRST_STEP
    while step >= _LAST_STEP:
        there, found = _best_neighbour(value, here, step)
        if found > best:
            here, best = there, found
        else:
            step /= 2
    return dict(zip(names, np.exp(here).tolist(), strict=True))


def _best_neighbour(
    value: Callable[[FloatArray], float], here: FloatArray, step: float
) -> tuple[FloatArray, float]:
    """The best of the points that differ from ``here`` by a step in one place."""
    moves = np.concatenate([np.eye(len(here)), -np.eye(len(here))]) * step
    points = np.clip(here + moves, *_LOG_STD)
    values = [value(point) for point in points]
    return points[int(np.argmax(values))], max(values)
