"""The queries of a log in Parquet files, for one part of its rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from superarm.offpolicy.parts import Part
from superarm.offpolicy.shown_columns import rounded
from superarm.offpolicy.sums import Sums

Query: TypeAlias = tuple[str, list[Any]]  # with its parameters


@dataclass(frozen=True)
class Facts:
    """What must be known of a part before it is added up; facts of parts can be added."""

    n_rows: int = 0
    n_rounds: int = 0
    n_missing: int = 0
    n_outside: int = 0
    n_improbable: int = 0
    items: frozenset[Any] = field(default_factory=frozenset)

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            self.n_rows + other.n_rows,
            self.n_rounds + other.n_rounds,
            self.n_missing + other.n_missing,
            self.n_outside + other.n_outside,
            self.n_improbable + other.n_improbable,
            self.items | other.items,
        )

    def refuse(self) -> None:
        """Refuse what `Log` and `snips` refuse."""
        if self.n_missing or self.n_outside:
            raise ValueError(
                f"outcomes must be known and in [0, 1], got {self.n_missing:,} rows without one "
                f"and {self.n_outside:,} outside; fill or leave out these rows before"
            )
        if self.n_improbable:
            raise ValueError(
                f"propensities must be above 0 and at most 1, got {self.n_improbable:,} rows with "
                f"others"
            )


@dataclass(frozen=True)
class Rows:
    """The columns of a log, and what is asked of its rows.

    Attributes
    ----------
    item, outcome, round, propensity, where
        As `ParquetLog` takes them.
    kind
        The type in SQL of the first column of the round.
    """

    item: str
    outcome: str
    round: tuple[str, ...]
    propensity: str | None
    where: str | None
    kind: str

    def counts(self, connection: Any, part: Part) -> list[tuple[Any, float, int, int]]:
        """The items, each with the sum and the number of its outcomes, and with its rows."""
        source, given = self._source(part)
        query = f"""
            SELECT item, coalesce(sum(outcome), 0), count(outcome), count(*)
            FROM {source} GROUP BY 1"""
        return connection.execute(query, given).fetchall()

    def facts(self, connection: Any, part: Part) -> Facts:
        """How many rounds and items the part has, and which rows are bad."""
        source, given = self._source(part)
        items = connection.execute(f"SELECT DISTINCT item FROM {source}", given).fetchall()
        found = frozenset(item for (item,) in items)
        n_rounds = self._n_rounds(connection, source, given) if found else 0
        n_rows, n_missing, n_outside, n_improbable = self._bad(connection, source, given)
        return Facts(n_rows, n_rounds, n_missing, n_outside, n_improbable, found)

    def _n_rounds(self, connection: Any, source: str, given: list[Any]) -> int:
        # In the order of the rows: if rounds only grow, none comes twice, and none is remembered.
        query = f"""
            SELECT 1 + count(*), coalesce(bool_and(round > before), true)
            FROM (SELECT round, lag(round) OVER () AS before FROM {source}) WHERE round <> before"""
        n_rounds, in_order = connection.execute(query, given).fetchone()
        if not in_order:
            distinct = f"SELECT count(*) FROM (SELECT DISTINCT round FROM {source})"
            (n_rounds,) = connection.execute(distinct, given).fetchone()
        return n_rounds

    def _bad(self, connection: Any, source: str, given: list[Any]) -> list[int]:
        """How many rows, missing outcomes, outcomes outside [0, 1] and wrong propensities."""
        extremes = f"""
            SELECT count(*), count(*) = count(outcome) AND count(*) = count(propensity)
                AND min(outcome) >= 0 AND max(outcome) <= 1
                AND min(propensity) > 0 AND max(propensity) <= 1
            FROM {source}"""
        # They are quick to find, and mostly good. NaN is the largest number of DuckDB.
        n_rows, is_good = connection.execute(extremes, given).fetchone()
        if is_good:
            return [n_rows, 0, 0, 0]
        query = f"""
            SELECT count(*), count(*) - count(outcome),
                count(*) FILTER (outcome NOT BETWEEN 0 AND 1),
                count(*) FILTER (propensity IS NULL OR propensity <= 0 OR propensity > 1)
            FROM {source}"""
        return list(connection.execute(query, given).fetchone())

    def sums(
        self,
        connection: Any,
        part: Part,
        n_rounds: int,
        kept: Path | None = None,
        *,
        weights: Mapping[Any, float],
        size: float,
        around: Sums | None,
    ) -> Sums:
        """The sums of a part with ``n_rounds`` rounds: see `ParquetLog.sums`.

        ``weights`` are the probabilities of the items of the target, and ``size`` their sum.
        ``kept`` is a file for the rounds, so that they are found once.
        """
        value, mean = (0.0, 1.0) if around is None else (around.value, around.mean_weight)
        rounds, given = self._rounds(part, weights, size)
        if kept is not None:
            rounds, given = _written(connection, rounds, given, kept)
        query = f"""
            SELECT count(*), sum(x), sum(w), sum(w * w), sum(r * r),
                sum(abs(r + ?::DOUBLE)), max(abs(r + ?::DOUBLE))
            FROM (SELECT x, w, (x - w * ?::DOUBLE) / ?::DOUBLE AS r FROM ({rounds}))"""
        row = connection.execute(query, [value, value, value, mean, *given]).fetchone()
        found = Sums(*(float(number or 0.0) for number in row))
        if around is None:
            return replace(found, n=n_rounds, rr=0.0, r=0.0, most=0.0)
        n_others = n_rounds - found.n  # rounds without any item of the target
        most = max(found.most, abs(value)) if n_others else found.most
        return replace(found, n=n_rounds, r=found.r + n_others * abs(value), most=most)

    def _rounds(self, part: Part, weights: Mapping[Any, float], size: float) -> Query:
        """The weighted outcome x and the weight w of the rounds with items of the target."""
        source, given = self._source(part)
        # Other items add nothing, so that only rows of the target are grouped.
        query = f"""
            WITH target AS (SELECT unnest(?) AS item, unnest(?::DOUBLE[]) AS weight)
            SELECT sum(weight / propensity * outcome) AS x,
                sum(weight / propensity) / ?::DOUBLE AS w
            FROM {source} JOIN target USING (item) GROUP BY round"""
        return query, [list(weights), list(weights.values()), size, *given]

    def n_rows(self, connection: Any, files: Sequence[str]) -> int:
        """How many rows all parts must have together."""
        query = f"SELECT count(*) FROM {self._files()}"
        return connection.execute(query, [list(files)]).fetchone()[0]

    def is_complete(self, connection: Any, files: Sequence[str]) -> bool:
        """Whether the files say that every row has a round and an item."""
        columns = [*self.round, self.item]
        query = f"""
            SELECT coalesce(bool_and(coalesce(stats_null_count, 1) = 0), false)
            FROM parquet_metadata(?) WHERE path_in_schema IN ({_marks(columns)})"""
        return connection.execute(query, [list(files), *columns]).fetchone()[0]

    def refuse_missing(self, connection: Any, files: Sequence[str]) -> None:
        """Refuse rows without a round, which would be in no part, or without an item."""
        tests = " OR ".join(f"{quoted(column)} IS NULL" for column in (*self.round, self.item))
        query = f"SELECT count(*) FROM {self._files()} WHERE {tests}"
        (n_missing,) = connection.execute(query, [list(files)]).fetchone()
        if n_missing:
            raise ValueError(
                f"the round and the item must be in every row, got {n_missing:,} rows without; "
                f"leave these rows out before"
            )

    def refuse_rounded(
        self, connection: Any, files: Sequence[str], column: str, n_bits: int
    ) -> None:
        """Refuse floats so large that different ids may have become the same float."""
        name = quoted(column)
        query = f"SELECT max(abs({name})) FROM {self._files()} WHERE NOT isnan({name})"
        (largest,) = connection.execute(query, [list(files)]).fetchone()
        if largest is not None and largest >= 2**n_bits:
            raise rounded(column, float(largest), n_bits)

    def _source(self, part: Part) -> Query:
        """The rows of a part as a query, and its parameters."""
        by = ", ".join(quoted(name) for name in self.round)
        by = by if len(self.round) == 1 else f"row({by})"
        condition, limits = part.condition(quoted(self.round[0]), self.kind)
        propensity = "NULL" if self.propensity is None else quoted(self.propensity)
        query = f"""(
            SELECT {quoted(self.item)} AS item, {by} AS round,
                CAST({quoted(self.outcome)} AS DOUBLE) AS outcome,
                CAST({propensity} AS DOUBLE) AS propensity
            FROM {self._files()} WHERE {condition})"""
        return query, [list(part.files), *limits]

    def _files(self) -> str:
        rows = "read_parquet(?)"
        return rows if self.where is None else f"(SELECT * FROM {rows} WHERE {self.where})"


def _written(connection: Any, query: str, given: list[Any], path: Path) -> Query:
    """A query that reads what another one finds, which is written once."""
    if not path.exists():
        name = str(path).replace("'", "''")
        connection.execute(f"COPY ({query}) TO '{name}' (FORMAT parquet)", given)
    return "SELECT * FROM read_parquet(?)", [str(path)]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def quoted(name: str) -> str:
    """A column in SQL, whatever its name."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
