"""The paper's decoder: the grade of an arm is the sum of the scores of its tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.core import Pools
from superarm.core.arguments import FloatArray

_EPS = float(np.finfo(np.float64).eps)


def summed(
    tests: Pools, scores: FloatArray, decoded: NDArray[np.bool_], *, centred: bool
) -> tuple[FloatArray, float]:
    """The grades A^T scores (eq. decoder), and how much equal grades may differ.

    Only the tests that are ``decoded`` count. ``centred`` subtracts their mean score first.
    """
    centre = scores[decoded].mean() if centred and decoded.any() else 0.0
    counted = scores - centre
    if not decoded.all():
        counted = np.where(decoded, counted, 0.0)
    # A grade is a sum of up to `depth` scores, each of which rounds by eps.
    depth = tests.depth
    rounding = _EPS * depth * max(0, depth - 1) * float(np.abs(scores).max(initial=0.0))
    return tests.sum_by_arm(counted), rounding
