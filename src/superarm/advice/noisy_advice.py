"""Settings of the oracles for noise, and how many answers to average, from the noise seen."""

from __future__ import annotations

import math
from typing import Any

from superarm.advice.evidence import TOO_NOISY, Noise
from superarm.advice.oracle_costs import ORACLE_COSTS
from superarm.advice.results import Property

# The plain oracle that an oracle for noise repeats.
PLAIN = {"NoisySingletons": "Singletons", "NoisyGreedy": "Greedy", "NoisyLocalSearch": "Greedy"}
_DELTA = 0.05  # the probability that anything certified in a run is wrong
_TOLERANCE = 0.01  # of an ordinary value: differences that do not matter
# Answers per set of the plain oracle, at most. Learned noise shows nothing before 20 to 40 answers
# per set, and most sets are dropped then. A search for swaps compares all sets again.
_ANSWERS = {"NoisySingletons": 100, "NoisyGreedy": 100, "NoisyLocalSearch": 200}
_SURE = 3  # noise of one answer is allowed that is larger than this many standard deviations
_SHAPE = ("separable", "submodular", "monotone in S")
_COMPARED = 4  # values in a comparison that noise hides


def noisy_settings(
    oracle: str, n_arms: int, k: int, usual: float, noise: Noise, repeats: int
) -> dict[str, Any]:
    """The settings of an oracle for noise, for `auto`; none for other oracles.

    ``repeats`` is how many evaluations the reward makes per value. The noise is learned, unless it
    is so small that one answer per set is enough.
    """
    if oracle not in PLAIN:
        return {}
    tolerance = _rounded(_TOLERANCE * usual)
    budget = repeats * _ANSWERS[oracle] * ORACLE_COSTS[PLAIN[oracle]].most(n_arms, k)
    found = {"delta": _DELTA, "tolerance": tolerance, "budget": budget}
    faint = 0 < noise.allowed(2) <= tolerance / 2
    return {**found, "noise_std": _rounded(noise.allowed(1) / _SURE)} if faint else found


def n_repeats(names: tuple[str, ...], usual: float, noise: Noise, repeats: int) -> int | None:
    """How many answers to average until noise hides no probe of ordinary size; None if unknown.

    ``names`` are the properties that noise hides.
    """
    if not names or not usual or not noise.largest:
        return None
    n = repeats * (noise.allowed(_COMPARED) / (TOO_NOISY * usual)) ** 2
    return max(2, math.ceil(_rounded(n)))


def hidden(rows: dict[str, Property]) -> tuple[str, ...]:
    """The undecided properties of the shape that noise hides."""
    return tuple(name for name in _SHAPE if rows[name].undecided and rows[name].note)


def _rounded(number: float) -> float:
    """Up, to two digits."""
    if number <= 0 or not math.isfinite(number):
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit - 1e-9) * unit:.2g}")
