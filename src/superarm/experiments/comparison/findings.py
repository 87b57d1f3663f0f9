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


def leaders(policies: dict[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """The policy of the least mean regret, and those whose paired difference to it may be 0, in that order.

    Examples
    --------
    >>> leaders({"a": {"regret": [5.0, 6.0, 7.0]}, "b": {"regret": [1.0, 2.0, 3.0]}, "c": {"regret": [0.0, 2.5, 5.0]}})
    ('b', ['c'])
    """
    first, *others = sorted(policies, key=lambda label: float(np.mean(policies[label]["regret"])))
    return first, [label for label in others if beyond(policies[label], policies[first]).low <= 0]
