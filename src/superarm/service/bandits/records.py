"""A decision in the log and in answers. `Decision.as_dict` says how it is written."""

from __future__ import annotations

from typing import Any

from superarm.sessions import Decision

Record = dict[str, Any]
Answer = dict[str, Any]
PROPENSITIES = ("propensities", "set_propensity", "n_samples")


def record_of(decision: Decision) -> Record:
    """A decision as its event stores it. The event has round and time once for all decisions."""
    record = decision.as_dict()
    del record["round"], record["time"]
    return record


def decision_of(record: Record, round: int, time: float) -> Decision:
    """The decision of a record."""
    return Decision.from_dict({**record, "round": round, "time": time})


def answer_of(bandit: str, record: Record, round: int, time: float) -> Answer:
    """A decision as clients see it."""
    return {"id": record["id"], "bandit": bandit, **record, "round": round, "time": time}


def answers_of(bandit: str, body: dict[str, Any], time: float) -> list[Answer]:
    """The decisions of an event, from its body and time."""
    return [answer_of(bandit, one, body["round"], time) for one in body["decisions"]]
