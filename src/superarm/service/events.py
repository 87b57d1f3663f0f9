"""The events of a bandit, each chained to the one before it by a digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

KINDS = ("created", "decided", "told", "arms_added", "arms_retired", "arms_restored", "expired")


class Event(NamedTuple):
    """One row of the log.

    ``decision`` is the number of the decision that it is about, the first one for a batch; ``key`` the idempotency
    key; ``body`` JSON text, kept to the byte; ``digest`` that of everything up to here.
    """

    seq: int
    time: float
    kind: str
    decision: int | None
    key: str | None
    body: str
    digest: bytes


class Bandit(NamedTuple):
    """A row of the table of bandits: ``number`` is what the log knows it by, ``id`` what clients do."""

    number: int
    id: str
    name: str
    k: int
    created: float


class DamagedLogError(Exception):
    """The log does not say what was written to it. Nothing is written any more."""

    verdict = "damaged"


class OtherDecisionError(DamagedLogError):
    """The log is whole, but made again, a decision comes out otherwise than it has it."""

    verdict = "decided otherwise"


def root(bandit: str) -> bytes:
    """The digest before the first event.

    Examples
    --------
    >>> first = seal(root("b1"), 1, 0.0, "created", None, None, {"spec": {}})
    >>> first.seq, first.body
    (1, '{"spec":{}}')
    >>> check(root("b1"), 0, first)
    """
    return hashlib.sha256(b"superarm log 1\n" + bandit.encode()).digest()


def seal(
    before: bytes,
    seq: int,
    time: float,
    kind: str,
    decision: int | None,
    key: str | None,
    body: dict[str, Any],
) -> Event:
    """An event that follows on a digest."""
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    return Event(
        seq, time, kind, decision, key, text, _digest(before, seq, time, kind, decision, key, text)
    )


def check(before: bytes, seq: int, event: Event) -> None:
    """Refuse an event that does not follow on the one with this seq and digest."""
    if event.seq != seq + 1:
        raise DamagedLogError(f"event {seq + 1} is missing: after event {seq} comes {event.seq}")
    if _digest(before, *event[:-1]) != event.digest:
        raise DamagedLogError(
            f"event {event.seq} is not what was written, or one before it is not: its digest differs"
        )


def _digest(
    before: bytes,
    seq: int,
    time: float,
    kind: str,
    decision: int | None,
    key: str | None,
    body: str,
) -> bytes:
    head = f"{seq}\n{time!r}\n{kind}\n{decision}\n{key!r}\n"
    return hashlib.sha256(before + head.encode() + body.encode()).digest()
