"""The bounds of `SingleArms` for few arms, which plain numbers give faster than arrays.

A round usually evaluates one arm or two. Every number is that of the arrays, to the last bit.
"""

from __future__ import annotations

from bisect import bisect_right

# Rounding errors of this share in answers are magnified by a line through two close points.
ROUNDING = 4e-16
# Up to this many arms, plain numbers are faster.
FEW = 16


def bounds_of_one(
    theta: float, b: float, x: list[float], f: list[float], *, monotone: bool, concave: bool
) -> tuple[float, float]:
    """Bounds of one arm at theta, from its answers f at the means x: one of them or more.

    Parameters
    ----------
    theta, b
        The mean, and the arm's B.
    x, f
        The means that were evaluated, ascending, and the answers.
    monotone, concave
        Whether the answers come from a function that is non-decreasing, and concave.
    """
    right = bisect_right(x, theta)
    lower, upper = -float("inf"), float("inf")
    if right > 0:
        if x[right - 1] == theta:
            return f[right - 1], f[right - 1]
        reach = b * (theta - x[right - 1])
        upper = f[right - 1] + reach
        lower = f[right - 1] if monotone else f[right - 1] - reach
    if right < len(x):
        reach = b * (x[right] - theta)
        lower = max(lower, f[right] - reach)
        upper = min(upper, f[right] if monotone else f[right] + reach)
    # The chord around theta bounds from below, the next ones on both sides from above.
    for first in (right - 1, right - 2, right) if concave else ():
        if 0 <= first < len(x) - 1:
            f1, f2 = f[first], f[first + 1]
            share = (theta - x[first]) / (x[first + 1] - x[first])
            line = f1 + (f2 - f1) * share
            slack = ROUNDING * (abs(f1) + abs(f2)) * (1 + abs(share))
            if first == right - 1:
                lower = max(lower, line - slack)
            else:
                upper = min(upper, line + slack)
    return lower, max(lower, upper)
