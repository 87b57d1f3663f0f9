"""The file of SQLite: opening it, being alone with it, and what its failures mean."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from superarm.service.store import TABLES, StoreError

VERSION = 1
_WORDS = {
    "serial": "INTEGER PRIMARY KEY",
    "int": "INTEGER",
    "real": "REAL",
    "blob": "BLOB",
    "tail": " WITHOUT ROWID",
}


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time; transactions are begun and ended by hand."""
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=30
    )


def make_tables(connection: sqlite3.Connection) -> None:
    """Make a new file a database of this version."""
    with transaction(connection):
        for table in TABLES:
            connection.execute(table.format(**_WORDS))
        connection.execute(f"PRAGMA user_version = {VERSION}")


def alone(path: Path) -> int:
    """Hold the file's lock for as long as this process serves it, by whatever link it is named."""
    there = path.resolve()
    beside = there.with_name(f"{there.name}-serving")
    try:
        held = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{beside} must be writable: {error.strerror}", read_only=True) from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(held)
        raise StoreError(
            f"{path} is served by another process; one at a time, or use PostgreSQL"
        ) from error
    return held


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, whatever it is that fails."""
    _roll_back(connection)  # what could not be rolled back when it failed
    try:
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


def as_store_error(error: Exception, path: Path) -> StoreError:
    """What a failure of SQLite means for the service."""
    code = getattr(error, "sqlite_errorcode", None)
    low = None if code is None else code & 0xFF
    full = low == sqlite3.SQLITE_FULL
    read_only = low in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)
    return StoreError(
        f"{path}: {str(error) or type(error).__name__}", full=full, read_only=read_only
    )
