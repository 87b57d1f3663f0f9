"""What a server and its database use: processor time and bytes. For load.py."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass

import psutil

from server_process import Server

_POSTGRES = "postgresql://"
_TABLES_SIZE = (
    "select sum(pg_total_relation_size(c.oid)) from pg_class c "
    "join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'superarm' and relkind = 'r'"
)


@dataclass
class Costs:
    """Seconds of the processor, and bytes: all so far, or those of a stretch of time.

    Attributes
    ----------
    server_s, http_s
        Of all processes of the server; of its event loop, which is the first thread.
    database_s
        Of all processes of PostgreSQL; 0 for SQLite, which is a part of the server.
    n_bytes
        Of the database; 0 if it is a folder of files.
    """

    server_s: float
    http_s: float
    database_s: float
    n_bytes: int

    def __sub__(self, before: Costs) -> Costs:
        return Costs(*(getattr(self, name) - getattr(before, name) for name in vars(self)))


def costs(server: Server, database: str) -> Costs:
    """What was used so far. PostgreSQL must be on this machine."""
    first = psutil.Process(server.process.pid)
    loop = [one for one in first.threads() if one.id == first.pid]
    return Costs(
        sum(map(_seconds, (first, *server.workers()))),
        sum(one.user_time + one.system_time for one in loop),
        *_used_by(database),
    )


def _used_by(database: str) -> tuple[float, int]:
    """The processor time and the size of a database."""
    if database.startswith(_POSTGRES):
        import psycopg

        with psycopg.connect(database) as connection:
            n_bytes = connection.execute(_TABLES_SIZE).fetchone()
            main = psutil.Process(connection.info.backend_pid).parent()
            assert main is not None
            assert n_bytes is not None
            return sum(map(_seconds, (main, *main.children()))), int(n_bytes[0] or 0)
    if not database.endswith(".db"):
        return 0.0, 0
    # With what is in the write-ahead log.
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        pages, size = (_pragma(connection, name) for name in ("page_count", "page_size"))
        return 0.0, pages * size


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"pragma {name}").fetchone()[0])


def _seconds(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):  # a connection may end
        times = process.cpu_times()
        return times.user + times.system
    return 0.0
