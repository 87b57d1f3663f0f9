"""The log in one SQLite file, for one server process."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from superarm.service.log.events import Bandit, Event, Members, members_in
from superarm.service.log.queries import (
    EVENT_ROW,
    INSERT_EVENT,
    INSERT_KEY,
    WITH_BASES,
    WITH_MEMBERS,
    LogTurn,
    Statement,
    inserting,
)
from superarm.service.log.shared_queries import SharedQueries
from superarm.service.log.sqlite_file import (
    BODY,
    LONG,
    VERSION,
    WITH_LONG,
    as_store_error,
    connect,
    identities,
    inserting_events,
    lock,
    make_tables,
)
from superarm.service.log.store import NameTakenError, StoreError

_INSERT_NUMBERED = "INSERT INTO bandits (number, id, name, k, created) VALUES (?, ?, ?, ?, ?)"
# Every statement lets other threads run, and to wait for them takes longer than to insert a row.
# The sizes are few, so that the statements stay prepared. They take at most 999 values, the limit
# of older versions of SQLite.
_AT_ONCE = (64, 16, 4)
_INSERT_EVENTS = {size: INSERT_EVENT + f", {EVENT_ROW}" * (size - 1) for size in _AT_ONCE}
_LOOK_S = 0.1  # how often it is looked whether the files are still there
_FREE_BYTES = 1 << 15  # the file is healthy if it can grow by this much


@dataclass
class _Waiting:
    """Statements of one thread that wait for a transaction."""

    statements: list[Statement]
    is_taken: bool = False  # a thread commits them, or has done so
    is_durable: bool = False
    error: StoreError | None = None


class SQLiteStore(SharedQueries):
    """A file that one process writes. Every commit is on the disk before it counts (WAL, FULL).

    Threads that commit at the same time share one transaction, and so one wait for the disk. If the
    shared transaction fails, each thread gets a transaction of its own.

    Parameters
    ----------
    path
        The file. It is created if it does not exist.
    mode
        "serve" for the one process that appends events, "write" to change API keys while a server
        runs, "read" to look at a file that exists.

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
            raise StoreError(f"{self.path} must be a superarm database, but there is no such file")
        self._file_lock = lock(self.path) if mode == "serve" else None
        self._files: dict[Path, tuple[int, ...]] = {}  # that must stay as they are
        self._look_at = 0.0
        self._queue: list[_Waiting] = []
        self._queue_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        # Two connections: in WAL mode, readers do not wait for the writer.
        self._reading: sqlite3.Connection | None = None
        self._writing: sqlite3.Connection | None = None
        try:
            self._open(mode)
        except BaseException:
            self.close()
            raise

    def _open(self, mode: str) -> None:
        writable = mode != "read"
        try:
            self._reading = connect(self.path, read_only=not writable)
            version = self._check_version(self._reading, writable=writable)
            known = VERSION if mode == "serve" or version == 0 else version
            self.has_bases, self.has_members = known >= WITH_BASES, known >= WITH_MEMBERS
            if known >= WITH_LONG:
                self.body, self.of_events = BODY, ("events", "long_bodies")
            if not writable:
                return
            writing = self._writing = connect(self.path)
            if writing.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StoreError(f"{self.path} must be on a file system that supports SQLite's WAL")
            # A commit returns when the data is on the disk. An acknowledgement promises that.
            writing.execute("PRAGMA synchronous = FULL")
            # A file of an earlier version becomes one of this version when it is served.
            if version == 0 or (version < VERSION and mode == "serve"):
                with _transaction(writing):
                    make_tables(writing, version)
            if mode == "serve":
                with _transaction(writing):  # from now on all files are there
                    self._files = identities(self.path)
        except sqlite3.Error as error:
            raise as_store_error(error, self.path) from error

    def _check_version(self, connection: sqlite3.Connection, *, writable: bool) -> int:
        """The version of the file; 0 for an empty file that is about to become a database."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        has_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
        if version > VERSION or (version == 0 and (has_tables or not writable)):
            raise StoreError(
                f"{self.path} must be a superarm database of version {VERSION} or earlier, "
                f"got version {version}{'; update superarm' if version > VERSION else ''}"
            )
        return version

    @contextlib.contextmanager
    def turn(
        self, bandit: Bandit, seen: int | None = None, *, to_write: bool = True
    ) -> Iterator[LogTurn]:
        """One process has every turn, and the engine runs one thread per bandit."""
        # No news: no other process appends.
        number = bandit.number
        yield LogTurn(self, [], partial(self.by_keys, number), partial(self.append, number))

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """Store a bandit and its first event. The returned bandit has its number."""
        with self._write_lock:  # not in the shared transaction: the event needs the number
            try:
                connection = self._writer()
                with _transaction(connection):
                    # Number 0 is none yet: SQLite then gives the next one.
                    row = (bandit.number or None, *bandit[1:])
                    done = connection.execute(_INSERT_NUMBERED, row)
                    made = bandit._replace(number=int(done.lastrowid or 0))
                    for query, values in inserting_events(made.number, [first]):
                        connection.execute(query, values)
                return made
            except Exception as error:
                # The only constraint that a request can violate.
                if isinstance(error, sqlite3.IntegrityError) and "bandits.name" in str(error):
                    raise NameTakenError(bandit.name) from error
                raise as_store_error(error, self.path) from error

    def append(
        self, number: int, events: list[Event], members: list[Members] | None = None
    ) -> None:
        """Append events of one bandit, and return when they are on the disk."""
        beside = members_in(events) if members is None else members
        rows: list[Statement] = [(INSERT_EVENT, (number, *event)) for event in events]
        if any(len(event.body) > LONG for event in events):
            rows = inserting_events(number, events)
        self._write(rows + inserting(self, number, beside) if beside else rows)

    def each(self, values: Sequence[int] | Sequence[str]) -> Statement:
        """A query that has the values as rows, as one column ``value``."""
        return "SELECT value FROM json_each(?)", (json.dumps(values),)

    def size(self) -> tuple[int, int]:
        """The largest number of a bandit, and the number of bandits."""
        last, n_bandits = self._read("SELECT coalesce(max(number), 0), count(*) FROM bandits")[0]
        return last, n_bandits

    def check(self) -> None:
        """Write some bytes and delete them again in one transaction."""
        row = ("", "", "x" * _FREE_BYTES, 0, b"")
        self._write([(INSERT_KEY, row), ("DELETE FROM keys WHERE id = ''", ())])

    def close(self) -> None:
        """Close the file and release its lock."""
        # Both locks: no thread may be using a connection that is closed.
        with self._write_lock, self._read_lock:
            for connection in (self._writing, self._reading):
                if connection is not None:
                    connection.close()
            self._writing = self._reading = None
            if self._file_lock is not None:
                self._file_lock.release()
                self._file_lock = None

    def _writer(self) -> sqlite3.Connection:
        if self._writing is None:
            raise StoreError(f"{self.path} is closed, or open for reading only", read_only=True)
        if (now := time.monotonic()) >= self._look_at:
            # What is written to other files is lost, and without its lock nobody is alone.
            files = self._files.items()
            if not all(file.exists() and file.stat()[1:3] == known for file, known in files):
                raise StoreError(
                    f"{self.path} and the files beside it must stay where they are, but one was "
                    f"moved, removed or replaced; nothing more is written: start the server again"
                )
            self._look_at = now + _LOOK_S
        return self._writing

    def _write(self, statements: list[Statement]) -> None:
        """Add statements to the next transaction. The first thread to come commits for all."""
        mine = _Waiting(statements)
        with self._queue_lock:
            self._queue.append(mine)
        with self._write_lock:
            # Another thread may have committed these statements while this one waited for the lock.
            if not mine.is_taken:
                with self._queue_lock:
                    together, self._queue = self._queue, []
                self._commit(together)
        if not mine.is_durable:
            raise mine.error or StoreError("the thread that commits has died")

    def _commit(self, together: list[_Waiting]) -> None:
        for waiting in together:
            waiting.is_taken = True
        error = self._attempt([one for waiting in together for one in waiting.statements])
        # No thread fails because of the statements of another thread.
        alone = error is not None and len(together) > 1
        for waiting in together:
            waiting.error = self._attempt(waiting.statements) if alone else error
            waiting.is_durable = waiting.error is None

    def _attempt(self, statements: list[Statement]) -> StoreError | None:
        """Execute one transaction. Returns its failure instead of raising it."""
        try:
            connection = self._writer()
            with _transaction(connection):
                for query, same in groupby(statements, itemgetter(0)):
                    _execute(connection, query, [values for _, values in same])
        except Exception as error:
            return as_store_error(error, self.path)
        return None

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._read_lock:
            if self._reading is None:
                raise StoreError(f"{self.path} is closed")
            try:
                return self._reading.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise as_store_error(error, self.path) from error


def _execute(connection: sqlite3.Connection, query: str, rows: list[Sequence[Any]]) -> None:
    """Execute a statement for every row. Events are inserted many rows at a time."""
    start = 0
    if query == INSERT_EVENT:
        for size in _AT_ONCE:
            while len(rows) - start >= size:
                some = rows[start : start + size]
                connection.execute(_INSERT_EVENTS[size], list(chain.from_iterable(some)))
                start += size
    connection.executemany(query, rows[start:])


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit everything in the block, or nothing if anything fails."""
    if connection.in_transaction:  # an earlier one, whose own rollback failed
        _roll_back(connection)
    try:
        # IMMEDIATE takes the lock now, so that the commit cannot fail for want of it.
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error, MemoryError):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
