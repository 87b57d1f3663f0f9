"""A log of shown items as a study: from a file to a folder with a report."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from superarm.beliefs.learned_prior import SMALL
from superarm.offpolicy.shown import ShownLog
from superarm.reporting import RequestError, files
from superarm.reporting.files import as_csv, lacks
from superarm.reporting.tables import Table
from superarm.studies import own_table
from superarm.studies.own_log.analysis import Finding, Valued, analyse
from superarm.studies.own_log.sources import Columns, Source
from superarm.studies.own_table import OwnTable, TableError
from superarm.studies.own_table.messages import SMALL_OUTCOMES
from superarm.studies.study import Done
from superarm.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

_TEMPLATE = Path(__file__).parent / "report.html"
_MOST_ITEMS = 10  # in the terminal; the page has more, and items.csv all
_ON_THE_PAGE = 50


def run(
    source: Source,
    columns: Columns,
    *,
    k: int,
    seed: int = 0,
    folder: Path,
    console: Console | None = None,
    **options: Any,
) -> Done:
    """Say what a log can say, and write the report.

    Parameters
    ----------
    source, columns
        Where the rows are, one per shown item, and the meaning of their columns.
    k
        Items per round.
    seed
        The seed from which everything follows.
    folder
        Where the report and the numbers are written.
    console
        Where to show progress.
    **options
        Those of `own_table.run_table`, for a log that has every item in every round.
    """
    # Refused before a long file is read.
    own_table.known_policies(options.get("policies", ()))
    files.refuse_inputs(folder, (*own_table.FILES, "items.csv", "table.csv"), [source.path])
    log = read(source, columns)
    if k >= log.n_arms:
        raise RequestError(
            f"--k must be between 1 and {log.n_arms - 1}, got {k}: the log has {log.n_arms} items"
        )
    if log.is_whole:
        table, path = _pivot(log), folder / "table.csv"
        _write_table(table, path)
        if console is not None:
            console.print(
                f"Every round of {source.path.name} has every item, so it is a table: {path}",
                soft_wrap=True,
                markup=False,
            )
        options = {**options, "k": k, "seed": seed, "folder": folder}
        return own_table.run_table(table, path, console=console, **options)
    found = analyse(log, k, seed=seed)
    notes = _notes(found, source, columns, k)
    if lacks("jinja2"):
        notes.append("The tables were written, but no page: it needs pip install jinja2")
    return Done(_write(found, log, source, columns, k, folder), _tables(found), notes)


def read(source: Source, columns: Columns) -> ShownLog:
    """The log in a file or a database."""
    try:
        return ShownLog.of(
            source.columns(columns.all),
            item=columns.item,
            outcome=columns.outcome,
            round=columns.round,
            position=columns.position,
            propensity=columns.propensity,
        )
    except TableError:
        raise
    except ValueError as error:
        raise TableError(str(error)) from None


def _pivot(log: ShownLog) -> OwnTable:
    """The log as a table with one column per item."""
    return OwnTable(log.table(), tuple(str(name) for name in log.names))


def _write_table(table: OwnTable, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.names)
        writer.writerows(table.cells.tolist())


def _tables(found: Finding) -> list[Table]:
    tables = [_items_table(found, _MOST_ITEMS)]
    if found.valued:
        rows = [[one.policy, _valued(one)] for one in found.valued]
        title = "What other policies would have earned, per round (95% interval)"
        tables.append(Table(["policy", "reward"], rows, title))
    if found.places:
        rows = [
            [str(one["place"]), f"{one['shown']:,}", _number(one["rate"])] for one in found.places
        ]
        tables.append(Table(["place", "shown", "rate"], rows[:_MOST_ITEMS], "Places"))
    return tables


def _valued(one: Valued) -> str:
    if one.value is None:
        return "not known"
    return f"{one.value:.4g} ({one.low:.4g} to {one.high:.4g})"


def _items_table(found: Finding, most: int) -> Table:
    rows = [
        [str(one["item"]), f"{one['shown']:,}", *(_number(one[name]) for name in _NUMBERS)]
        for one in found.items[:most]
    ]
    title = f"The best of {len(found.items):,} items" if len(found.items) > most else "Items"
    return Table(["item", "shown", "rate", "mean", "low", "high"], rows, title)


_NUMBERS = ("rate", "mean", "low", "high")
_LUCK = 0.01  # the share of logs that are warned of although the place does not matter


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _notes(found: Finding, source: Source, columns: Columns, k: int) -> list[str]:
    said = [found.why]
    if found.n_missing:
        said.append(_about_missing(found, sum(one["shown"] for one in found.items)))
    if found.size < SMALL:
        said.append(f"Warning: {SMALL_OUTCOMES.format(found.size)}")
    said += [f"Beware, {one.policy}: {one.warning}" for one in found.valued if one.warning]
    if len(found.places) > 1:
        said.append(_about_places(found))
    return [*said, f"What to do next\n{_next(source, columns, k)}"]


def _about_missing(found: Finding, n_known: int) -> str:
    said = (
        f"Warning: {found.n_missing:,} of {found.n_missing + n_known:,} rows have no outcome, and "
        "nothing is learned from them. If no outcome means no success, write 0 there."
    )
    if found.valued:
        said += (
            f" The rewards leave out the {found.n_incomplete:,} rounds with such a row, which is "
            "right only if outcomes are missing regardless of what they are."
        )
    return said


def _about_places(found: Finding) -> str:
    low, *_, high = sorted(found.places, key=lambda one: one["rate"])
    ends = [f"{one['rate']:.3g} at place {one['place']}" for one in (low, high)]
    rates = " to ".join(ends)
    if found.places_luck >= _LUCK:
        return f"The rates of places, {rates}, differ by no more than luck explains."
    return (
        f"Warning: the rates of places, {rates}, differ by more than luck explains. The rates of "
        f"items mix the item with its places; PositionBiasedBelief takes them apart."
    )


def _next(source: Source, columns: Columns, k: int) -> str:
    """How to go on in Python, with the names of this log."""
    given = {**asdict(columns), "round": list(columns.round)}
    options = ", ".join(f"{name}={value!r}" for name, value in given.items() if value)
    read = source.python()
    imports = [name for name in ("csv", "duckdb", "sqlite3") if f"{name}." in read]
    return (
        "Start a session with what the log knows, in Python:\n"
        + "".join(f"    import {name}\n" for name in (*imports, "superarm"))
        + f"{indent(read, '    ')}\n"
        f"    log = superarm.offpolicy.ShownLog.of(rows, {options})\n"
        f"    session = superarm.Session.from_log(log, k={k})\n"
        "Or a bandit of the service, over HTTP:\n"
        f"    superarm serve --warm-start {source.command()} --k {k} "
        f"{replace(columns, propensity=None).options()}"
    )


def _write(
    found: Finding, log: ShownLog, source: Source, columns: Columns, k: int, folder: Path
) -> Path:
    settings = {
        "log": source.path.name,
        **({"sql": source.sql} if source.sql else {}),
        "columns": asdict(columns),
        "k": k,
        "n_rounds": log.n_rounds,
        "n_rows": len(log),
        "n_items": log.n_arms,
        "share_shown": log.share_shown,
    }
    numbers = {"settings": settings, **asdict(found)}
    texts = {
        "numbers.json": json.dumps(numbers, indent=1, ensure_ascii=False) + "\n",
        "items.csv": as_csv(found.items),
        "bandit.json": json.dumps(
            {"name": source.path.stem, "arms": [str(name) for name in log.names], "k": k},
            ensure_ascii=False,
        )
        + "\n",
    }
    # Without the package that makes pages, people still get their numbers.
    if not lacks("jinja2"):
        texts["report.html"] = files.render(
            _TEMPLATE,
            settings=settings,
            version=__version__,
            why=found.why,
            # What was asked for comes first, and the long table last.
            tables=[*_tables(found)[1:], _items_table(found, _ON_THE_PAGE)],
            notes=_notes(found, source, columns, k)[1:],
            command=f"superarm run {source.command()} --k {k} {columns.options()}",
        )
    # The page comes last: once it is there, all other files are complete.
    last = [files.write(folder / name, text) for name, text in texts.items()][-1]
    return last if "report.html" in texts else folder
