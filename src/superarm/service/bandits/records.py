"""A decision as plain JSON: the one place that says how the log and the answers write it."""

from __future__ import annotations

import json
from typing import Any

from superarm.service.log.events import Event
from superarm.sessions import Decision

Record = dict[str, Any]
Answer = dict[str, Any]
PROPENSITIES = ("propensities", "set_propensity", "n_samples")


def record_of(decision: Decision) -> Record:
    """A decision as its event stores it. Round and time are stored once per event."""
    record: Record = {
        "id": decision.id,
        "arms": list(decision.arms),
        "values": None if decision.values is None else list(decision.values),
        "certified": decision.certified,
    }
    if decision.propensities is not None:
        record["propensities"] = list(decision.propensities)
        record["set_propensity"] = decision.set_propensity
        record["n_samples"] = decision.n_samples
    return record


def decision_of(record: Record, round: int, time: float) -> Decision:
    """The decision of a record."""
    members = {**record, "arms": tuple(record["arms"])}
    for name in ("values", "propensities"):
        if record.get(name) is not None:
            members[name] = tuple(record[name])
    return Decision(**members, round=round, time=time)


def answer_of(bandit: str, record: Record, round: int, time: float) -> Answer:
    """A decision as clients see it."""
    return {"id": record["id"], "bandit": bandit, **record, "round": round, "time": time}


def answers_of(bandit: str, event: Event) -> list[Answer]:
    """The decisions of an event."""
    body = json.loads(event.body)
    return [answer_of(bandit, one, body["round"], event.time) for one in body["decisions"]]


def number_of(id: str) -> int:
    """The number of a decision: the last part of its id."""
    return int(id.rpartition("-")[2])
