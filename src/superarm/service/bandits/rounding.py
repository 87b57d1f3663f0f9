"""How much two states differ that should be the same.

Libraries choose their code by the processor, and each has its own order of sums. So numbers that
were computed on another processor, or by another version of numpy, may differ in their last digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import repeat
from typing import Any

ROUNDING = 1e-6  # a share of the largest number of a list; what is rounded otherwise is far below


def difference(one: Any, other: Any) -> float:
    """The largest difference of two states, as a share of the largest number beside it.

    States are plain data. It is 0 for equal states, and infinite if anything but a float differs.

    Examples
    --------
    >>> difference({"a": [1.0, 4.0], "n": 3}, {"a": [1.0, 4.0], "n": 3})
    0.0
    >>> difference({"a": [1.0, 4.0], "n": 3}, {"a": [1.5, 4.0], "n": 3})
    0.125
    >>> difference({"a": [1.0, 4.0], "n": 3}, {"a": [1.0, 4.0], "n": 4})
    inf
    """
    return 0.0 if one == other else _difference(one, other, 0.0)


def _difference(one: Any, other: Any, size: float) -> float:
    if isinstance(one, float) and isinstance(other, float):
        if one == other or (math.isnan(one) and math.isnan(other)):
            return 0.0
        share = abs(one - other) / max(abs(one), abs(other), size)
        return math.inf if math.isnan(share) else share
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return max(map(difference, one.values(), (other[name] for name in one)), default=0.0)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        size = max((abs(each) for each in one if isinstance(each, float)), default=0.0)
        return max(map(_difference, one, other, repeat(size)), default=0.0)
    return 0.0 if one == other else math.inf
