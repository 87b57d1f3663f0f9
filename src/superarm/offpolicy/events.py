"""What a service's log of events says of decisions and their outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]


def decided(
    events: Iterable[str | bytes | Mapping[str, Any]], after: int
) -> tuple[list[Row], list[str]]:
    """The decisions with propensities of events after one, as `Log.of` takes them, and the names of all arms."""
    made: dict[str, Row] = {}
    names: list[str] = []
    for place, given in enumerate((event for event in events if not _is_blank(event)), start=1):
        try:
            event = given if isinstance(given, Mapping) else as_json(given, place)
            if place == 1:
                bandit = event["bandit"]
            _check_place(event, place, bandit)
            _follow(event, made, names, after)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"event {place} must be one of a service's log, got {given!r:.60}, for which Python says: {error!r}"
            ) from error
    if not made:
        raise ValueError(
            f"the log must have decisions with propensities after event {after}, got none; ask the service for them: "
            f"client.ask(bandit, propensities=1000)"
        )
    return [{**row, "outcomes": list(row["outcomes"].values())} for row in made.values()], names


def as_json(line: str | bytes, place: int) -> Mapping[str, Any]:
    """The object of a line."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {place} must be JSON, got {line[:40]!r}: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {place} must be a JSON object, got {line[:40]!r}")
    return row


def _is_blank(given: str | bytes | Mapping[str, Any]) -> bool:
    return isinstance(given, str | bytes) and not given.strip()


def _check_place(event: Mapping[str, Any], place: int, bandit: str) -> None:
    """Refuse logs of several bandits, and logs with a gap: an outcome may have been in it."""
    if event["bandit"] != bandit:
        raise ValueError(
            f"events must be of one bandit, got {bandit!r} and, as event {place}, {event['bandit']!r}"
        )
    if event["seq"] != place:
        raise ValueError(
            f"events must come one after the other, from the bandit's creation on, got seq {event['seq']!r} as event "
            f"{place}; read the whole log, and say from_events(..., after=N) to leave earlier decisions out"
        )


def _follow(event: Mapping[str, Any], made: dict[str, Row], names: list[str], after: int) -> None:
    """Take an event into what was made, whose outcomes are by arm, and into the names."""
    kind = event["kind"]
    if kind == "created":
        arms = event["spec"]["arms"]
        names += map(str, range(arms)) if isinstance(arms, int) else arms
    elif kind == "arms_added":
        names += event["arms"]
    elif kind == "decided" and event["seq"] > after:
        for one in event["decisions"]:
            if one.get("propensities") is not None:
                row = {name: one[name] for name in ("arms", "propensities", "set_propensity")}
                made[one["id"]] = {**row, "outcomes": dict.fromkeys(one["arms"])}
    elif kind == "told" and event["decision"] in made:
        told = made[event["decision"]]["outcomes"]
        for arm, outcome in event["outcomes"].items():
            if arm not in told:
                raise ValueError(
                    f"event {event['seq']} must tell of the arms {list(told)}, got an outcome of {arm!r}"
                )
            told[arm] = outcome
