"""The log in one SQLite file, for one server process."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from superarm.service.events import Bandit, Event
from superarm.service.sqlite_file import (
    VERSION,
    alone,
    as_store_error,
    connect,
    make_tables,
    transaction,
)
from superarm.service.store import Checkpoint, KeyRow, NameTakenError, StoreError

_EVENT = "seq, time, kind, decision, key, body, digest"
_INSERT = f"INSERT INTO events (bandit, {_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MAKE = "INSERT INTO bandits (id, name, k, created) VALUES (?, ?, ?, ?)"
_ROOM = 1 << 15  # bytes that must be free for the file to be in good health
Statement = tuple[str, Sequence[Any]]


class _Waiting:
    """Statements that wait for a transaction."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements
        self.error: StoreError | None = StoreError("the transaction was never done")  # until it is
        self.done = False


class SQLiteStore:
    """A file, written by one process at a time; WAL, and every commit on the disk before it counts.

    Threads that commit at the same time share a transaction, and so a wait for the disk; if it fails, each has one of
    its own.

    Parameters
    ----------
    path
        The file; made if there is none.
    mode
        "serve" to be the one process that appends; "write" to change keys beside it; "read" to look at a file that
        must be there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SQLiteStore(f"{folder}/bandits.db")
    ...     print(store.bandits(10))
    ...     store.close()
    []
    """

    def __init__(self, path: str | Path, mode: Literal["serve", "write", "read"] = "serve") -> None:
        self.path, self.name = Path(path), "sqlite"
        if mode == "read" and not self.path.exists():
            raise StoreError(f"{self.path} must be a database of superarm, got no file")
        self._lock_file = alone(self.path) if mode == "serve" else None
        self._queue: list[_Waiting] = []
        self._queue_lock, self._write_lock, self._read_lock = (
            threading.Lock(),
            threading.Lock(),
            threading.Lock(),
        )
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        try:
            self._open(writable=mode != "read")
        except BaseException:
            self.close()
            raise

    def _open(self, *, writable: bool) -> None:
        try:
            reading = self._reading = connect(self.path, read_only=not writable)
            (version,) = reading.execute("PRAGMA user_version").fetchone()
            has_tables = reading.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
            if version > VERSION or (version == 0 and (has_tables or not writable)):
                raise StoreError(
                    f"{self.path} must be a database of superarm up to version {VERSION}, got {version}"
                )
            if writable:
                writing = self._writing = connect(self.path)
                if writing.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                    raise StoreError(
                        f"{self.path} must be on a file system where SQLite's WAL works"
                    )
                writing.execute("PRAGMA synchronous = FULL")
                if version == 0:
                    make_tables(writing)
        except sqlite3.Error as error:
            raise as_store_error(error, self.path) from error

    @contextlib.contextmanager
    def turn(self, bandit: Bandit, *, to_write: bool = True) -> Iterator[_SQLiteTurn]:
        """One process has all turns; the engine lets one thread at a time at a bandit."""
        yield _SQLiteTurn(self, bandit)

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """A bandit and its first event."""
        with self._write_lock:  # alone, since the number is needed for the event
            connection = self._writer()
            try:
                with transaction(connection):
                    done = connection.execute(_MAKE, bandit[1:])
                    made = bandit._replace(number=int(done.lastrowid or 0))
                    connection.execute(_INSERT, (made.number, *first))
                return made
            except Exception as error:
                if isinstance(error, sqlite3.IntegrityError) and "bandits.name" in str(error):
                    raise NameTakenError(bandit.name) from error
                raise as_store_error(error, self.path) from error

    def bandit(self, id: str) -> Bandit | None:
        """The bandit of an id."""
        rows = self._read("SELECT number, id, name, k, created FROM bandits WHERE id = ?", (id,))
        return Bandit(*rows[0]) if rows else None

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit of a name."""
        rows = self._read(
            "SELECT number, id, name, k, created FROM bandits WHERE name = ?", (name,)
        )
        return Bandit(*rows[0]) if rows else None

    def bandits(self, limit: int, after: int = 0) -> list[Bandit]:
        """Bandits with numbers above ``after``."""
        query = "SELECT number, id, name, k, created FROM bandits WHERE number > ? ORDER BY number LIMIT ?"
        return [Bandit(*row) for row in self._read(query, (after, limit))]

    def events(self, number: int, after: int, limit: int) -> list[Event]:
        """Events with a seq above ``after``."""
        where = "WHERE bandit = ? AND seq > ? ORDER BY seq LIMIT ?"
        return self._events(where, (number, after, limit))

    def last(self, number: int) -> Event | None:
        """The last event."""
        found = self._events("WHERE bandit = ? ORDER BY seq DESC LIMIT 1", (number,))
        return found[0] if found else None

    def decided_before(self, number: int, decision: int, limit: int) -> list[Event]:
        """Events that gave out decisions, the newest first."""
        where = (
            "WHERE bandit = ? AND decision IS NOT NULL AND decision <= ? AND kind = 'decided' "
            "ORDER BY decision DESC, seq DESC LIMIT ?"
        )
        return self._events(where, (number, decision, limit))

    def about(self, number: int, decision: int) -> list[Event]:
        """The events in which outcomes of a decision were told."""
        where = "WHERE bandit = ? AND decision = ? AND kind = 'told' ORDER BY seq"
        return self._events(where, (number, decision))

    def by_key(self, number: int, key: str) -> Event | None:
        """The event that was made with an idempotency key."""
        found = self._events("WHERE bandit = ? AND key = ?", (number, key))
        return found[0] if found else None

    def append(self, number: int, events: list[Event]) -> None:
        """Append events of one bandit, and wait until they are on the disk."""
        self._write([(_INSERT, (number, *event)) for event in events])

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The last checkpoint."""
        rows = self._read("SELECT meta, data, sha256 FROM checkpoints WHERE bandit = ?", (number,))
        return Checkpoint(*rows[0]) if rows else None

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""
        query = (
            "INSERT OR REPLACE INTO checkpoints (bandit, meta, data, sha256) VALUES (?, ?, ?, ?)"
        )
        self._write([(query, (number, *checkpoint))])

    def key_rows(self) -> list[KeyRow]:
        """All API keys."""
        return [
            KeyRow(*row)
            for row in self._read(
                "SELECT id, role, note, created, digest FROM keys ORDER BY created"
            )
        ]

    def add_key(self, key: KeyRow) -> None:
        """One more key."""
        self._write(
            [("INSERT INTO keys (id, role, note, created, digest) VALUES (?, ?, ?, ?, ?)", key)]
        )

    def drop_key(self, id: str) -> bool:
        """Remove a key."""
        there = any(key.id == id for key in self.key_rows())
        self._write([("DELETE FROM keys WHERE id = ?", (id,))])
        return there

    def check(self) -> None:
        """A transaction that takes some room and gives it back."""
        fill = "INSERT INTO keys (id, role, note, created, digest) VALUES ('', '', ?, 0, x'')"
        self._write([(fill, ("x" * _ROOM,)), ("DELETE FROM keys WHERE id = ''", ())])

    def close(self) -> None:
        """Let go of the file."""
        with self._write_lock, self._read_lock:
            for connection in (self._writing, self._reading):
                if connection is not None:
                    connection.close()
            self._writing = self._reading = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _writer(self) -> sqlite3.Connection:
        if self._writing is None:
            raise StoreError(f"{self.path} is closed, or open for reading only", read_only=True)
        return self._writing

    def _write(self, statements: list[Statement]) -> None:
        """Put the statements into the next transaction; whoever comes first commits for all who wait."""
        mine = _Waiting(statements)
        with self._queue_lock:
            self._queue.append(mine)
        with self._write_lock:
            if not mine.done:
                with self._queue_lock:
                    together, self._queue = self._queue, []
                self._transact(together)
        if mine.error is not None:
            raise mine.error

    def _transact(self, together: list[_Waiting]) -> None:
        try:
            error = self._attempt(
                [statement for waiting in together for statement in waiting.statements]
            )
            for waiting in together:
                alone = (
                    error is not None and len(together) > 1
                )  # nobody fails for what others wanted
                waiting.error = self._attempt(waiting.statements) if alone else error
        finally:
            for waiting in together:
                waiting.done = True

    def _attempt(self, statements: list[Statement]) -> StoreError | None:
        """One transaction; says why it was not done."""
        try:
            connection = self._writer()
            with transaction(connection):
                for query, values in statements:
                    connection.execute(query, values)
        except StoreError as error:
            return error
        except Exception as error:
            return as_store_error(error, self.path)
        return None

    def _events(self, where: str, values: Sequence[Any]) -> list[Event]:
        return [Event(*row) for row in self._read(f"SELECT {_EVENT} FROM events {where}", values)]

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._read_lock:
            if self._reading is None:
                raise StoreError(f"{self.path} is closed")
            try:
                return self._reading.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise as_store_error(error, self.path) from error


class _SQLiteTurn:
    def __init__(self, store: SQLiteStore, bandit: Bandit) -> None:
        self._store, self._number = store, bandit.number

    def after(self, seq: int) -> list[Event]:
        return []

    def by_key(self, key: str) -> Event | None:
        return self._store.by_key(self._number, key)

    def commit(self, events: list[Event]) -> None:
        if events:
            self._store.append(self._number, events)
