"""How a seed that arms share changes the probability that all of the best set looks good."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from superarm.core.arguments import as_count, as_fraction
from superarm.core.special import log_ndtr

_REACH = 12.0  # standard deviations: e^(-72) of the integral is further away
_ACCURACY = 1e-11  # relative, of the integral


def optimistic_probability(k: int, shared: float) -> float:
    """The probability that k arms, which share a part of their seed, all have scores above 0.

    Arm i has the score sqrt(shared) · z_0 + sqrt(1 - shared) · z_i, with independent standard
    normal z_0 and z_i, as in `SharedSeedBelief`. Its score is above 0 if its sample is above the
    median of its posterior. Given z_0 the arms are independent, so the probability is the mean of
    Phi(sqrt(shared / (1 - shared)) · z_0)^k. It is 2^-k for shared = 0, 1 / (k + 1) for 1/2, and
    1/2 for 1. It rises with ``shared``.

    Parameters
    ----------
    k
        How many arms.
    shared
        From 0 to 1: the correlation of the scores of two arms.

    Examples
    --------
    >>> [round(optimistic_probability(10, shared), 4) for shared in (0, 0.5, 0.9, 1)]
    [0.001, 0.0909, 0.3075, 0.5]
    """
    from scipy.integrate import quad  # with optimize, takes half a second to import
    from scipy.optimize import minimize_scalar

    k = as_count(k, "k", least=1)
    shared = as_fraction(shared, "shared", low="[", high="]")
    if shared == 1:
        return 0.5  # one score for all arms
    slope = float(np.sqrt(shared / (1 - shared)))
    # The integral over z_0, in units in which neither factor changes faster than at the scale 1.
    unit = max(1.0, slope)

    def log_density(x: float) -> float:
        return float(k * log_ndtr(slope * x / unit) - (x / unit) ** 2 / 2)

    # A concave function with its largest value where its derivative is 0: at 0 or above, and below
    # the derivative of its first term at 0, which is at most k · slope.
    most = unit * min(k * slope, np.sqrt(2 * k * np.log(2))) + 1.0
    top = float(minimize_scalar(lambda x: -log_density(x), bounds=(0.0, most)).x)
    highest = log_density(top)
    # Pieces, so that no step or peak is missed in a wide range: Phi rises between -12 and 12.
    around = [top + step for step in (-4, -1, 0, 1, 4)]
    ends = sorted([top - _REACH * unit, -_REACH, *around, _REACH, top + _REACH * unit])
    total = sum(
        quad(lambda x: np.exp(log_density(x) - highest), low, high, epsrel=_ACCURACY, limit=200)[0]
        for low, high in pairwise(ends)
    )
    return float(np.exp(highest) * total / (unit * np.sqrt(2 * np.pi)))
