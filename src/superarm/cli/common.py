"""What the commands share: options, refusals, checks for optional packages, and printed tables."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from superarm.version import how_to_install

if TYPE_CHECKING:
    from click.decorators import FC
    from rich.console import Console
    from rich.table import Table as RichTable

    from superarm.reporting.tables import Table
    from superarm.service.log.events import Bandit
    from superarm.service.log.store import Store
    from superarm.studies import Done

# SQLite addresses are paths, PostgreSQL addresses have a password. Other users of a machine can
# read command lines, so an address with a password belongs into this variable.
_DATABASE_VARIABLE = "SUPERARM_DATABASE"
_WORD = re.compile(r"[^\s|│┃]+")  # without the lines of a box


class FiniteRange(click.FloatRange):
    """A number in a range. NaN is in every range of click."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _NewFolder(click.Path):
    """A folder that exists or can be made. Looked at first: results come after a long run."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, writable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        folder = Path(os.fsdecode(super().convert(value, param, ctx)))
        known = (one for one in (folder, *folder.absolute().parents) if os.access(one, os.F_OK))
        above = next(known)
        if not (above.is_dir() and os.access(above, os.W_OK)):
            what = "is not writable" if above.is_dir() else "is a file"
            self.fail(f"{folder} cannot be made, because {above} {what}.", param, ctx)
        return folder


existing_file = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the data as JSON instead of tables."
)
rewards_option = click.option(
    "--rewards", metavar="MODULE", help="A Python module with your own rewards."
)

# In the order of the help.
_LOG_OPTIONS = (
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


def database_option(more: str = "") -> Callable[[FC], FC]:
    """The option ``--database``, with ``more`` sentences in its help."""
    return click.option(
        "--database",
        envvar=_DATABASE_VARIABLE,
        show_envvar=True,
        default="superarm.db",
        help=f"An SQLite file, or postgresql://... {more}".strip(),
    )


def seed_option(help: str) -> Callable[[FC], FC]:
    """The option ``--seed``, with a help text that says what follows from the seed."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, help=help)


def workers_option(what: str, default: int = 2) -> Callable[[FC], FC]:
    """The option ``--workers``; ``what`` is the same for any number of workers."""
    sentence = f"Number of processes. {what} are the same for any number."
    return click.option("--workers", type=click.IntRange(min=1), default=default, help=sentence)


def runs_option(
    help: str, *, default: int | None = None, shown: str | None = None
) -> Callable[[FC], FC]:
    """The option ``--runs``. Two runs are the fewest that have a standard error."""
    # Without a default of its own the study decides, and ``shown`` says how.
    return click.option(
        "--runs",
        type=click.IntRange(min=2),
        default=default,
        show_default=True if shown is None else shown,
        help=help,
    )


def out_option(default: str, what: str) -> Callable[[FC], FC]:
    """The option ``--out``: the folder for ``what``."""
    sentence = f"Folder for {what}."
    return click.option("--out", type=_NewFolder(), default=Path(default), help=sentence)


def from_option(what: str) -> Callable[[FC], FC]:
    """The option ``--from``: make ``what`` again from recorded rows."""
    folder = click.Path(file_okay=False, path_type=Path)
    sentence = f"Rebuild the {what} of this folder from its rows, and run nothing."
    return click.option("--from", "from_", type=folder, help=sentence)


def log_options(command: FC) -> FC:
    """The options that say which columns a log has, for the commands that read one."""
    # The last decorator comes first in the help.
    for option in reversed(_LOG_OPTIONS):
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


def need(module: str, extra: str, why: str) -> None:
    """Refuse the command if an optional package is not installed."""
    # Looked for, not imported: the command itself imports the package, if it gets that far.
    if find_spec(module) is None:
        raise click.UsageError(f"{why} and needs {module}: {how_to_install(extra)}")


def need_service() -> None:
    """Refuse the command if the packages of the service are not installed."""
    for module in ("starlette", "pydantic", "uvicorn", "prometheus_client", "filelock"):
        need(module, "service", "this command uses the service")


def chosen_bandits(store: Store, bandit: str | None) -> list[Bandit]:
    """The bandit with an id or a name, or all bandits of a database."""
    from superarm.service.log.chain import all_bandits

    if bandit is None:
        return list(all_bandits(store))
    found = store.bandit(bandit) or store.bandit_named(bandit)
    if found is None:
        stop(f"BANDIT must be the id or the name of a bandit of this database, got {bandit!r}")
    return [found]


def stop(message: str) -> NoReturn:
    """Print the message as an error and end with exit code 1."""
    # On the error stream: the standard output may be piped into another program.
    click.echo(f"Error: {message}", err=True)
    raise click.exceptions.Exit(1)


def show(study: Callable[[Console], Done], what: str, *, stored: Path | None = None) -> None:
    """Run a study with a progress bar, then print its tables and the path of its results.

    ``stored`` is the folder in which it stores each row at once, if it does.
    """
    from concurrent.futures import BrokenExecutor

    from rich.console import Console

    from superarm.studies import RequestError

    console = Console()  # made here, because it looks at the width and colours of the terminal
    try:
        done = study(console)
    except RequestError as error:
        # A request that cannot be met is a usage error: exit code 2, and no traceback.
        raise click.UsageError(str(error)) from None
    except (KeyboardInterrupt, BrokenExecutor) as error:
        if stored is not None and stored.exists():
            kept = "Stopped. Finished rows are kept: the same command continues with the others."
            click.echo(kept, err=True)
        if isinstance(error, BrokenExecutor):
            stop(str(error))
        raise
    for table in done.tables:
        print_table(console, as_rich(table))
    for note in filter(None, done.notes):
        click.echo(f"{note}\n")
    # Not printed by rich, which would break a long path into lines that cannot be copied.
    click.echo(f"{what if done.path.suffix else 'The files'}: {done.path.resolve()}")


def as_rich(table: Table) -> RichTable:
    """The table for a terminal."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    shown = RichTable(title=escape(table.title), title_justify="left", show_lines=table.long)
    shown.caption = escape(table.caption) or None
    for place, name in enumerate(table.heading):
        text = place < table.n_texts
        shown.add_column(name, justify="left" if text else "right", no_wrap=text and not table.long)
    for row in table.rows:
        shown.add_row(*map(escape, row))
    return shown


def print_table(console: Console, table: RichTable) -> None:
    """Print a table, or lines with the same cells if the terminal is too narrow for a table.

    rich cuts what does not fit, and numbers that are cut are other numbers.
    """
    from rich.text import Text

    def plain(cell: Any) -> str:
        return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)

    columns = [[plain(column.header), *map(plain, column.cells)] for column in table.columns]
    lines = console.render_lines(table, pad=False)
    text = "\n".join("".join(segment.text for segment in line) for line in lines)
    words = Counter(word for column in columns for cell in column for word in _WORD.findall(cell))
    if words <= Counter(_WORD.findall(text)):
        console.print(table)
        return
    heads, *rows = zip(*columns, strict=True)
    told = [plain(table.title), ""] if table.title else []
    for name, *cells in rows:
        told += [f"{heads[0]} {name}".strip() if heads[0] else name]
        told += [f"  {head}: {cell}" for head, cell in zip(heads[1:], cells, strict=True) if cell]
        told += [""]
    for line in [*told, *([plain(table.caption)] if table.caption else [])]:
        # The terminal wraps long lines, and nothing is left out.
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def refuse_beside_from(given: object) -> None:
    """Refuse other options beside ``--from``, which runs nothing."""
    if given:
        raise click.BadParameter(
            "--from rebuilds the pages of everything in a folder; it takes no other options"
        )
