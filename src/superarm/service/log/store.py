"""What the service needs from a database: two tables that only grow, a cache, and API keys."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from superarm.service.log.events import Bandit, Event, Members


class StoreError(Exception):
    """The database failed and nothing was written.

    ``full`` says that the disk has no space left, ``read_only`` that writing is not allowed.
    """

    def __init__(self, message: str, *, full: bool = False, read_only: bool = False) -> None:
        super().__init__(message)
        self.full, self.read_only = full, read_only


class DeletedError(Exception):
    """The bandit was deleted."""


class BehindError(Exception):
    """Another process has appended events, or deleted the bandit. Nothing was written."""


class NameTakenError(Exception):
    """Another bandit has this name."""


class Checkpoint(NamedTuple):
    """A session after one event: ``meta`` is JSON, ``data`` the session, ``sha256`` of both."""

    meta: str
    data: bytes
    sha256: bytes


class KeyRow(NamedTuple):
    """An API key. Only its digest is stored, never the key itself."""

    id: str
    role: str
    note: str
    created: float
    digest: bytes


class Turn(Protocol):
    """The right to append to the log of one bandit, for a short time.

    Attributes
    ----------
    store
        The database, to read other parts of the log.
    news
        Events that other processes have appended since the last turn.
    """

    @property
    def store(self) -> Store: ...  # noqa: D102 - above

    @property
    def news(self) -> list[Event]: ...  # noqa: D102 - above

    def by_keys(self, keys: Sequence[str]) -> list[Event]:
        """The events that were made with some idempotency keys."""

    def commit(self, events: list[Event], members: list[Members] | None = None) -> None:
        """Append all events or none, and return when they are durable.

        ``members`` are those of the events, if they are known.
        """


class Store(Protocol):
    """A database. Methods may be called from any thread. They raise StoreError on failure."""

    name: str

    def turn(
        self, bandit: Bandit, seen: int | None = None, *, to_write: bool = True
    ) -> AbstractContextManager[Turn]:
        """Wait for a turn. A turn that only reads does not wait.

        A turn that raises BehindError must be repeated, with the bandit loaded again.

        ``seen`` is the seq of the last event in memory; None if the bandit is not in memory.
        """

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """Store a bandit and its first event. The returned bandit has its number."""

    def bandit(self, id: str) -> Bandit | None:
        """The bandit with an id."""

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit with a name."""

    def bandits(self, limit: int, after: int = 0) -> list[Bandit]:
        """Bandits with numbers above ``after``, in ascending order."""

    def delete(self, number: int) -> None:
        """Delete a bandit and its checkpoint, and give up its name. `purge` removes its events."""

    def deleted(self, id: str) -> int | None:
        """The number of the bandit with an id, if it was deleted."""

    def to_purge(self) -> list[int]:
        """The numbers of deleted bandits whose events are not all gone."""

    def purge(self, number: int) -> None:
        """Remove the events of a deleted bandit, some at a time."""

    def events(self, number: int, after: int, limit: int) -> list[Event]:
        """Events with a seq above ``after``, in ascending order.

        At most ``limit``, and fewer if they are large, but at least one if there is any.
        """

    def last(self, number: int) -> Event | None:
        """The last event."""

    def decided_before(self, number: int, decision: int, limit: int) -> list[Event]:
        """Events that issued decisions with first numbers up to ``decision``, newest first."""

    def about(self, number: int, decision: int) -> list[Event]:
        """The events with outcomes of a decision, in ascending order."""

    def expired_before(self, number: int, seq: int, limit: int) -> list[Event]:
        """Events with decisions that have expired, with a seq below ``seq``, newest first."""

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The last checkpoint."""

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Store a checkpoint and replace the last one."""

    def base(self, number: int) -> Checkpoint | None:
        """The bandit at the first event that was not removed; None if none was."""

    def compact(self, number: int, seq: int, base: Checkpoint) -> None:
        """Store the bandit at event ``seq``, and remove all earlier events except the first."""

    def first_decision(self, number: int) -> int:
        """The number of the oldest decision whose event was not removed."""

    def key_rows(self) -> list[KeyRow]:
        """All API keys."""

    def add_key(self, key: KeyRow) -> None:
        """Store an API key."""

    def drop_key(self, id: str) -> bool:
        """Remove an API key. Returns whether it existed."""

    def check(self) -> None:
        """Raise if nothing can be written now."""

    def close(self) -> None:
        """Close the database."""
