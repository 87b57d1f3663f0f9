"""Which columns a log has, and how a table without options is recognised as a log."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superarm.reporting import need
from superarm.studies.own_table.outcomes import TableError, decoded, refuse_binary, separator_of

PARQUET = (".parquet", ".pq")
# Names that people give to columns, without case, spaces, hyphens and underscores.
_ITEM = (
    "item",
    "itemid",
    "product",
    "productid",
    "sku",
    "arm",
    "armid",
    "article",
    "articleid",
    "ad",
    "adid",
    "offer",
    "offerid",
    "movieid",
)
_OUTCOME = (
    "click",
    "clicked",
    "clicks",
    "isclick",
    "outcome",
    "reward",
    "bought",
    "purchase",
    "purchased",
    "conversion",
    "converted",
    "label",
    "like",
    "liked",
    "response",
)
_ROUND = (
    "round",
    "roundid",
    "request",
    "requestid",
    "impressionid",
    "slateid",
    "queryid",
    "searchid",
    "visit",
    "visitid",
    "pageview",
    "pageviewid",
)
_TIME = ("timestamp", "time", "ts", "datetime", "date")
_USER = ("user", "userid", "customer", "customerid", "visitor", "visitorid", "session", "sessionid")
_POSITION = ("position", "pos", "rank", "place", "slot")
_PROPENSITY = ("propensity", "propensityscore", "pscore", "probability", "prob")


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
        named += [("--position", self.position or ""), ("--propensity", self.propensity or "")]
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in named if name)

    @property
    def all(self) -> list[str]:
        """The names of all of them."""
        more = (self.position, self.propensity)
        return [self.item, self.outcome, *self.round, *(name for name in more if name)]


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
    path: Path,
    k: int,
    item: str | None,
    outcome: str | None,
    round: Sequence[str],
    position: str | None,
    propensity: str | None,
) -> Columns | None:
    """The columns of a log that were named; None if none was and the file looks like a table.

    A file that looks like a log without that is refused with the command that is right.
    """
    given = (item, outcome, *round, position, propensity)
    names = header_of(path)
    guessed = guess(names)
    if item and outcome and round:
        return Columns(item, outcome, tuple(round), position, propensity)
    if not any(given) and guessed is None:
        _refuse_outcomes(path, names)
        return None
    file = shlex.quote(path.as_posix())
    if guessed is not None and guessed.round:
        fix = f"superarm run {file} --k {k} {guessed.options()}"
    else:
        fix = f"superarm run {file} --k {k} --item COLUMN --outcome COLUMN --round COLUMN"
    what = "looks like a log with one row per shown item" if not any(given) else "is read as a log"
    raise TableError(
        f"{path.name} {what}, which needs the columns of the item, the outcome and the round "
        f"(its columns are {', '.join(names)}); try\n    {fix}"
    )


def _refuse_outcomes(path: Path, names: Sequence[str]) -> None:
    """Columns such as clicked and bought are several outcomes of one thing, not several items."""
    if not names or any(_first([name], _OUTCOME) is None for name in names):
        return
    raise TableError(
        f"{path.name}: {' and '.join(names)} are names of outcomes, not of items. A table has one "
        f"column per item, with one kind of outcome. A log has one row per shown item, with a "
        f"column that names the item (--item). If they are your items, rename the columns"
    )


def header_of(path: Path) -> list[str]:
    """The names of the columns of a file."""
    if path.suffix in PARQUET:
        need("duckdb", "logs", "a Parquet file is read by DuckDB")
        import duckdb

        return list(duckdb.read_parquet(str(path)).columns)
    refuse_binary(path)
    with path.open("rb") as file:
        rows = csv.reader(decoded(file), delimiter=separator_of(path))
        return [name.strip() for name in next((row for row in rows if row), [])]


def read_columns(path: Path, wanted: Sequence[str]) -> Any:
    """Some columns of a file by name: arrays of Parquet, lists of texts of CSV."""
    names = header_of(path)
    if unknown := [name for name in wanted if name not in names]:
        raise TableError(f"columns must be of {', '.join(names)}, got {unknown[0]!r}")
    if path.suffix in PARQUET:
        import duckdb

        # As arrays, without a Python object per cell.
        chosen = [duckdb.ColumnExpression(name) for name in dict.fromkeys(wanted)]
        return duckdb.read_parquet(str(path)).select(*chosen).fetchnumpy()
    places = {name: names.index(name) for name in wanted}
    values: dict[str, list[str]] = {name: [] for name in wanted}
    with path.open("rb") as file:
        rows = csv.reader(decoded(file), delimiter=separator_of(path))
        next((row for row in rows if row), None)
        for row in rows:
            if not row:
                continue
            if len(row) != len(names):
                raise TableError(
                    f"line {rows.line_num}: expected {len(names)} cells, one for each name in "
                    f"line 1, got {len(row)}; leave a cell empty where it is not known"
                )
            for name, place in places.items():
                values[name].append(row[place].strip())
    return values
