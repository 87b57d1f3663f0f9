"""Which columns a log has, and how a table without options is recognised as a log."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from superarm.studies.own_log.sources import DATABASES, Source
from superarm.studies.own_table.csv_file import TableError

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
    "decision",  # before the round: an export of superarm has both
    "decisionid",
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
    raise TableError(
        f"{source.path.name} {what}, which needs the columns of the item, the outcome and the "
        f"round (its columns are {', '.join(names)}); try\n    {_fix(source, k, guessed, command)}"
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
