"""Probing a reward: what it is like, whether it keeps what it declares, and which oracle suits it."""

from superarm.advice.choice import Recommendation
from superarm.advice.inspector import auto, inspect, n_evaluations
from superarm.advice.result import Inspection, Property, Witness

__all__ = [
    "Inspection",
    "Property",
    "Recommendation",
    "Witness",
    "auto",
    "inspect",
    "n_evaluations",
]
