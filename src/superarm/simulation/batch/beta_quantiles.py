"""Quantiles of very many Beta distributions, of which few change per round.

torch has no inverse of the incomplete beta function. A round needs one quantile per arm, but it
changes only k posteriors per run. So each arm keeps its quantile function as a row of numbers, the
logits of the quantiles at evenly spaced scores. A draw interpolates in the row. A new outcome
computes the row of its arm again, with a fixed number of operations, so that a GPU can replay it.

A row follows from the density of the logit x of Beta(a, b) with a <= b; for a > b it is mirrored.
The density falls from its mode log(a / b) as exp(-D(d)), with d = x - log(a / b) and

    D(d) = (a + b) · log(1 + a / (a + b) · (e^d - 1)) - a · d

D is convex. Newton's method finds the points where D is w^2 / 2, with w in even steps, which is
where a normal density has fallen as far. Between these points Gauss-Legendre sums give the mass,
and so the score of every point. The derivative of a point by its score is phi(score) / density. So
quintic polynomials lead from the scores of the points to even scores.

In units of the score, rows are off by less than 1e-7 for a and b from 1 to 10^7, and draws by less
than 1e-5. For a and b up to 10^5 draws are off by less than 1e-4 from 0.3 on, and by less than 1e-2
from 0.05 on. In float32 the last digit of a value is added to that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.simulation.batch.run_stack import Array

# The step from score to score in a row, and how many of its numbers a draw looks at.
STEP, TAPS = 0.5, 8
# What a normal score exceeds with probability 2e-19.
LARGEST_NORMAL = 9.0
# Points of the density: their distance in w, and how far beyond the largest score they go, so that
# the mass beyond the last one does not matter.
_APART, _BEYOND = 0.5, 2.0
_NODES, _WEIGHTS = (each.tolist() for each in np.polynomial.legendre.leggauss(6))
_N_NEWTON = 2
# e^d must be finite. The quantile at this logit is 1 in any precision.
_LARGEST_LOGIT = 700.0


def n_scores(reach: float) -> int:
    """How many numbers a row has, for scores from -reach to reach."""
    return 2 * math.ceil(reach / STEP) + 1


def rows_of(a: Array, b: Array, reach: float, engine: Any) -> Array:
    """The logits of the quantiles at even scores, (n, n_scores), of Beta(a, b), (n,) in float64."""
    xp = engine.xp
    low, high = xp.minimum(a, b)[:, None], xp.maximum(a, b)[:, None]
    points = _points(low, high, reach, engine)
    scores, slopes, bends = _scores(points, low, high, engine)
    half = n_scores(reach) // 2
    even = engine.steps(-half, half, STEP)
    right = xp.clip(engine.search(scores, even), 1, scores.shape[1] - 1)
    ends = [
        [engine.along(each, place) for each in (scores, points, slopes, bends)]
        for place in (right - 1, right)
    ]
    rows = xp.log(low / high) + _quintic(even, *ends)
    return xp.where((a > b)[:, None], -xp.flip(rows, (1,)), rows)


def interpolated(rows: Array, scores: Array, engine: Any) -> Array:
    """The logits at some scores, one per row, by the polynomial through the nearest numbers."""
    half, last = rows.shape[-1] // 2, rows.shape[-1] - TAPS
    place = engine.xp.clip(scores / STEP, -half, half) + half
    first = engine.xp.clip(engine.xp.floor(place) - (TAPS // 2 - 1), 0, last)
    at, first = place - first, engine.whole_numbers(first)
    # The products of the distances to the numbers before, and after, each of them.
    before, after = [1.0], [1.0]
    for tap in range(TAPS - 1):
        before.append(before[-1] * (at - tap))
        after.append(after[-1] * (at - (TAPS - 1 - tap)))
    found = 0.0
    for tap in range(TAPS):
        scale = (-1) ** (TAPS - 1 - tap) / math.factorial(tap) / math.factorial(TAPS - 1 - tap)
        weight = scale * before[tap] * after[TAPS - 1 - tap]
        found = found + weight * engine.along(rows, (first + tap)[..., None])[..., 0]
    return found


def _points(low: Array, high: Array, reach: float, engine: Any) -> Array:
    """Distances d from the mode, ascending, at which D is about w^2 / 2."""
    xp, n_side = engine.xp, math.ceil((reach + _BEYOND) / _APART)
    w = engine.steps(1, n_side, _APART)
    total, share = low + high, low / (low + high)
    # Newton's method starts from the least of what a normal density, a Gamma density and the
    # density's own tail give; the last one is an upper bound.
    normal = w * xp.sqrt(1 / low + 1 / high)
    gamma = xp.log1p(normal**2 / 2 + normal * xp.sqrt(1 + normal**2 / 4))
    below = xp.minimum(normal, (w**2 / 2 + total * xp.log(total / high)) / low)
    above = xp.minimum(xp.minimum(normal, gamma), (w**2 / 2 + total * xp.log(total / low)) / high)
    d = xp.concatenate([-xp.flip(below, (1,)), above], 1)
    target = xp.concatenate([xp.flip(w, (0,)), w], 0) ** 2 / 2
    for _ in range(_N_NEWTON):
        d = xp.clip(d, None, _LARGEST_LOGIT)
        grown = xp.expm1(d)
        excess = total * xp.log1p(share * grown) - low * d - target
        d = d - excess * (1 + share * grown) / (low * (1 - share) * grown)
    d = xp.clip(d, None, _LARGEST_LOGIT)
    return xp.concatenate([d[:, :n_side], 0.0 * low, d[:, n_side:]], 1)


def _scores(d: Array, low: Array, high: Array, engine: Any) -> tuple[Array, Array, Array]:
    """The scores of the points, and the first two derivatives of points by scores."""
    xp, total, share = engine.xp, low + high, low / (low + high)
    radius, middle = (d[:, 1:] - d[:, :-1]) / 2, (d[:, 1:] + d[:, :-1]) / 2
    mass = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = middle + node * radius
        mass = mass + weight * xp.exp(low * x - total * xp.log1p(share * xp.expm1(x)))
    mass = mass * radius
    grown = xp.expm1(d)
    drop = total * xp.log1p(share * grown) - low * d
    steep = low * (1 - share) * grown / (1 + share * grown)  # the derivative of D
    # Beyond the ends the density is about exponential.
    first, last = xp.exp(-drop[:, :1]) / -steep[:, :1], xp.exp(-drop[:, -1:]) / steep[:, -1:]
    below = xp.concatenate([first, mass], 1).cumsum(1)
    above = xp.flip(xp.flip(xp.concatenate([mass, last], 1), (1,)).cumsum(1), (1,))
    whole = below[:, -1:] + last
    # The smaller tail keeps its digits.
    tail = engine.ndtri(xp.minimum(below, above) / whole)
    scores = xp.where(below < above, tail, -tail)
    slopes = whole / math.sqrt(2 * math.pi) * xp.exp(drop - scores**2 / 2)
    return scores, slopes, slopes * (slopes * steep - scores)


def _quintic(at: Array, left: list[Array], right: list[Array]) -> Array:
    """The polynomials with the values and first two derivatives at both ends."""
    start, value, slope, bend = left
    width = right[0] - start
    # Points that were limited to the same logit have no distance.
    t = (at - start) / (width + 1.0 * (width == 0))
    slope, bend = slope * width, bend * width**2
    rise = right[1] - value - slope - bend / 2
    steeper = right[2] * width - slope - bend
    bent = right[3] * width**2 - bend
    higher = 10 * rise - 4 * steeper + bent / 2, 7 * steeper - 15 * rise - bent
    top = 6 * rise - 3 * steeper + bent / 2
    return value + t * (slope + t * (bend / 2 + t * (higher[0] + t * (higher[1] + t * top))))
