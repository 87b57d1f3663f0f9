"""Outcomes of a few arms, counted without arrays: the same numbers in less time."""

from __future__ import annotations

import math
from typing import Any

from superarm.beliefs._beta_fit import Beta
from superarm.beliefs._equal_arms import Key
from superarm.beliefs.learned_prior import PER_OUTCOME
from superarm.beliefs.outcome_counts import OutcomeCounts

FEW = 16  # with more arms, arrays are faster


def count_few(
    known: OutcomeCounts,
    streaks: Any,
    feedback: list[tuple[int, float]],
    prior: Beta,
    dispersion: float,
    stay_after: int,
) -> tuple[list[Key], list[Key]]:
    """Count one outcome for each of some distinct arms, and the good ones in a row.

    Returns the keys of the arms before and after: counts, sums in steps, and whether they are held.
    """
    counts, sums, (a, b) = known.counts, known.sums, prior
    before, after = [], []
    for arm, outcome in feedback:
        n, total, streak = counts.item(arm), sums.item(arm), streaks.item(arm)
        before.append(_key(n, total, streak, stay_after))
        # The posterior mean. A sum may exceed its count by rounding.
        successes, failures = a + total / dispersion, b + max(n - total, 0.0) / dispersion
        is_good = outcome >= successes / (successes + failures)
        streak = min(streak + 1, stay_after) if is_good else 0
        n, total = n + 1, total + outcome
        counts[arm], sums[arm], streaks[arm] = n, total, streak
        after.append(_key(n, total, streak, stay_after))
    known.rounds += bool(feedback)
    return before, after


def _key(n: float, total: float, streak: int, stay_after: int) -> Key:
    steps = math.ceil(PER_OUTCOME * total) / PER_OUTCOME
    return n, steps, 1.0 if streak >= stay_after > 0 else 0.0
