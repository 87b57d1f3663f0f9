"""What paired runs say about policies: gaps closed, and differences of regret."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.statistics import Interval, mean_interval


def gap_closed(policy: dict[str, Any]) -> Interval:
    """Where a policy stands between the random baseline, 0, and the best fixed set, 1.

    A run in which all sets are equally good counts 0.

    Examples
    --------
    >>> print(gap_closed({"regret": [25.0, 35.0], "chance": [100.0, 100.0]}))
    0.70 (0.06 to 1.34)
    """
    regret, chance = np.array(policy["regret"]), np.array(policy["chance"])
    # The share of each run, then the mean: instances differ in the size of their gap.
    return mean_interval(np.where(chance > 0, 1 - regret / np.where(chance > 0, chance, 1.0), 0.0))


def beyond(policy: dict[str, Any], other: dict[str, Any]) -> Interval:
    """The regret of a policy minus that of another one, over paired runs."""
    return mean_interval(np.subtract(policy["regret"], other["regret"]))


def leaders(policies: dict[str, dict[str, Any]]) -> tuple[str, list[str]]:
    """The policy with the least mean regret, and the policies that may be as good as it.

    For those, the interval of the paired difference contains 0. They come in the order of regret.

    Examples
    --------
    >>> runs = {"a": [5.0, 6.0, 7.0], "b": [1.0, 2.0, 3.0], "c": [0.0, 2.5, 5.0]}
    >>> leaders({label: {"regret": regret} for label, regret in runs.items()})
    ('b', ['c'])
    """
    # The difference to the first is never negative in the mean, so that its lower end decides.
    first, *others = sorted(policies, key=lambda label: float(np.mean(policies[label]["regret"])))
    return first, [label for label in others if beyond(policies[label], policies[first]).low <= 0]
