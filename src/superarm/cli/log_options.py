"""The options that say which columns a log has, for the commands that read one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.decorators import FC

_OPTIONS = (
    click.option(
        "--item",
        metavar="COLUMN",
        help="For a log with one row per shown item: the column with the item.",
    ),
    click.option(
        "--outcome", metavar="COLUMN", help="For a log: the column with the outcome, 0 to 1."
    ),
    click.option(
        "--round",
        "rounds",
        metavar="COLUMN",
        multiple=True,
        help="For a log: the column that rows of one round have in common. Can be repeated.",
    ),
    click.option(
        "--position", metavar="COLUMN", help="For a log: the column with the place, from 1."
    ),
    click.option(
        "--sql",
        metavar="QUERY",
        help="For a log in a database of SQLite or DuckDB: the query that finds its rows, or a "
        "file with it. Of a CSV or Parquet file the query takes the table log.",
    ),
)


def log_options(command: FC) -> FC:
    """The options, in their order."""
    # The last decorator comes first in the help.
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def query(sql: str | None) -> str | None:
    """A query of SQL, or the query in a file that is called ``.sql``."""
    if sql is None or not sql.endswith(".sql"):
        return sql
    try:
        return Path(sql).read_text(encoding="utf-8").strip().rstrip(";")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"--sql must be a query, or a file with one: {error}") from None
