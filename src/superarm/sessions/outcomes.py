"""Outcomes as people give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from superarm.core.arguments import as_fraction


def as_mapping(given: Any) -> Mapping[Any, Any]:
    """Outcomes by name: a mapping, or a Series of pandas, which is one in all but name."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "items") and hasattr(given, "to_dict"):
        return dict(given.items())
    raise TypeError(f"outcomes must be a mapping from arms to outcomes, got {given!r:.60}")


def as_outcome(outcome: Any, name: str | int) -> float:
    """An outcome in [0, 1]; clicks may be booleans."""
    if type(outcome) in (float, int) and 0 <= outcome <= 1:  # the usual case
        return float(outcome)
    # Clicks often come as booleans, which as_fraction refuses because elsewhere they are mistakes.
    number = float(outcome) if isinstance(outcome, bool | np.bool_) else outcome
    return as_fraction(number, f"the outcome of {name!r}", low="[", high="]")
