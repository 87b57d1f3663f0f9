"""Rows that a query finds: SQLite by Python itself, everything else by DuckDB."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from superarm.features.tables import exactly
from superarm.reporting.files import need
from superarm.studies.own_table.csv_file import TableError


class _SQLiteAnswer:
    def __init__(self, cursor: sqlite3.Cursor) -> None:
        if cursor.description is None:
            raise TableError("--sql must be a query that has rows, such as SELECT, got none")
        self._cursor, self.names = cursor, [str(one[0]) for one in cursor.description]

    def columns(self, wanted: list[str]) -> dict[str, list[Any]]:
        rows = self._cursor.fetchall()
        places = {name: self.names.index(name) for name in wanted}
        return {name: [row[place] for row in rows] for name, place in places.items()}


class _DuckDBAnswer:
    def __init__(self, relation: Any) -> None:
        if relation is None:
            raise TableError("--sql must be a query that has rows, such as SELECT, got none")
        self._relation, self.names = relation, list(relation.columns)

    def columns(self, wanted: list[str]) -> dict[str, Any]:
        import duckdb

        # As arrays, without a Python object per cell.
        chosen = [duckdb.ColumnExpression(name) for name in wanted]
        return exactly(self._relation.select(*chosen)).fetchnumpy()


@contextmanager
def answer(path: Path, kind: str, sql: str | None) -> Iterator[_SQLiteAnswer | _DuckDBAnswer]:
    """The answer of a database of this kind to the query, or all rows of a Parquet or CSV file."""
    if kind == "sqlite":
        # Read only, and by Python itself: DuckDB would have to load an extension for it.
        address = f"{path.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                yield _SQLiteAnswer(connection.execute(sql or ""))
        except sqlite3.Error as error:
            raise TableError(f"--sql is refused by SQLite: {error}") from None
        return
    need("duckdb", "logs", "the file is read by DuckDB")
    import duckdb

    database = str(path) if kind == "duckdb" else ":memory:"
    try:
        with duckdb.connect(database, read_only=kind == "duckdb") as connection:
            yield _DuckDBAnswer(_relation(connection, path, kind, sql))
    except duckdb.Error as error:
        what = "--sql" if sql else path.name
        raise TableError(f"{what} is refused by DuckDB: {error}") from None


def _relation(connection: Any, path: Path, kind: str, sql: str | None) -> Any:
    if kind == "duckdb":
        return connection.sql(sql)
    read = connection.read_parquet if kind == "parquet" else connection.read_csv
    rows = read(str(path))
    return rows if sql is None else rows.query("log", sql)
