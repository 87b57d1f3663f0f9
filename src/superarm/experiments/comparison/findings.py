"""What the runs of a comparison say: gaps closed, and differences over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.stats import Interval, mean_interval, paired_difference


def gap_closed(policy: dict[str, Any]) -> Interval:
    """Where a policy stands between a random set in expectation, 0, and the best fixed set, 1.

    Examples
    --------
    >>> print(gap_closed({"regret": [25.0, 35.0], "chance": [100.0, 100.0]}))
    0.70 (0.06 to 1.34)
    """
    return mean_interval(1 - np.asarray(policy["regret"]) / np.asarray(policy["chance"]))


def beyond(policy: dict[str, Any], other: dict[str, Any]) -> Interval:
    """By how much a policy's regret is above another's, over paired runs."""
    return paired_difference(policy["regret"], other["regret"])
