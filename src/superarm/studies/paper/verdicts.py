"""What a claim and its verdict are, and the rules for intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

Numbers = Mapping[str, Any]


class Verdict(StrEnum):
    """What the numbers say about a claim."""

    REPRODUCED = "reproduced"
    CONDITIONALLY = "reproduced under a condition"
    NOT_REPRODUCED = "not reproduced"
    # More runs may decide either way.
    UNDECIDED = "undecided"
    NOT_JUDGED = "not judged at this size"


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, and how it is judged.

    The numbers of experiments decide, if the experiments are large enough for a verdict.

    Attributes
    ----------
    sentence
        The claim in our words.
    quote, where
        The paper's words, and where they are.
    reading
        What the paper leaves open, and how it is read here.
    needs, judge
        The experiments whose numbers ``judge`` takes, in this order.
    sizes
        The least value of numbers of an experiment, by name of the experiment. Smaller experiments
        cannot support a verdict. Statements without sizes are judged at any size.
    """

    sentence: str
    quote: str
    where: str
    reading: str
    needs: tuple[str, ...]
    judge: Callable[..., Judged]
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class Judged(NamedTuple):
    """What was measured, and the verdict that follows."""

    measured: str
    interval: str
    verdict: Verdict
    because: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper with what was measured, and the verdict that follows."""

    sentence: str
    quote: str
    where: str
    reading: str
    measured: str
    interval: str
    verdict: Verdict
    because: str


def claim_of(statement: Statement, numbers: Mapping[str, Numbers]) -> Claim:
    """The statement with its verdict, or unjudged where an experiment is too small for it."""
    small = _too_small(statement, numbers)
    if small:
        judged = Judged("", "", Verdict.NOT_JUDGED, f"a verdict needs {small}")
    else:
        judged = statement.judge(*(numbers[name] for name in statement.needs))
    said = (statement.sentence, statement.quote, statement.where, statement.reading)
    return Claim(*said, *judged)


def _too_small(statement: Statement, numbers: Mapping[str, Numbers]) -> str:
    """The sizes that are missing, in words; empty if there are none."""
    missing = [
        f"{name} >= {least:,} in {experiment} (here {numbers[experiment][name]:,})"
        for experiment, sizes in statement.sizes.items()
        for name, least in sizes.items()
        if numbers[experiment][name] < least
    ]
    return ", ".join(missing)


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


def shown_interval(interval: Mapping[str, float], unit: str = "", digits: int = 2) -> str:
    """Both ends, with their unit."""
    return f"{interval['low']:.{digits}f} to {interval['high']:.{digits}f}{unit}"
