"""The events of a bandit. Each event carries a digest of itself and of all events before it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

KINDS = ("created", "decided", "told", "arms_added", "arms_retired", "arms_restored", "expired")
# Compact, and NaN is refused: other programs must be able to read the log.
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class Event(NamedTuple):
    """One row of the log.

    Attributes
    ----------
    seq
        Position in the log of the bandit: 1, 2, 3, ...
    time
        Seconds since 1970.
    kind
        One of `KINDS`.
    decision
        Number of the decision that the event is about; for a batch, the first number.
    key
        Idempotency key of the request.
    body
        JSON text, stored byte for byte.
    digest
        SHA-256 of the previous digest and of this event.
    """

    seq: int
    time: float
    kind: str
    decision: int | None
    key: str | None
    body: str
    digest: bytes


class Bandit(NamedTuple):
    """A row of the table of bandits. The log uses ``number``, clients use ``id``."""

    number: int
    id: str
    name: str
    k: int
    created: float


class DamagedLogError(Exception):
    """The log is not what was written. The service stops writing to it."""

    verdict = "damaged"


class OtherDecisionError(DamagedLogError):
    """The log is intact, but a decision that is made again differs from the logged one."""

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
    """Make the event that follows the digest ``before``."""
    unsealed = Event(seq, time, kind, decision, key, _ENCODER.encode(body), b"")
    return unsealed._replace(digest=_digest(before, unsealed))


def check(before: bytes, seq: int, event: Event) -> None:
    """Raise unless ``event`` follows the event with this ``seq`` and digest."""
    if event.seq != seq + 1:
        raise DamagedLogError(f"event {seq + 1} is missing: event {seq} is followed by {event.seq}")
    if _digest(before, event) != event.digest:
        raise DamagedLogError(
            f"event {event.seq} or an event before it was changed after it was written: "
            f"its digest differs"
        )


def _digest(before: bytes, event: Event) -> bytes:
    """The digest that the event must carry; the digest that it does carry is not read."""
    # repr() of a float is exact, so that the digest does not depend on rounding. The body comes
    # last, so that no text in it can be taken for one of the fields before it.
    head = f"{event.seq}\n{event.time!r}\n{event.kind}\n{event.decision}\n{event.key!r}\n"
    return hashlib.sha256(before + head.encode() + event.body.encode()).digest()
