"""Where the rows of a log are: a CSV or Parquet file, or what a query finds in a database."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from superarm.features.tables import exactly
from superarm.reporting import need
from superarm.studies.own_table import csv_file
from superarm.studies.own_table.csv_file import TableError

Kind = Literal["csv", "parquet", "sqlite", "duckdb"]
DATABASES = ("sqlite", "duckdb")  # have tables: a query must say which rows are meant
_PARQUET = (".parquet", ".pq")
_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # after a checksum of eight bytes
_CHECKSUM = 8


@dataclass(frozen=True)
class Source:
    """A file, and for a database the query that finds the rows.

    Attributes
    ----------
    path
        A CSV or Parquet file, or a database of SQLite or DuckDB.
    sql
        The query. Without a database its table is called ``log``.
    """

    path: Path
    sql: str | None = None

    @cached_property
    def kind(self) -> Kind:
        """What the file is. Databases are known by how they begin: both may be called ``.db``."""
        with self.path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            return "sqlite"
        if start[_CHECKSUM:].startswith(_DUCKDB):
            return "duckdb"
        return "parquet" if self.path.suffix in _PARQUET else "csv"

    def command(self) -> str:
        """The file and the query as arguments of a command."""
        words = [self.path.as_posix(), *(["--sql", self.sql] if self.sql else [])]
        return shlex.join(words)

    def python(self) -> str:
        """Lines of Python that read all columns as ``rows``."""
        path = self.path.as_posix()
        if self.kind == "csv" and self.sql is None:
            # As texts and with the separator that was found, so that items have the same names:
            # pandas, which may be missing, would read 007 as a number, and NA as missing.
            with csv_file.opened(self.path) as lines:
                options = "" if lines.separator == "," else f", delimiter={lines.separator!r}"
            return (
                f"with open({path!r}, encoding='utf-8-sig', newline='') as file:\n"
                f"    rows = list(csv.DictReader(file{options}))"
            )
        if self.kind == "sqlite":
            read = f"pd.read_sql({self.sql!r}, sqlite3.connect({path!r}))"
        elif self.kind == "duckdb":
            read = f"duckdb.connect({path!r}).sql({self.sql!r})"
        elif self.sql is not None:
            read = f"duckdb.read_{self.kind}({path!r}).query('log', {self.sql!r})"
        else:
            read = f"pd.read_{self.kind}({path!r})"
        return f"rows = {read}"

    def names(self) -> list[str]:
        """The names of the columns."""
        if self.kind == "csv" and self.sql is None:
            with csv_file.opened(self.path) as lines:
                return lines.head
        with _answer(self) as answer:
            return answer.names

    def columns(self, wanted: Sequence[str]) -> Any:
        """Some columns by name: arrays, or lists of texts of CSV and of values of SQLite."""
        names = self.names()
        if not names:
            raise TableError(
                "the log is empty; expected a line of names and one row per shown item"
            )
        if unknown := [name for name in wanted if name not in names]:
            raise TableError(f"columns must be among {', '.join(names)}, got {unknown[0]!r}")
        if self.kind == "csv" and self.sql is None:
            return _csv_columns(self.path, list(dict.fromkeys(wanted)))
        with _answer(self) as answer:
            return answer.columns(list(dict.fromkeys(wanted)))

    def tables(self) -> list[tuple[str, list[str]]]:
        """The tables of a database, each with the names of its columns."""
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
        if self.kind == "duckdb":
            query = "SELECT table_name FROM information_schema.tables ORDER BY 1"
        with _answer(Source(self.path, query)) as answer:
            (found,) = answer.columns(answer.names).values()
        names = [_identifier(str(name)) for name in found]
        return [(name, Source(self.path, f"SELECT * FROM {name}").names()) for name in names]


def _identifier(name: str) -> str:
    """A name of a table in SQL, quoted where it must be."""
    doubled = name.replace('"', '""')
    return name if name.isidentifier() else f'"{doubled}"'


def _csv_columns(path: Path, wanted: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {name: [] for name in wanted}
    with csv_file.opened(path) as lines:
        lines.refuse_repeated(wanted)
        places = [(values[name], lines.head.index(name)) for name in wanted]
        for row in lines:
            for column, place in places:
                column.append(row[place].strip())
    return values


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
def _answer(source: Source) -> Iterator[_SQLiteAnswer | _DuckDBAnswer]:
    """The answer of the database to the query, or all rows of a Parquet file."""
    if source.kind == "sqlite":
        # Read only, and by Python itself: DuckDB would have to load an extension for it.
        address = f"{source.path.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                yield _SQLiteAnswer(connection.execute(source.sql or ""))
        except sqlite3.Error as error:
            raise TableError(f"--sql is refused by SQLite: {error}") from None
        return
    need("duckdb", "logs", "the file is read by DuckDB")
    import duckdb

    path = str(source.path) if source.kind == "duckdb" else ":memory:"
    try:
        with duckdb.connect(path, read_only=source.kind == "duckdb") as connection:
            yield _DuckDBAnswer(_relation(connection, source))
    except duckdb.Error as error:
        what = "--sql" if source.sql else source.path.name
        raise TableError(f"{what} is refused by DuckDB: {error}") from None


def _relation(connection: Any, source: Source) -> Any:
    if source.kind == "duckdb":
        return connection.sql(source.sql)
    read = connection.read_parquet if source.kind == "parquet" else connection.read_csv
    rows = read(str(source.path))
    return rows if source.sql is None else rows.query("log", source.sql)
