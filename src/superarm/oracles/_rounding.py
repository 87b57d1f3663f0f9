"""When two values count as equal."""

from __future__ import annotations

# Sums of some thousand terms in another order differ by less than this share. Values that differ
# by a real reason differ by more.
ROUNDING = 1e-12


def rounding_at(*values: float) -> float:
    """How far from each other values of this size count as equal.

    Always a share of the largest of them, never a number with a unit: whoever measures a reward in
    other units gets the same decisions. Sums may cancel to a small value by chance, so pass the
    values of several sets where there are some.
    """
    return ROUNDING * max(map(abs, values), default=0.0)
