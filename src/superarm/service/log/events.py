"""The events of a bandit. Each event carries a digest of itself and of all events before it.

The event of one request has the number of its decision and its key in columns of its own. An event
of several requests has them in its body, and one row in a table for each: see `Members`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

KINDS = (
    *("created", "decided", "told", "expired", "merged"),
    *("arms_added", "arms_retired", "arms_restored"),
)
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


# The arguments of `seal` after the digest: seq, time, kind, decision, key, body.
Unsealed = tuple[int, float, str, int | None, str | None, dict[str, Any]]


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
    """Make the event that follows the digest ``before``.

    The body becomes compact JSON, in which NaN is refused: other programs must be able to read it.
    """
    text = to_json(body).decode()
    # Names may have these words and other letters, too, so the slower encoder decides.
    if not text.isascii() or "NaN" in text or "Infinity" in text:
        text = _ENCODER.encode(body)
    fields = (seq, time, kind, decision, key, text)
    return Event(*fields, _digest(before, fields))


def check(before: bytes, seq: int, event: Event) -> None:
    """Raise unless ``event`` follows the event with this ``seq`` and digest."""
    if event.seq != seq + 1:
        raise DamagedLogError(f"event {seq + 1} is missing: event {seq} is followed by {event.seq}")
    if _digest(before, event[:-1]) != event.digest:
        raise DamagedLogError(
            f"event {event.seq} or an event before it was changed after it was written: "
            f"its digest differs"
        )


def _digest(before: bytes, fields: tuple[int, float, str, int | None, str | None, str]) -> bytes:
    """The digest that an event must carry, from all its other fields, in order."""
    seq, time, kind, decision, key, body = fields
    # repr() of a float is exact, so that the digest does not depend on rounding. The body comes
    # last, so that no text in it can be taken for one of the fields before it.
    head = f"{seq}\n{time!r}\n{kind}\n{decision}\n{key!r}\n{body}"
    return hashlib.sha256(before + head.encode()).digest()


class Members(NamedTuple):
    """What the event ``seq`` of several requests is about, for the rows by which it is found.

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


def decision_in(kind: str, body: dict[str, Any]) -> int | None:
    """The number of the decision by which readers find an event: the first one of a batch."""
    if kind == "decided":
        return _number(body["decisions"][0]["id"])
    return _number(body["decision"]) if kind == "told" and "decision" in body else None


def _number(id: str) -> int:
    return int(id.rpartition("-")[2])  # the number of a decision ends its id


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
        numbers = {_number(one["decision"]) for one in body["told"]}
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


class Pending:
    """The last events of a bandit, which its thread is about to commit.

    They get their digests when somebody looks at them, which is seldom before the commit. Encoding
    all events of a turn one after the other takes less time than encoding each right after its
    decision, which has filled the caches of the processor with arrays.

    Parameters
    ----------
    digest
        That of the last committed event.

    Examples
    --------
    >>> pending = Pending(root("b1"))
    >>> pending.add((1, 0.0, "created", None, None, {"spec": {}}))
    >>> len(pending), pending.events[0].body
    (1, '{"spec":{}}')
    >>> events, members = pending.take()
    >>> [event.digest == pending.digest for event in events], members, len(pending)
    ([True], [], 0)
    """

    def __init__(self, digest: bytes) -> None:
        self._digest = digest  # of the last sealed event
        self._sealed: list[Event] = []
        self._unsealed: list[Unsealed] = []
        self._members: list[Members] = []
        self._keys: set[str] = set()

    def __len__(self) -> int:
        return len(self._sealed) + len(self._unsealed)

    def add(self, event: Unsealed) -> None:
        """Add the next event. Nobody may change its body from now on."""
        seq, _, kind, _, key, body = event
        self._unsealed.append(event)
        if key is not None:
            self._keys.add(key)
        if "asks" in body or "told" in body:
            members = members_of(seq, kind, body)
            self._members.append(members)
            self._keys.update(members.keys)

    @property
    def digest(self) -> bytes:
        """The digest of the last event, committed or not."""
        self._seal()
        return self._digest

    @property
    def events(self) -> Sequence[Event]:
        """The events, the oldest first."""
        self._seal()
        return self._sealed

    def follow(self, digest: bytes) -> None:
        """Go on after an event of the log."""
        self._digest = digest

    def with_keys(self, keys: Sequence[str]) -> list[Event]:
        """The events of requests with idempotency keys."""
        wanted = self._keys.intersection(keys)
        if not wanted:
            return []
        seqs = {one.seq for one in self._members if wanted.intersection(one.keys)}
        return [one for one in self.events if one.key in wanted or one.seq in seqs]

    def take(self) -> tuple[list[Event], list[Members]]:
        """The events, and their members. From now on they count as committed."""
        self._seal()
        taken = self._sealed, self._members
        self._sealed, self._members = [], []
        self._keys.clear()
        return taken

    def _seal(self) -> None:
        if not self._unsealed:
            return
        digest, made = self._digest, []
        for fields in self._unsealed:
            event = seal(digest, *fields)
            digest = event.digest
            made.append(event)
        # Only now: if an event cannot be encoded, the next look fails as well.
        self._digest, self._unsealed = digest, []
        self._sealed += made
