"""What the service asks of a database: two tables that only grow, and two that are caches or settings."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from superarm.service.events import Bandit, Event


class StoreError(Exception):
    """The database could not do it; nothing was written. ``full`` where there is no room left."""

    def __init__(self, message: str, *, full: bool = False, read_only: bool = False) -> None:
        super().__init__(message)
        self.full, self.read_only = full, read_only


class NameTakenError(Exception):
    """Another bandit has this name."""


class Checkpoint(NamedTuple):
    """A session as of an event: ``meta`` is JSON, ``data`` the session, ``sha256`` that of both."""

    meta: str
    data: bytes
    sha256: bytes


class KeyRow(NamedTuple):
    """An API key: never itself, only its digest."""

    id: str
    role: str
    note: str
    created: float
    digest: bytes


class Turn(Protocol):
    """The right to append to one bandit's log, for a short time."""

    def after(self, seq: int) -> list[Event]:
        """Events that others have appended since ``seq``."""

    def by_key(self, key: str) -> Event | None:
        """The event that was made with an idempotency key."""

    def commit(self, events: list[Event]) -> None:
        """Append, all or nothing, and wait until it is safe."""


class Store(Protocol):
    """A database. Methods may be called from any thread; each raises StoreError where it fails."""

    name: str

    def turn(self, bandit: Bandit, *, to_write: bool = True) -> AbstractContextManager[Turn]:
        """A turn, once it is ours; one that only reads waits for nobody."""

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """A bandit and its first event; the bandit comes back with its number."""

    def bandit(self, id: str) -> Bandit | None:
        """The bandit of an id."""

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit of a name."""

    def bandits(self, limit: int, after: int = 0) -> list[Bandit]:
        """Bandits with numbers above ``after``, in their order."""

    def events(self, number: int, after: int, limit: int) -> list[Event]:
        """Events with a seq above ``after``, in their order."""

    def last(self, number: int) -> Event | None:
        """The last event."""

    def decided_before(self, number: int, decision: int, limit: int) -> list[Event]:
        """Events that gave out decisions with first numbers up to ``decision``, the newest first."""

    def about(self, number: int, decision: int) -> list[Event]:
        """The events in which outcomes of a decision were told, in their order."""

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The last checkpoint."""

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""

    def key_rows(self) -> list[KeyRow]:
        """All API keys."""

    def add_key(self, key: KeyRow) -> None:
        """One more key."""

    def drop_key(self, id: str) -> bool:
        """Remove a key; says whether it was there."""

    def check(self) -> None:
        """Raise where nothing could be written now."""

    def close(self) -> None:
        """Let go of the database."""


TABLES = (
    "CREATE TABLE IF NOT EXISTS bandits (number {serial}, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE, "
    "k INTEGER NOT NULL, created {real} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS events (bandit {int} NOT NULL, seq {int} NOT NULL, time {real} NOT NULL, "
    "kind TEXT NOT NULL, decision {int}, key TEXT, body TEXT NOT NULL, digest {blob} NOT NULL, "
    "PRIMARY KEY (bandit, seq)){tail}",
    "CREATE UNIQUE INDEX IF NOT EXISTS events_by_key ON events (bandit, key) WHERE key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS events_by_decision ON events (bandit, decision, seq) WHERE decision IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS checkpoints (bandit {int} PRIMARY KEY, meta TEXT NOT NULL, data {blob} NOT NULL, "
    "sha256 {blob} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, role TEXT NOT NULL, note TEXT NOT NULL, "
    "created {real} NOT NULL, digest {blob} NOT NULL)",
)
