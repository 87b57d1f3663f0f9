"""The tables in PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg

from superarm.service.log.queries import TABLES, emptying
from superarm.service.log.store import StoreError

# See `superarm.service.log.sqlite_file`. PostgreSQL keeps long texts apart by itself.
VERSION = 4
_TYPES = {
    "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "int": "BIGINT",
    "real": "DOUBLE PRECISION",
    "blob": "BYTEA",
    "tail": "",
}
_TABLES_LOCK = 0x5A_BA_4D_17  # advisory lock of the process that creates the tables


def make_tables(connection: psycopg.Connection[Any], *, serving: bool) -> int:
    """Make what is missing, and return the version of the database."""
    with connection.transaction():
        # Servers that start at the same time must not create the tables twice.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TABLES_LOCK,))
        connection.execute("CREATE SCHEMA IF NOT EXISTS superarm")
        connection.execute("CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL)")
        row = connection.execute("SELECT version FROM meta").fetchone()
        if row is not None and row[0] > VERSION:
            raise StoreError(
                f"the database must have version {VERSION} or earlier, got version {row[0]}; "
                f"update superarm"
            )
        if row is None or (row[0] < VERSION and serving):
            for table in TABLES:
                connection.execute(table.format(**_TYPES))
            for query in [*emptying(row[0] if row else 0), "DELETE FROM meta"]:
                connection.execute(query)
            connection.execute("INSERT INTO meta VALUES (%s)", (VERSION,))
            return VERSION
        return row[0]
