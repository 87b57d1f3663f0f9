"""What an event of several requests is about: rows beside it, by which it is found.

The event of one request has the number of its decision and its key in columns of its own. An event
of several requests has them in its body, and one row in a table for each.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from superarm.service.log.events import Event


class Members(NamedTuple):
    """The members of the event ``seq``.

    Attributes
    ----------
    n
        The number of requests.
    told
        The numbers of the decisions whose outcomes the event has.
    keys
        The idempotency keys of its requests for decisions.
    """

    seq: int
    kind: str
    n: int
    told: list[int]
    keys: list[str]


def n_requests(body: dict[str, Any]) -> int:
    """How many requests an event is of, by its body."""
    return len(body.get("asks") or body.get("told") or [body])


def members_of(seq: int, kind: str, body: dict[str, Any]) -> Members:
    """The members of an event of several requests.

    Examples
    --------
    >>> told = [{"decision": "b-7", "outcomes": {"ant": 1.0}}, {"decision": "b-9", "outcomes": {}}]
    >>> members_of(3, "told", {"told": told})
    Members(seq=3, kind='told', n=2, told=[7, 9], keys=[])
    >>> members_of(4, "decided", {"asks": [{}, {}], "keys": [None, "once"]})
    Members(seq=4, kind='decided', n=2, told=[], keys=['once'])
    """
    if kind == "told":
        # The number of a decision ends its id.
        numbers = {int(one["decision"].rpartition("-")[2]) for one in body["told"]}
        return Members(seq, kind, len(body["told"]), sorted(numbers), [])
    keys = [key for key in body.get("keys", ()) if key is not None]
    return Members(seq, kind, len(body["asks"]), [], keys)


def members_in(events: Iterable[Event]) -> list[Members]:
    """The members of logged events that have rows. Bodies that are damaged have none."""
    found = []
    for event in events:
        # To parse a body takes longer than to see that there are none.
        is_told = event.kind == "told" and event.decision is None
        if is_told or (event.kind == "decided" and '"keys":' in event.body):
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                found.append(members_of(event.seq, event.kind, json.loads(event.body)))
    return found
