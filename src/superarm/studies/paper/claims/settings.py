"""The settings and readings of GT+QTS that claims about its regret look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from superarm.reporting.statistics import LEVEL, Interval
from superarm.studies.paper.policies import CTS, LITERAL, RANDOM
from superarm.studies.paper.verdicts import Numbers

# From a setting's numbers, CTS's numbers and a level to an interval; less is better.
Measure = Callable[[Mapping[str, Any], Mapping[str, Any], float], Interval]


def best_setting(
    figure: Numbers, measure: Measure, readings: Numbers | None = None
) -> tuple[str, dict[str, float], int]:
    """The setting with the least mean, its interval, and among how many settings it is the best.

    The best setting stands for all: the paper does not say which setting it used, so that the claim
    gets the benefit of the doubt. The intervals of all settings hold together (Bonferroni).
    """
    settings = [
        (figure["policies"], [label for label in LITERAL if label in figure["policies"]]),
    ]
    if readings is not None:
        usual = (RANDOM, CTS, *LITERAL)
        policies = readings["policies"]
        settings.append((policies, [label for label in policies if label not in usual]))
    n_settings = sum(len(labels) for _, labels in settings)
    # With the error divided by the number of settings, all intervals hold together.
    level = 1 - (1 - LEVEL) / n_settings
    found = {
        label: measure(policies[label], policies[CTS], level)._asdict()
        for policies, labels in settings
        for label in labels
    }
    best = min(found, key=lambda label: found[label]["mean"])
    return best, found[best], n_settings


def numbers_of(label: str, figure: Numbers, readings: Numbers | None = None) -> Mapping[str, Any]:
    """The numbers of a setting, from the figure or from the readings."""
    found: Mapping[str, Any] = figure["policies"]
    if label not in found and readings is not None:
        found = readings["policies"]
    one: Mapping[str, Any] = found[label]
    return one
