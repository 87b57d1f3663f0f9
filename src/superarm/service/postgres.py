"""The log in PostgreSQL, for several server processes on several machines."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from superarm.service.events import Bandit, Event
from superarm.service.store import TABLES, Checkpoint, KeyRow, NameTakenError, StoreError

VERSION = 1
_EVENT = "seq, time, kind, decision, key, body, digest"
_INSERT = f"INSERT INTO events (bandit, {_EVENT}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_BANDIT = "SELECT number, id, name, k, created FROM bandits"
_WORDS = {
    "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "int": "BIGINT",
    "real": "DOUBLE PRECISION",
    "blob": "BYTEA",
    "tail": "",
}
_MAKING = 0x5A_BA_4D_17  # the advisory lock of those who make the tables
# Half a minute after a machine has vanished the other side knows, and lets go of what it held; a process that hangs
# may hold a bandit for minutes, since a reward may take as long. Others wait for a few seconds, and then say so.
_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
_SETTINGS = (
    "-c lock_timeout=5s -c idle_in_transaction_session_timeout=5min -c tcp_keepalives_idle=10 "
    "-c tcp_keepalives_interval=5 -c tcp_keepalives_count=4 -c tcp_user_timeout=30s"
)
Answer = TypeVar("Answer")


class PostgresStore:
    """A database that processes share; tables are in the schema ``superarm``.

    A turn is a transaction that holds the bandit's row: others who want to append to the same log wait, and see what
    was appended when it is theirs. The primary key of the events would refuse an interleaving in any case. Each
    thread has a connection of its own.

    Parameters
    ----------
    address
        ``postgresql://user@host/database``, as psycopg takes it; what it says of time-outs counts.
    """

    def __init__(self, address: str) -> None:
        self.name = "postgresql"
        self._address = address
        self._mine = threading.local()
        self._every: set[psycopg.Connection[Any]] = set()
        self._lock = threading.Lock()
        self._closed = False
        try:
            self._make_tables()
        except BaseException:
            self.close()
            raise

    def _make_tables(self) -> None:
        def make(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                connection.execute("CREATE SCHEMA IF NOT EXISTS superarm")
                connection.execute("CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL)")
                row = connection.execute("SELECT version FROM meta").fetchone()
                if row is not None and row[0] > VERSION:
                    raise StoreError(
                        f"the database is of version {row[0]}, this superarm knows up to {VERSION}"
                    )
                if row is None:
                    connection.execute("INSERT INTO meta VALUES (%s)", (VERSION,))
                    for table in TABLES:
                        connection.execute(table.format(**_WORDS))

        self._do(make)

    @contextlib.contextmanager
    def turn(self, bandit: Bandit, *, to_write: bool = True) -> Iterator[_PostgresTurn]:
        """A transaction that holds the bandit's row; to read, nothing has to be held."""
        with _translated():
            if not to_write:
                yield _PostgresTurn(self, self._connection(), bandit)
                return
            connection = self._do(lambda connection: self._hold(connection, bandit))
            try:
                yield _PostgresTurn(self, connection, bandit)
            finally:
                self._end(connection)

    def _hold(self, connection: psycopg.Connection[Any], bandit: Bandit) -> psycopg.Connection[Any]:
        """Begin a transaction that has the bandit's row, and sees what others did while it waited for that."""
        try:
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            connection.execute(
                "SELECT 1 FROM bandits WHERE number = %s FOR UPDATE", (bandit.number,)
            )
        except BaseException:
            self._end(connection)
            raise
        return connection

    def _end(self, connection: psycopg.Connection[Any]) -> None:
        """Roll back what was not committed; a connection that cannot is given up."""
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop(connection)

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """A bandit and its first event."""

        def make(connection: psycopg.Connection[Any]) -> Bandit:
            try:
                with connection.transaction():
                    query = "INSERT INTO bandits (id, name, k, created) VALUES (%s, %s, %s, %s) RETURNING number"
                    row: Any = connection.execute(query, bandit[1:]).fetchone()
                    connection.execute(_INSERT, (row[0], *first))
                    return bandit._replace(number=row[0])
            except errors.UniqueViolation as error:
                if "name" in (error.diag.constraint_name or ""):
                    raise NameTakenError(bandit.name) from error
                raise

        return self._do(make, again=False)

    def bandit(self, id: str) -> Bandit | None:
        """The bandit of an id."""
        return next((Bandit(*row) for row in self._read(f"{_BANDIT} WHERE id = %s", (id,))), None)

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit of a name."""
        return next(
            (Bandit(*row) for row in self._read(f"{_BANDIT} WHERE name = %s", (name,))), None
        )

    def bandits(self, limit: int, after: int = 0) -> list[Bandit]:
        """Bandits with numbers above ``after``."""
        rows = self._read(f"{_BANDIT} WHERE number > %s ORDER BY number LIMIT %s", (after, limit))
        return [Bandit(*row) for row in rows]

    def events(self, number: int, after: int, limit: int) -> list[Event]:
        """Events with a seq above ``after``."""
        return self._events(
            "WHERE bandit = %s AND seq > %s ORDER BY seq LIMIT %s", (number, after, limit)
        )

    def last(self, number: int) -> Event | None:
        """The last event."""
        return next(
            iter(self._events("WHERE bandit = %s ORDER BY seq DESC LIMIT 1", (number,))), None
        )

    def decided_before(self, number: int, decision: int, limit: int) -> list[Event]:
        """Events that gave out decisions, the newest first."""
        where = (
            "WHERE bandit = %s AND decision IS NOT NULL AND decision <= %s AND kind = 'decided' "
            "ORDER BY decision DESC, seq DESC LIMIT %s"
        )
        return self._events(where, (number, decision, limit))

    def about(self, number: int, decision: int) -> list[Event]:
        """The events in which outcomes of a decision were told."""
        where = "WHERE bandit = %s AND decision = %s AND decision IS NOT NULL AND kind = 'told' ORDER BY seq"
        return self._events(where, (number, decision))

    def by_key(self, number: int, key: str) -> Event | None:
        """The event that was made with an idempotency key."""
        found = self._events("WHERE bandit = %s AND key = %s AND key IS NOT NULL", (number, key))
        return next(iter(found), None)

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The last checkpoint."""
        rows = self._read("SELECT meta, data, sha256 FROM checkpoints WHERE bandit = %s", (number,))
        return next((Checkpoint(*row) for row in rows), None)

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, unless another process has a later one."""
        query = (
            "INSERT INTO checkpoints AS old (bandit, meta, data, sha256) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (bandit) DO UPDATE SET meta = excluded.meta, data = excluded.data, sha256 = excluded.sha256 "
            "WHERE (old.meta::json->>'seq')::bigint < (excluded.meta::json->>'seq')::bigint"
        )
        self._do(lambda connection: connection.execute(query, (number, *checkpoint)))

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
        query = "INSERT INTO keys (id, role, note, created, digest) VALUES (%s, %s, %s, %s, %s)"
        self._do(lambda connection: connection.execute(query, key))

    def drop_key(self, id: str) -> bool:
        """Remove a key."""
        return (
            self._do(
                lambda connection: (
                    connection.execute("DELETE FROM keys WHERE id = %s", (id,)).rowcount
                )
            )
            > 0
        )

    def check(self) -> None:
        """A write that changes nothing."""
        self._do(lambda connection: connection.execute("UPDATE meta SET version = version"))

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            self._closed = True
            for connection in self._every:
                connection.close()
            self._every.clear()

    def _events(self, where: str, values: Sequence[Any]) -> list[Event]:
        return [Event(*row) for row in self._read(f"SELECT {_EVENT} FROM events {where}", values)]

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._do(lambda connection: connection.execute(query, values).fetchall())

    def _do(
        self, action: Callable[[psycopg.Connection[Any]], Answer], *, again: bool = True
    ) -> Answer:
        """Do something on this thread's connection; once more on a new one, if it was lost meanwhile."""
        with _translated():
            connection = self._connection()
            in_turn = connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            try:
                return action(connection)
            except (errors.OperationalError, errors.InterfaceError):
                lost = connection.closed or connection.broken
                if lost:
                    self._drop(connection)
                if in_turn or not again or not lost:
                    raise
            return action(self._connection())

    def _connection(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] | None = getattr(self._mine, "connection", None)
        if connection is None or connection.closed:
            if self._closed:
                raise StoreError("the database is closed")
            connection = psycopg.connect(autocommit=True, **_options(self._address))
            connection.execute(
                "SET synchronous_commit = on"
            )  # an answer means that it is on the disk
            self._mine.connection = connection
            with self._lock:
                self._every.add(connection)
        return connection

    def _drop(self, connection: psycopg.Connection[Any]) -> None:
        connection.close()
        self._mine.connection = None
        with self._lock:
            self._every.discard(connection)


class _PostgresTurn:
    def __init__(
        self, store: PostgresStore, connection: psycopg.Connection[Any], bandit: Bandit
    ) -> None:
        self._store, self._connection, self._number = store, connection, bandit.number

    def after(self, seq: int) -> list[Event]:
        found: list[Event] = []
        while page := self._store.events(self._number, found[-1].seq if found else seq, 10_000):
            found += page
            if len(page) < 10_000:
                break
        return found

    def by_key(self, key: str) -> Event | None:
        return self._store.by_key(self._number, key)

    def commit(self, events: list[Event]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_INSERT, [(self._number, *event) for event in events])
        self._connection.execute("COMMIT")


def _options(address: str) -> dict[str, Any]:
    given = conninfo_to_dict(address)
    options = f"{_SETTINGS} {given.get('options') or ''} -c search_path=superarm"
    return {**_PATIENCE, **given, "options": options}


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        full = isinstance(error, errors.DiskFull)
        read_only = isinstance(error, errors.ReadOnlySqlTransaction)
        raise StoreError(f"PostgreSQL: {error}", full=full, read_only=read_only) from error
