"""What a claim and its verdict are, and the rules for intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the numbers say about a claim."""

    REPRODUCED = "reproduced"
    CONDITIONALLY = "reproduced under a condition"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured, and the verdict that follows."""

    sentence: str
    measured: str
    interval: str
    verdict: Verdict
    because: str


def below(interval: Mapping[str, float], limit: float) -> Verdict:
    """Reproduced if the interval is below the limit, not if it is above."""
    if interval["high"] <= limit:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if interval["low"] > limit else Verdict.UNDECIDED


def above(interval: Mapping[str, float], limit: float) -> Verdict:
    """Reproduced if the interval is above the limit, not if it is below."""
    if interval["low"] > limit:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if interval["high"] <= limit else Verdict.UNDECIDED


def both(one: Verdict, other: Verdict) -> Verdict:
    """Reproduced if both are; not if one is not."""
    if Verdict.NOT_REPRODUCED in (one, other):
        return Verdict.NOT_REPRODUCED
    return Verdict.UNDECIDED if Verdict.UNDECIDED in (one, other) else Verdict.REPRODUCED


def inside(interval: Mapping[str, float], low: float, high: float) -> Verdict:
    """Reproduced if the interval is within the limits, not if it is outside."""
    if interval["low"] >= low and interval["high"] <= high:
        return Verdict.REPRODUCED
    outside = interval["high"] < low or interval["low"] > high
    return Verdict.NOT_REPRODUCED if outside else Verdict.UNDECIDED


def shown_interval(interval: Mapping[str, float], unit: str, digits: int = 2) -> str:
    """Both ends, with their unit."""
    return f"{interval['low']:.{digits}f} to {interval['high']:.{digits}f}{unit}"
