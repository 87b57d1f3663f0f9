"""A decision in the log and in answers. `Decision.as_dict` says how it is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, repeat
from typing import Any

import numpy as np

from superarm.sessions import Decision
from superarm.sessions.decisions import as_plain_context
from superarm.sessions.edge import Remote

Record = dict[str, Any]
Answer = dict[str, Any]
PROPENSITIES = ("propensities", "set_propensity", "n_samples")
_DECODER = json.JSONDecoder()
_PER_ARM = ("arms", "values", "propensities")  # lists with one element per arm


def like(record: Record, logged: Record, numbers: Callable[[list[Any]], list[int]]) -> Record:
    """A decision in the form of a logged one, which may be from before decisions were ranked."""
    if logged.get("ranked"):
        return record
    places = np.argsort(numbers(record["arms"])).tolist()
    per_arm = {name: record[name] for name in _PER_ARM if record.get(name) is not None}
    before = {**record, **{name: [one[i] for i in places] for name, one in per_arm.items()}}
    del before["ranked"]
    return before


def each_of(body: dict[str, Any]) -> Iterator[tuple[Record, int, dict[str, Any]]]:
    """The decisions of an event, each with its round and with what its request asked for.

    Decisions of one request have one round and one ``ask``. Those of several requests that were
    decided together have a round each, and ``asks``.
    """
    if "asks" in body:
        return zip(body["decisions"], count(body["round"]), body["asks"], strict=False)
    return zip(body["decisions"], repeat(body["round"]), repeat(body["ask"]), strict=False)


def told_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Decisions with outcomes, from the body of an event of one request or of several."""
    return body.get("told", [body])


def outcomes_in(body: str, id: str) -> dict[str, float]:
    """The outcomes of a decision in the body of an event ``told``.

    The event may have those of many decisions, so only the text about this one is parsed.

    Examples
    --------
    >>> one, two = ('{"decision":"b-%d","outcomes":{"ant":%d.0}}' % (n, n % 2) for n in (7, 70))
    >>> outcomes_in(f'{{"told":[{one},{two}]}}', "b-7")
    {'ant': 1.0}
    """
    # Names of arms have no plain quotes in JSON, so this text is nowhere else.
    before = f'"decision":"{id}","outcomes":'
    found: dict[str, float] = {}
    start = body.find(before)
    while start >= 0:
        outcomes, end = _DECODER.raw_decode(body, start + len(before))
        found |= outcomes
        start = body.find(before, end)
    return found


def decisions_of(body: dict[str, Any], time: float) -> list[Decision]:
    """The decisions of an event, from its body and time."""
    shared = [{**one, "round": round, "time": time} for one, round, _ in each_of(body)]
    made = [Decision.from_dict(one) for one in shared]
    context = as_plain_context(body.get("ask", {}).get("context"))
    # One tuple for all decisions: a context may have a row for each of many arms.
    return made if context is None else [replace(one, context=context) for one in made]


def remote_of(body: dict[str, Any]) -> list[Remote]:
    """The decisions that a client made by itself, with their outcomes, from the body of a batch."""
    made = [{"values": None, "certified": False, **one} for one in body["decisions"]]
    return [(Decision.from_dict(one), one["outcomes"]) for one in made]


class Repeated(dict[str, Any]):
    """The answer that an earlier request with the same idempotency key got."""


def answer_of(
    bandit: str, record: Record, round: int, time: float, context: Any, metadata: Any = None
) -> Answer:
    """A decision as clients see it; without context or metadata if there are none."""
    answer = {"id": record["id"], "bandit": bandit, **record, "round": round, "time": time}
    if context is not None:
        answer["context"] = context
    return answer if metadata is None else {**answer, "metadata": metadata}


def answer_at(bandit: str, body: dict[str, Any], time: float, place: int) -> Answer:
    """The decision at a place of an event as clients see it."""
    many = "asks" in body
    asked = body["asks"][place] if many else body["ask"]
    round = body["round"] + (place if many else 0)
    context, metadata = asked.get("context"), asked.get("metadata")
    return answer_of(bandit, body["decisions"][place], round, time, context, metadata)


def answers_of(bandit: str, body: dict[str, Any], time: float) -> list[Answer]:
    """The decisions of an event as clients see them, from its body and time."""
    return [
        answer_of(bandit, one, round, time, asked.get("context"), asked.get("metadata"))
        for one, round, asked in each_of(body)
    ]
