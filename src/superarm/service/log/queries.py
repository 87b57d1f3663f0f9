"""The tables, and the SQL that SQLite and PostgreSQL share.

Stores have functions below as methods (see `shared_queries`) that only read and write rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from superarm.service.log.events import Bandit, Event, Members, members_in
from superarm.service.log.store import Checkpoint, KeyRow, Store

Statement = tuple[str, Sequence[Any]]

_BANDIT = "SELECT number, id, name, k, created FROM bandits"
# The row of a deleted bandit stays, so that its number and its id are not used again.
_EXISTS, _DELETED = "k > 0", "k = 0"
_OF_BANDITS = ("checkpoints", "bases")  # tables with a row for a bandit
_EVENTS_PER_PURGE = 1000  # other bandits commit between two portions
_EVENT = "seq, time, kind, decision, key, body, digest"
_KEY = "id, role, note, created, digest"
_MOST_READ = 4 << 20  # characters of events that are read at once
INSERT_BANDIT = "INSERT INTO bandits (id, name, k, created) VALUES (?, ?, ?, ?)"
EVENT_ROW = "(?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_EVENT = f"INSERT INTO events (bandit, {_EVENT}) VALUES {EVENT_ROW}"
INSERT_KEY = f"INSERT INTO keys ({_KEY}) VALUES (?, ?, ?, ?, ?)"
_PUT = (
    "INSERT INTO {table} AS old (bandit, meta, data, sha256) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (bandit) DO UPDATE "
    "SET meta = excluded.meta, data = excluded.data, sha256 = excluded.sha256"
)
PUT_CHECKPOINT, PUT_BASE = (_PUT.format(table=table) for table in ("checkpoints", "bases"))

WITH_BASES, WITH_MEMBERS = 3, 4  # the versions that brought these tables
# Each database fills in its names of the types. One of an earlier version gets what it lacks.
TABLES = (
    "CREATE TABLE IF NOT EXISTS bandits (number {serial}, id TEXT NOT NULL UNIQUE, "
    "name TEXT NOT NULL UNIQUE, k INTEGER NOT NULL, created {real} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS events (bandit {int} NOT NULL, seq {int} NOT NULL, "
    "time {real} NOT NULL, kind TEXT NOT NULL, decision {int}, key TEXT, body TEXT NOT NULL, "
    "digest {blob} NOT NULL, PRIMARY KEY (bandit, seq)){tail}",
    "CREATE UNIQUE INDEX IF NOT EXISTS events_by_key ON events (bandit, key) WHERE key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS events_by_decision ON events (bandit, decision, seq) "
    "WHERE decision IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS events_expired ON events (bandit, seq) WHERE kind = 'expired'",
    "CREATE TABLE IF NOT EXISTS checkpoints (bandit {int} PRIMARY KEY, meta TEXT NOT NULL, "
    "data {blob} NOT NULL, sha256 {blob} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS bases (bandit {int} PRIMARY KEY, meta TEXT NOT NULL, "
    "data {blob} NOT NULL, sha256 {blob} NOT NULL)",
    # Of events of several requests: see `superarm.service.log.events.Members`.
    "CREATE TABLE IF NOT EXISTS told (bandit {int} NOT NULL, decision {int} NOT NULL, "
    "seq {int} NOT NULL, PRIMARY KEY (bandit, decision, seq)){tail}",
    "CREATE TABLE IF NOT EXISTS asked (bandit {int} NOT NULL, key TEXT NOT NULL, "
    "seq {int} NOT NULL, PRIMARY KEY (bandit, key)){tail}",
    "CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, role TEXT NOT NULL, "
    "note TEXT NOT NULL, created {real} NOT NULL, digest {blob} NOT NULL)",
)


def emptying(version: int) -> list[str]:
    """Statements for the tables that came after a version."""
    # A dump of that version lacks these tables, so restoring it leaves rows of a later log there.
    later = {"bases": WITH_BASES, "told": WITH_MEMBERS, "asked": WITH_MEMBERS}
    return [f"DELETE FROM {table}" for table, since in later.items() if version < since]


@dataclass
class LogTurn:
    """A `Turn`, whose methods are those of its store for one bandit."""

    store: Store
    news: list[Event]
    by_keys: Callable[[Sequence[str]], list[Event]]
    commit: Callable[..., None]


class Database(Protocol):
    """What a store adds to the functions below. Statements have ``?`` where a value goes."""

    has_bases: bool  # whether the database has a table of them
    has_members: bool  # whether it has tables of them
    body: str  # the SQL for the text of an event
    of_events: tuple[str, ...]  # the tables with rows of events

    def each(self, values: Sequence[int] | Sequence[str]) -> Statement:
        """A query that has the values as rows, as one column ``value``."""

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a query."""

    def _write(self, statements: list[Statement]) -> None:
        """Execute all statements in one transaction, and return when they are durable."""


# The part of a `Store` that is the same in every SQL database: a store takes these as its methods.


def bandit(self: Database, id: str) -> Bandit | None:
    """The bandit with an id."""
    return next(_bandits(self, f"WHERE id = ? AND {_EXISTS}", id), None)


def bandit_named(self: Database, name: str) -> Bandit | None:
    """The bandit with a name."""
    return next(_bandits(self, f"WHERE name = ? AND {_EXISTS}", name), None)


def bandits(self: Database, limit: int, after: int = 0) -> list[Bandit]:
    """Bandits with numbers above ``after``, in ascending order."""
    where = f"WHERE number > ? AND {_EXISTS} ORDER BY number LIMIT ?"
    return list(_bandits(self, where, after, limit))


def delete(self: Database, number: int) -> None:
    """Delete a bandit and its checkpoint, and give up its name. Its events are left to `purge`."""
    # No bandit has such a name, because names have no control characters.
    mark = f"UPDATE bandits SET k = 0, name = '\x01' || id WHERE number = ? AND {_EXISTS}"
    caches = [(f"DELETE FROM {name} WHERE bandit = ?", (number,)) for name in _OF_BANDITS]
    self._write([(mark, (number,)), *caches])


def deleted(self: Database, id: str) -> int | None:
    """The number of the bandit with an id, if it was deleted."""
    return next((one.number for one in _bandits(self, f"WHERE id = ? AND {_DELETED}", id)), None)


def to_purge(self: Database) -> list[int]:
    """The numbers of deleted bandits whose events are not all gone."""
    left = "EXISTS (SELECT 1 FROM events WHERE events.bandit = bandits.number)"
    return [row[0] for row in self._read(f"SELECT number FROM bandits WHERE {_DELETED} AND {left}")]


def purge(self: Database, number: int) -> None:
    """Remove the events of a deleted bandit, some at a time."""
    newest = last(self, number)
    remove(self, number, 0, 0 if newest is None else newest.seq + 1)


def compact(self: Database, number: int, seq: int, base: Checkpoint) -> None:
    """Store the bandit at event ``seq``, and remove all earlier events except the first."""
    self._write([(PUT_BASE, (number, *base))])
    remove(self, number, 1, seq)


def remove(self: Database, number: int, after: int, before: int) -> None:
    """Remove the events with a seq between two others, some at a time."""
    while after < before - 1:
        found = events(self, number, after, min(_EVENTS_PER_PURGE, before - after - 1))
        some = [event for event in found if event.seq < before]
        if not some:
            return
        upto = some[-1].seq
        query, span = "DELETE FROM {} WHERE bandit = ? AND seq > ? AND seq <= ?", (after, upto)
        rows = [(query.format(table), (number, *span)) for table in self.of_events]
        self._write([*rows, *_deleting(self, number, members_in(some))])
        after = upto


def inserting(self: Database, number: int, members: list[Members]) -> list[Statement]:
    """Store the rows of the members of events."""
    query = "INSERT INTO {table} (bandit, seq, {column}) SELECT ?, ?, value FROM ({each}) AS new"
    return _for_rows(self, query, number, members)


def _deleting(self: Database, number: int, members: list[Members]) -> list[Statement]:
    # There is no index by seq alone.
    query = "DELETE FROM {table} WHERE bandit = ? AND seq = ? AND {column} IN ({each})"
    return _for_rows(self, query, number, members)


def _for_rows(self: Database, query: str, number: int, members: list[Members]) -> list[Statement]:
    made: list[Statement] = []
    for one in members:
        for table, column, values in (("told", "decision", one.told), ("asked", "key", one.keys)):
            if values:
                each, given = self.each(values)
                filled = query.format(table=table, column=column, each=each)
                made.append((filled, (number, one.seq, *given)))
    return made


def events(self: Database, number: int, after: int, limit: int) -> list[Event]:
    """Events with a seq above ``after``, in ascending order.

    At most ``limit``, and fewer if they are large: one may have a million numbers.
    """
    where = "WHERE bandit = ? AND seq > ? ORDER BY seq LIMIT ?"
    if limit > 1:
        rows = self._read(f"SELECT length({self.body}) FROM events {where}", (number, after, limit))
        limit = _fitting(size for (size,) in rows)
    return list(_events(self, where, number, after, limit))


def last(self: Database, number: int) -> Event | None:
    """The last event."""
    return next(_events(self, "WHERE bandit = ? ORDER BY seq DESC LIMIT 1", number), None)


def decided_before(self: Database, number: int, decision: int, limit: int) -> list[Event]:
    """Events that issued decisions with first numbers up to ``decision``, newest first."""
    # IS NOT NULL is in every query that should use a partial index.
    where = (
        "WHERE bandit = ? AND decision IS NOT NULL AND decision <= ? AND kind = 'decided' "
        "ORDER BY decision DESC, seq DESC LIMIT ?"
    )
    return list(_events(self, where, number, decision, limit))


def about(self: Database, number: int, decision: int) -> list[Event]:
    """The events with outcomes of a decision, in ascending order."""
    # A range with equal ends: for an equality SQLite takes the primary key and reads every event.
    where = (
        "WHERE bandit = ? AND decision IS NOT NULL AND decision >= ? AND decision <= ? "
        "AND kind = 'told' ORDER BY decision, seq"
    )
    found = list(_events(self, where, number, decision, decision))
    if self.has_members:
        many = "SELECT seq FROM told WHERE bandit = ? AND decision = ?"
        found += _events(self, f"WHERE bandit = ? AND seq IN ({many})", number, number, decision)
    return sorted(found)


def expired_before(self: Database, number: int, seq: int, limit: int) -> list[Event]:
    """Events with decisions that have expired, with a seq below ``seq``, newest first."""
    where = "WHERE bandit = ? AND kind = 'expired' AND seq < ? ORDER BY seq DESC LIMIT ?"
    return list(_events(self, where, number, seq, limit))


def by_keys(self: Database, number: int, keys: Sequence[str]) -> list[Event]:
    """The events that were made with idempotency keys."""
    query, given = self.each(keys)
    # In this order: for an IN, SQLite takes the primary key and reads every event.
    wanted = f"({query}) AS wanted CROSS JOIN events"
    where = "WHERE bandit = ? AND key = wanted.value AND key IS NOT NULL"
    found = list(_events(self, where, *given, number, of=wanted))
    if self.has_members:
        many = f"SELECT seq FROM asked WHERE bandit = ? AND key IN ({query})"
        found += _events(self, f"WHERE bandit = ? AND seq IN ({many})", number, number, *given)
    return found


def checkpoint(self: Database, number: int) -> Checkpoint | None:
    """The last checkpoint."""
    query = "SELECT meta, data, sha256 FROM checkpoints WHERE bandit = ?"
    return next((Checkpoint(*row) for row in self._read(query, (number,))), None)


def base(self: Database, number: int) -> Checkpoint | None:
    """The bandit at the first event that was not removed; None if none was."""
    if not self.has_bases:  # of an earlier version
        return None
    query = "SELECT meta, data, sha256 FROM bases WHERE bandit = ?"
    return next((Checkpoint(*row) for row in self._read(query, (number,))), None)


def first_decision(self: Database, number: int) -> int:
    """The number of the oldest decision whose event was not removed; 1 without decisions."""
    where = "WHERE bandit = ? AND decision IS NOT NULL AND kind = 'decided'"
    query = f"SELECT decision FROM events {where} ORDER BY decision, seq LIMIT 1"
    return next((row[0] for row in self._read(query, (number,))), 1)


def put_checkpoint(self: Database, number: int, checkpoint: Checkpoint) -> None:
    """Store a checkpoint and replace the last one."""
    self._write([(PUT_CHECKPOINT, (number, *checkpoint))])


def key_rows(self: Database) -> list[KeyRow]:
    """All API keys."""
    return [KeyRow(*row) for row in self._read(f"SELECT {_KEY} FROM keys ORDER BY created")]


def add_key(self: Database, key: KeyRow) -> None:
    """Store an API key."""
    self._write([(INSERT_KEY, key)])


def drop_key(self: Database, id: str) -> bool:
    """Remove an API key. Returns whether it existed."""
    # SQLite's shared transactions return no counts, so it is looked up before.
    existed = any(key.id == id for key in key_rows(self))
    self._write([("DELETE FROM keys WHERE id = ?", (id,))])
    return existed


def _fitting(sizes: Iterable[int]) -> int:
    """How many events can be read at once: those that fit, but at least one."""
    return max(1, sum(total <= _MOST_READ for total in accumulate(sizes)))


def _bandits(self: Database, where: str, *values: Any) -> Iterator[Bandit]:
    return (Bandit(*row) for row in self._read(f"{_BANDIT} {where}", values))


def _events(self: Database, where: str, *values: Any, of: str = "events") -> Iterator[Event]:
    columns = _EVENT.replace("body", self.body)
    return (Event(*row) for row in self._read(f"SELECT {columns} FROM {of} {where}", values))
