"""Decisions and their outcomes from the log of events of a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from superarm.offpolicy.rows import as_json

_KEPT = ("arms", "propensities", "set_propensity", "n_samples")
Logged: TypeAlias = dict[str, Any]  # a decision, its outcomes by arm


def logged_rows(
    events: Iterable[str | bytes | Mapping[str, Any]], after: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """The decisions with propensities, as `Log.of` takes them, and the names of all arms.

    Decisions of events up to ``after`` are left out.
    """
    decided: dict[str, Logged] = {}
    names: list[str] = []
    bandit = None
    for place, given in enumerate((event for event in events if not _is_blank(event)), start=1):
        try:
            event = given if isinstance(given, Mapping) else as_json(given, place)
            # The first event says which bandit the log is of.
            bandit = event["bandit"] if bandit is None else bandit
            _check_place(event, place, bandit)
            _follow(event, decided, names, after)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"event {place} must be one of a service's log, got {given!r:.60}, "
                f"for which Python says: {error!r}"
            ) from error
    if not decided:
        raise ValueError(
            f"the log must have decisions with propensities after event {after}, got none; "
            f"ask the service for them: client.ask(bandit, propensities=1000)"
        )
    rows = [{**row, "outcomes": list(row["outcomes"].values())} for row in decided.values()]
    return rows, names


def _is_blank(given: str | bytes | Mapping[str, Any]) -> bool:
    return isinstance(given, str | bytes) and not given.strip()


def _check_place(event: Mapping[str, Any], place: int, bandit: str) -> None:
    """Refuse logs of several bandits, and logs with a gap: outcomes may be missing in it."""
    if event["bandit"] != bandit:
        raise ValueError(
            f"events must be of one bandit, got {bandit!r} and, as event {place}, "
            f"{event['bandit']!r}"
        )
    if event["seq"] != place:
        raise ValueError(
            f"events must come one after the other, from the bandit's creation on, got seq "
            f"{event['seq']!r} as event {place}; read the whole log, and say "
            f"from_events(..., after=N) to leave earlier decisions out"
        )


def _follow(
    event: Mapping[str, Any], decided: dict[str, Logged], names: list[str], after: int
) -> None:
    """Add what one event says to the decisions and to the names."""
    kind = event["kind"]
    if kind == "created":
        arms = event["spec"]["arms"]
        names += map(str, range(arms)) if isinstance(arms, int) else arms
    elif kind == "arms_added":
        names += event["arms"]
    elif kind == "told":
        # One event may have the outcomes of several requests.
        for told in event.get("told", [event]):
            if told["decision"] in decided:
                _fill(decided[told["decision"]]["outcomes"], told, event["seq"])
    elif kind in ("decided", "merged") and event["seq"] > after:
        decided.update(_decisions_of(event))


def _decisions_of(event: Mapping[str, Any]) -> Iterator[tuple[str, Logged]]:
    """The decisions of an event that have propensities, by their ids."""
    is_merged = event["kind"] == "merged"
    for one in event["decisions"]:
        if one.get("propensities") is None:
            continue
        # Decisions that were asked for together have one context, that of their request.
        asked = one if is_merged else event.get("ask", {})
        # Merged decisions come with outcomes. Other outcomes are None, that is missing, until a
        # later event has them.
        outcomes = one["outcomes"] if is_merged else {}
        row = {name: one.get(name) for name in _KEPT}
        row["context"] = asked.get("context")
        row["outcomes"] = {arm: outcomes.get(arm) for arm in one["arms"]}
        yield one["id"], row


def _fill(outcomes: dict[str, Any], told: Mapping[str, Any], seq: int) -> None:
    for arm, outcome in told["outcomes"].items():
        if arm not in outcomes:
            raise ValueError(
                f"event {seq} must tell of the arms {list(outcomes)}, got an outcome of {arm!r}"
            )
        outcomes[arm] = outcome
