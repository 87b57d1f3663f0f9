"""Names of arms at the edge. They are texts, as over HTTP, so that the number 7 means "7"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from superarm.client.requests import by_text, names_of
from superarm.sets import Group


def outcomes_by_text(outcomes: Any) -> Any:
    """Outcomes by text. What is no mapping and no Series is left to the session, which refuses."""
    arms = outcomes.keys() if hasattr(outcomes, "keys") else ()
    if all(type(arm) is str for arm in arms):  # as in most calls
        return outcomes
    return by_text({arm: outcomes[arm] for arm in arms}, "outcomes")


def constraints_by_text(constraints: Mapping[str, Any]) -> dict[str, Any]:
    """The constraints of `Session.feasible` with texts."""
    named = dict(constraints)
    for name in named.keys() & {"available", "must", "must_not"}:
        if named[name] is not None:
            named[name] = names_of(named[name], name)
    if named.get("weights") is not None:
        named["weights"] = by_text(named["weights"], "weights")
    named["groups"] = [_group(group) for group in named.get("groups", ())]
    return named


def _group(group: Any) -> Any:
    if not isinstance(group, Group):
        return group  # the session refuses it
    arms: Any = group.arms
    return replace(group, arms=names_of(arms, "the arms of a group"))
