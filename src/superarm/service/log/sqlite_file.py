"""The file of an SQLite database: open it, lock it, and interpret its failures."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import filelock

from superarm.service.log.events import Event
from superarm.service.log.queries import INSERT_EVENT, TABLES, Statement, emptying
from superarm.service.log.store import StoreError

# 1: the first. 2: arms of decisions are ranked, which servers of version 1 would not replay.
# 3: logs may have been compacted. 4: events may be of several requests. 5: long bodies are apart.
VERSION = 5
_BUSY_S = 30  # how long a statement waits for a lock that another process holds
_ERROR_CLASS = 0xFF  # the low byte of an extended SQLite error code
_TYPES = {
    "serial": "INTEGER PRIMARY KEY",
    "int": "INTEGER",
    "real": "REAL",
    "blob": "BLOB",
    "tail": " WITHOUT ROWID",
}
# In the table of events, SQLite reads a whole event to compare its key with another one. So each
# commit read the names of a million arms, if the bandit with the next number had them. The keys of
# this table are in an index. The body of its event is empty.
_LONG_BODIES = (
    "CREATE TABLE IF NOT EXISTS long_bodies (bandit INTEGER NOT NULL, seq INTEGER NOT NULL, "
    "body TEXT NOT NULL, UNIQUE (bandit, seq))"
)
LONG = 1 << 16  # characters
_INSERT_LONG = "INSERT INTO long_bodies (bandit, seq, body) VALUES (?, ?, ?)"
_MOVE_LONG = (
    f"INSERT OR IGNORE INTO long_bodies SELECT bandit, seq, body FROM events "
    f"WHERE length(body) > {LONG}",
    f"UPDATE events SET body = '' WHERE length(body) > {LONG}",
)
WITH_LONG = 5  # the version that brought this table
# What is lost is empty, and so does not have the digest of its event.
BODY = (
    "CASE body WHEN '' THEN coalesce((SELECT long.body FROM long_bodies AS long "
    "WHERE long.bandit = events.bandit AND long.seq = events.seq), '') ELSE body END"
)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection that all threads may use, one at a time, with explicit transactions."""
    # A URI, because only a URI can open a file without the right to create it.
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_S
    )


def make_tables(connection: sqlite3.Connection, version: int) -> None:
    """Turn a new or older file into one of this version, in the transaction of the caller."""
    tables = [*(table.format(**_TYPES) for table in TABLES), _LONG_BODIES]
    for query in [*tables, *emptying(version), *_MOVE_LONG]:
        connection.execute(query)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def inserting_events(number: int, events: Sequence[Event]) -> list[Statement]:
    """Store events of one bandit, and long bodies apart from them."""
    made: list[Statement] = []
    for event in events:
        if len(event.body) > LONG:
            made.append((_INSERT_LONG, (number, event.seq, event.body)))
            event = event._replace(body="")
        made.append((INSERT_EVENT, (number, *event)))
    return made


def lock(path: Path) -> filelock.BaseFileLock:
    """Lock the database for this process, so that no second server appends to it.

    Symbolic links are resolved first. The operating system releases the lock when the process dies.
    A file with a second name is refused: SQLite names its write-ahead log after the database, so
    servers under two names would overwrite what the other one has acknowledged.
    """
    target = path.resolve()
    if target.exists() and target.stat().st_nlink > 1:
        raise StoreError(
            f"{path} must have one name, but hard links give it {target.stat().st_nlink}; "
            f"serve a copy of it, or remove the other names while no server runs"
        )
    beside = target.with_name(f"{target.name}-serving")
    # A soft lock would outlive a killed process, and threads other than this one may release it.
    held = filelock.FileLock(
        beside, timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False
    )
    try:
        held.acquire()
    except filelock.Timeout as error:
        raise StoreError(
            f"{path} is served by another process; start only one, or use PostgreSQL"
        ) from error
    except OSError as error:
        raise StoreError(f"{beside} must be writable: {error.strerror}", read_only=True) from error
    return held


def identities(path: Path) -> dict[Path, tuple[int, ...]]:
    """The files of a database that is open and locked, with the numbers of inode and device."""
    files = [Path(f"{path.resolve()}{end}") for end in ("", "-wal", "-shm", "-serving")]
    return {file: file.stat()[1:3] for file in files}


def as_store_error(error: Exception, path: Path) -> StoreError:
    """Translate a failure of SQLite, or of a look at its files."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & _ERROR_CLASS
    full = kind == sqlite3.SQLITE_FULL
    # All of these mean that a write would fail again until a person helps.
    read_only = kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)
    return StoreError(
        f"{path}: {str(error) or type(error).__name__}", full=full, read_only=read_only
    )
