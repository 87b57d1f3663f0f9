"""When two values count as equal."""

from __future__ import annotations

# Sums of some thousand terms in another order differ by less than this share. Values that differ
# by a real reason differ by more.
ROUNDING = 1e-12


def rounding_at(value: float) -> float:
    """How far from a value other values count as equal to it."""
    # Not a pure share: near 0 a difference of the terms of a sum need not be small next to the sum.
    return ROUNDING * max(1.0, abs(value))
