"""The log in PostgreSQL, for several server processes on several machines."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, TypeVar

import psycopg
from psycopg import errors

from superarm.service.log.events import Bandit, Event, Members, members_in
from superarm.service.log.postgres_connections import connect, is_well, placed, translated
from superarm.service.log.postgres_tables import make_tables
from superarm.service.log.queries import (
    EVENT_ROW,
    INSERT_BANDIT,
    INSERT_EVENT,
    PUT_BASE,
    PUT_CHECKPOINT,
    WITH_BASES,
    WITH_MEMBERS,
    LogTurn,
    Statement,
    inserting,
    remove,
)
from superarm.service.log.shared_queries import SharedQueries
from superarm.service.log.store import (
    BehindError,
    Checkpoint,
    DeletedError,
    NameTakenError,
    StoreError,
)

# After this many turns without news, the bandit probably belongs to this process only. If it does
# not, it is loaded again.
_ALONE = 1000
_EVENTS_PER_READ = 10_000
_EVENTS_PER_INSERT = 1000  # a statement takes at most 65,535 values
# The first statements of a commit that has no lock yet. They divide by 0 if the bandit is gone, or
# has later events: only an error keeps the statements behind them from being executed.
_LOCKED = "(SELECT 1 FROM bandits WHERE number = ? AND k > 0 FOR UPDATE) AS locked"
# In the order of the primary key. Without an order PostgreSQL may expect to meet such a row soon if
# it reads the table from its start. As a rule there is none, so it would read the whole table.
_FIRST_LATER = "SELECT 1 FROM events WHERE bandit = {number} AND seq > {seen} ORDER BY seq LIMIT 1"
_LATER = f"({_FIRST_LATER.format(number='?', seen='?')}) AS later"
_LOCK, _NO_NEWS = f"SELECT 1 / count(*) FROM {_LOCKED}", f"SELECT 1 / (1 - count(*)) FROM {_LATER}"
# Several processes make checkpoints and bases, and an older one must not replace a newer one.
_ONLY_NEWER = " WHERE (old.meta::json->>'seq')::bigint < (excluded.meta::json->>'seq')::bigint"
Answer = TypeVar("Answer")
Connection = psycopg.Connection[Any]


class PostgresStore(SharedQueries):
    """A database that several processes share. Its tables are in the schema ``superarm``.

    A turn is a transaction that locks the row of the bandit. Other processes that want to append to
    the same log wait for the lock, and then see what was appended. The primary key of the events
    refuses two events with the same seq in any case. Each thread has its own connection.

    After many turns without news, a turn begins without a lock, and its commit checks under the
    lock that there are none: it waits for the database once, not twice. If there are news, nothing
    is committed, and the turn is repeated.

    Parameters
    ----------
    address
        ``postgresql://user@host/database``, as psycopg takes it. Timeouts in it override ours.
    mode
        "serve" for a server, which brings a database of an earlier version to this one.
    """

    def __init__(self, address: str, mode: Literal["serve", "write", "read"] = "serve") -> None:
        self.name = "postgresql"
        self._address = address
        self._local = threading.local()
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._alone: dict[int, int] = {}  # turns of bandits since the last news
        self._closed = False
        try:
            version = self._do(partial(make_tables, serving=mode == "serve"))
            self.has_bases, self.has_members = version >= WITH_BASES, version >= WITH_MEMBERS
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def turn(
        self, bandit: Bandit, seen: int | None = None, *, to_write: bool = True
    ) -> Iterator[LogTurn]:
        """A transaction that locks the row of the bandit; no lock for a turn that only reads."""
        with translated():
            number, by_keys = bandit.number, partial(self.by_keys, bandit.number)
            n_alone = self._alone.get(number, 0)
            may_trust = to_write and n_alone >= _ALONE
            if may_trust and seen is not None and is_well(self._connection()):
                with self._trusting(number, seen, by_keys) as turn:
                    yield turn
                return
            connection, is_behind = self._do(partial(self._begin, bandit, seen, to_write))
            if to_write:
                self._alone[number] = 0 if is_behind else n_alone + 1
            try:
                news = self._news(number, seen) if is_behind else []
                # The connection that holds the lock: another one could not commit under it.
                yield LogTurn(self, news, by_keys, partial(self._append, connection, number))
            finally:
                self._end(connection)

    def _append(
        self,
        connection: Connection,
        number: int,
        events: list[Event],
        members: list[Members] | None = None,
        first: Sequence[Statement] = (),
    ) -> None:
        beside = members_in(events) if members is None else members
        statements = list(first)
        for start in range(0, len(events), _EVENTS_PER_INSERT):
            rows = [(number, *event) for event in events[start : start + _EVENTS_PER_INSERT]]
            query = INSERT_EVENT + f", {EVENT_ROW}" * (len(rows) - 1)
            statements.append((query, list(chain.from_iterable(rows))))
        statements += inserting(self, number, beside)
        if not first:  # else no transaction has begun, and a pipeline is one
            statements.append(("COMMIT", ()))
        # All at once, for the same reason. After one that fails, the others are not executed.
        try:
            with connection.pipeline():
                for query, values in statements:
                    connection.execute(placed(query), values)
        except psycopg.Error:  # psycopg takes statements for prepared that were not executed
            self._drop(connection)
            raise

    @contextlib.contextmanager
    def _trusting(
        self, number: int, seen: int, by_keys: Callable[[Sequence[str]], list[Event]]
    ) -> Iterator[LogTurn]:
        """A turn without a lock. Raises BehindError at its end if it saw an old state."""
        connection, is_checked = self._connection(), False
        first = [(_LOCK, (number,)), (_NO_NEWS, (number, seen))]

        def append(events: list[Event], members: list[Members] | None = None) -> None:
            nonlocal is_checked
            is_checked = True
            self._append(connection, number, events, members, first)

        try:
            try:
                yield LogTurn(self, [], by_keys, append)
            finally:
                if not is_checked:  # its answers, or its error, must not be of an old state
                    append([], [])
        except errors.DivisionByZero as error:
            self._alone[number] = 0
            raise BehindError from error

    def each(self, values: Sequence[int] | Sequence[str]) -> Statement:
        """A query that has the values as rows, as one column ``value``."""
        if values and isinstance(values[0], str):
            return "SELECT unnest(?::text[]) AS value", (list(values),)
        # As a text of numbers: psycopg takes longer to convert a list than to send a statement.
        return "SELECT unnest(?::bigint[]) AS value", (f"{{{','.join(map(str, values))}}}",)

    def _news(self, number: int, seen: int | None) -> list[Event]:
        """The events of a bandit in memory that other processes have appended since ``seen``."""
        found: list[Event] = []
        # Until there are none: a portion may be small because its events are large.
        while seen is not None and (some := self.events(number, seen, _EVENTS_PER_READ)):
            found += some
            seen = some[-1].seq
        return found

    def _begin(
        self, bandit: Bandit, seen: int | None, locks: bool, connection: Connection
    ) -> tuple[Connection, bool]:
        """Begin a turn. Returns its connection, and whether there are events after ``seen``."""
        # The last sees what other processes committed while this one waited. All in one text of
        # numbers only, because to wait for each answer takes longer than to execute them.
        begin, lock = ("BEGIN; ", " FOR UPDATE") if locks else ("", "")
        number, after = f"{bandit.number:d}", "NULL" if seen is None else f"{seen:d}"
        query = f"{begin}SELECT 1 FROM bandits WHERE number = {number} AND k > 0{lock}; "
        try:
            answers = connection.execute(query + _FIRST_LATER.format(number=number, seen=after))
            if locks:
                answers.nextset()
            if answers.fetchone() is None:
                raise DeletedError  # by another server
            answers.nextset()
            return connection, answers.fetchone() is not None
        except BaseException:
            self._end(connection)
            raise

    def _end(self, connection: Connection) -> None:
        """Roll back what was not committed. A connection that cannot roll back is closed."""
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop(connection)

    def create(self, bandit: Bandit, first: Event) -> Bandit:
        """Store a bandit and its first event. The returned bandit has its number."""

        def make(connection: Connection) -> Bandit:
            try:
                with connection.transaction():
                    query = f"{placed(INSERT_BANDIT)} RETURNING number"
                    row: Any = connection.execute(query, bandit[1:]).fetchone()
                    connection.execute(placed(INSERT_EVENT), (row[0], *first))
                    return bandit._replace(number=row[0])
            except errors.UniqueViolation as error:
                # A clash of random ids would be a bug, a clash of names is an ordinary answer.
                if "name" in (error.diag.constraint_name or ""):
                    raise NameTakenError(bandit.name) from error
                raise

        # Not repeated: the first attempt may have been committed before the connection was lost.
        return self._do(make, again=False)

    def bandit_named(self, name: str) -> Bandit | None:
        """The bandit with a name. None has a name with NUL, which PostgreSQL refuses in texts."""
        return None if "\0" in name else super().bandit_named(name)

    def put_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Store a checkpoint, unless another process has stored a later one."""
        self._write([(PUT_CHECKPOINT + _ONLY_NEWER, (number, *checkpoint))])

    def compact(self, number: int, seq: int, base: Checkpoint) -> None:
        """Store the bandit at event ``seq``, unless a later base is there; remove older events."""
        # Before anything is removed: who loads the bandit then begins at this base, or a later one.
        self._write([(PUT_BASE + _ONLY_NEWER, (number, *base))])
        remove(self, number, 1, seq)

    def check(self) -> None:
        """Execute a write that changes nothing."""
        self._write([("UPDATE meta SET version = version", ())])

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._do(lambda connection: connection.execute(placed(query), values).fetchall())

    def _write(self, statements: list[Statement]) -> None:
        def write(connection: Connection) -> None:
            with connection.transaction():
                for query, values in statements:
                    connection.execute(placed(query), values)

        self._do(write)

    def _do(self, action: Callable[[Connection], Answer], *, again: bool = True) -> Answer:
        """Run an action on this thread's connection, and once more if the connection was lost."""
        with translated():
            connection = self._connection()
            # Inside a turn the lock is lost with the connection, so the turn must fail.
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

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            if self._closed:
                raise StoreError("the database is closed")
            connection = connect(self._address)
            self._local.connection = connection
            with self._lock:
                self._connections.add(connection)
        return connection

    def _drop(self, connection: Connection) -> None:
        connection.close()
        self._local.connection = None
        with self._lock:
            self._connections.discard(connection)
