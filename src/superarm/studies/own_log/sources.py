"""Which log is meant: where its rows are, which columns they have, and how a log is recognised.

The rows are in a CSV or Parquet file, or are what a query finds in a database.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from superarm.offpolicy.shown_columns import refuse_repeated
from superarm.studies.own_log.databases import answer
from superarm.studies.own_table import csv_file
from superarm.studies.own_table.csv_file import TableError

Kind = Literal["csv", "parquet", "sqlite", "duckdb"]
DATABASES = ("sqlite", "duckdb")  # have tables: a query must say which rows are meant
_PARQUET = (".parquet", ".pq")
_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # after a checksum of eight bytes
_CHECKSUM = 8
_MOST_SHOWN = 20  # columns in a message
# Names that people give to columns, without case, spaces, hyphens and underscores.
_ITEM = (
    *("item", "itemid", "product", "productid", "sku", "arm", "armid", "article", "articleid"),
    *("ad", "adid", "offer", "offerid", "movieid"),
)
_OUTCOME = (
    *("click", "clicked", "clicks", "isclick", "outcome", "reward", "bought", "purchase"),
    *("purchased", "conversion", "converted", "label", "like", "liked", "response"),
)
_ROUND = (
    *("decision", "decisionid"),  # before the round: an export of superarm has both
    *("round", "roundid", "request", "requestid", "impressionid", "slateid", "queryid"),
    *("searchid", "visit", "visitid", "pageview", "pageviewid"),
)
_TIME = ("timestamp", "time", "ts", "datetime", "date")
_USER = ("user", "userid", "customer", "customerid", "visitor", "visitorid", "session", "sessionid")
_POSITION = ("position", "pos", "rank", "place", "slot")
_PROPENSITY = ("propensity", "propensityscore", "pscore", "probability", "prob")


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
        """Lines of Python that read all columns as ``rows``, with what superarm itself needs."""
        path = self.path.as_posix()
        if self.kind == "csv" and self.sql is None:
            # As texts, without spaces and with the separator that was found, so that items have the
            # same names: pandas would read 007 as a number, and NA as missing.
            with csv_file.opened(self.path) as lines:
                options = "" if lines.separator == "," else f", delimiter={lines.separator!r}"
            return (
                f"with open({path!r}, encoding='utf-8-sig', newline='') as file:\n"
                f"    found = csv.reader(file{options})\n"
                f"    head, *rows = ([cell.strip() for cell in row] for row in found if row)\n"
                f"rows = [dict(zip(head, row)) for row in rows]"
            )
        if self.kind == "sqlite":
            return (
                f"found = sqlite3.connect({path!r}).execute({self.sql!r})\n"
                f"rows = [dict(zip([one[0] for one in found.description], row)) for row in found]"
            )
        if self.kind == "duckdb":
            return f"rows = duckdb.connect({path!r}, read_only=True).sql({self.sql!r})"
        query = "" if self.sql is None else f".query('log', {self.sql!r})"
        return f"rows = duckdb.read_{self.kind}({path!r}){query}"

    def names(self) -> list[str]:
        """The names of the columns."""
        if self.kind == "csv" and self.sql is None:
            with csv_file.opened(self.path) as lines:
                return lines.head
        with answer(self.path, self.kind, self.sql) as found:
            return found.names

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
        refuse_repeated(wanted, names)
        with answer(self.path, self.kind, self.sql) as found:
            return found.columns(list(dict.fromkeys(wanted)))

    def tables(self) -> list[tuple[str, list[str]]]:
        """The tables of a database, as SQL names them, each with the names of its columns."""
        query = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 2"
        if self.kind == "duckdb":
            query = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        with answer(self.path, self.kind, query) as found:
            rows = zip(*found.columns(found.names).values(), strict=True)
            names = [_in_sql(str(schema), str(name)) for schema, name in rows]
        return [(name, Source(self.path, f"SELECT * FROM {name}").names()) for name in names]


def _in_sql(schema: str, name: str) -> str:
    """A table in SQL, in quotation marks: it may be called ``order``, which is a word of SQL."""
    parts = (name,) if schema == "main" else (schema, name)
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _csv_columns(path: Path, wanted: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {name: [] for name in wanted}
    with csv_file.opened(path) as lines:
        lines.refuse_repeated(wanted)
        places = [(values[name], lines.head.index(name)) for name in wanted]
        for row in lines:
            for column, place in places:
                column.append(row[place].strip())
    return values


@dataclass(frozen=True)
class Columns:
    """The columns of a log, by their meaning.

    Attributes
    ----------
    item, outcome, round
        The item, what it did, and what rows of one round have in common, perhaps several columns.
    position, propensity
        The place of the item and the probability that it was shown; None if there are none.
    """

    item: str
    outcome: str
    round: tuple[str, ...]
    position: str | None = None
    propensity: str | None = None

    def options(self) -> str:
        """The options of the command line that say the same."""
        named = [("--item", self.item), ("--outcome", self.outcome)]
        named += [("--round", name) for name in self.round]
        more = [("--position", self.position), ("--propensity", self.propensity)]
        # A column may be called "", as the one of row numbers that pandas writes.
        named += [(option, name) for option, name in more if name is not None]
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in named)

    @property
    def all(self) -> list[str]:
        """The names of all of them."""
        more = (self.position, self.propensity)
        return [self.item, self.outcome, *self.round, *(name for name in more if name is not None)]


def guess(names: Sequence[str]) -> Columns | None:
    """The columns of a log, by their names; None if the names are those of arms.

    Examples
    --------
    >>> guess(["timestamp", "user", "item_id", "position", "click"]).options()
    '--item item_id --outcome click --round timestamp --round user --position position'
    >>> guess(["red", "green", "blue"])
    """
    item, outcome = _first(names, _ITEM), _first(names, _OUTCOME)
    if item is None or outcome is None:
        return None
    known = _first(names, _ROUND)
    both = [_first(names, _TIME), _first(names, _USER)]
    round = (known,) if known else tuple(name for name in both if name)
    return Columns(item, outcome, round, _first(names, _POSITION), _first(names, _PROPENSITY))


def _first(names: Sequence[str], wanted: Iterable[str]) -> str | None:
    plain = {name: "".join(c for c in name.casefold() if c.isalnum()) for name in names}
    return next((name for want in wanted for name in names if plain[name] == want), None)


def columns_of(
    source: Source,
    k: int,
    item: str | None,
    outcome: str | None,
    round: Sequence[str],
    position: str | None,
    propensity: str | None,
    *,
    command: str = "run",
) -> Columns | None:
    """The columns of a log that were named; None if none was and the file looks like a table.

    A file that looks like a log without that is refused with the command that is right: ``command``
    is its part before the file.
    """
    if source.kind in DATABASES and source.sql is None:
        raise _without_query(source, k, command)
    given = (item, outcome, *round, position, propensity)
    if item and outcome and round:
        return Columns(item, outcome, tuple(round), position, propensity)
    names = source.names()
    guessed = guess(names)
    if not any(given) and guessed is None and source.sql is None:
        if names and all(_first([name], _OUTCOME) for name in names):
            raise TableError(
                f"{source.path.name}: {' and '.join(names)} are names of outcomes, not of items. A "
                f"table has one column per item, with one kind of outcome. A log has one row per "
                f"shown item, with a column that names the item (--item). If they are your items, "
                f"rename the columns"
            )
        return None
    what = "is read as a log"
    if not any(given) and guessed is not None:
        what = "looks like a log with one row per shown item"
    columns = ", ".join([*names[:_MOST_SHOWN], *(["..."] if len(names) > _MOST_SHOWN else [])])
    raise TableError(
        f"{source.path.name} {what}, which needs the columns of the item, the outcome and the "
        f"round (its columns are {columns}); try\n    {_fix(source, k, guessed, command)}"
    )


def _fix(source: Source, k: int, guessed: Columns | None, command: str) -> str:
    """The command that is right, with the columns that were guessed."""
    options = "--item COLUMN --outcome COLUMN --round COLUMN"
    if guessed is not None and guessed.round:
        # A warm start has no use for propensities.
        known = guessed if command == "run" else replace(guessed, propensity=None)
        options = known.options()
    return f"superarm {command} {source.command()} --k {k} {options}"


def _without_query(source: Source, k: int, command: str) -> TableError:
    tables = source.tables()
    found = [(name, guess(columns)) for name, columns in tables]
    # The table that looks like a log, or any, to show how a query is written.
    name, guessed = next(
        (one for one in found if one[1] is not None), (found or [("TABLE", None)])[0]
    )
    names = ", ".join(name for name, _ in tables) or "none"
    fix = _fix(Source(source.path, f"SELECT * FROM {name}"), k, guessed, command)
    return TableError(
        f"{source.path.name} is a database (its tables are {names}), so a query must say which "
        f"rows are meant; try\n    {fix}"
    )
