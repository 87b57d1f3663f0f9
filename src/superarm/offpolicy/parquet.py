"""Logs that do not fit into memory: counts and estimates from Parquet files, by DuckDB.

Every figure is a sum over rounds. So files can be read one after the other, on any number of
machines, and the sums added. Needs ``superarm[logs]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from superarm.core.arguments import as_fraction
from superarm.offpolicy.estimate import (
    Estimate,
    refuse_no_overlap,
    refuse_uneven,
    with_interval,
)
from superarm.offpolicy.export import FILES, need_duckdb


@dataclass(frozen=True)
class Sums:
    """Sums over rounds, of which x is the weighted outcome of a round and w its weight.

    Attributes
    ----------
    n, x, w, ww
        The number of rounds, and the sums of x, w and w².
    rr, r, most
        Around a value v with the mean weight u, for r = (x - v w) / u: the sum of r², the sum of
        |v + r|, and the largest |v + r|. 0 without a value.
    """

    n: float
    x: float
    w: float
    ww: float
    rr: float = 0.0
    r: float = 0.0
    most: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        return Sums(**added, most=max(self.most, other.most))

    @property
    def mean_weight(self) -> float:
        """The mean weight of a round."""
        return self.w / self.n if self.n else 0.0

    @property
    def value(self) -> float:
        """The estimate: the ratio of two means; NaN if nothing overlaps."""
        return self.x / self.w if self.w else np.nan


_ADDED = ("n", "x", "w", "ww", "rr", "r")


def estimate_of(sums: Sums, size: float, *, level: float = 0.95, unseen: float = 0.0) -> Estimate:
    """The estimate from the `Sums` around its own value.

    ``size`` is the mean size of the target's sets. ``unseen`` is the share of the target that is in
    no file. What `snips` refuses in memory is refused here, too.
    """
    n, spare = int(sums.n), max(1.0, sums.n - 1)
    spread = max(0.0, sums.ww - sums.w * sums.mean_weight) / spare
    error = float(np.sqrt(spread / n)) if n > 1 else np.inf
    refuse_no_overlap(n, sums.mean_weight, error, unseen)
    effective_n = sums.w**2 / sums.ww
    refuse_uneven(n, effective_n)
    return with_interval(
        sums.value,
        float(np.sqrt(sums.rr / spare / n)) if n > 1 else np.inf,
        effective_n,
        n=n,
        level=level,
        bounds=(0.0, size),
        mean_weight=sums.mean_weight,
        mean_weight_error=error,
        largest_share=sums.most / sums.r if sums.r else 0.0,
    )


class ParquetLog:
    """A log with one row per shown item, in one or many Parquet files.

    Parameters
    ----------
    files
        A path, with ``*`` for many files, or several paths.
    item, outcome, round
        The columns with the item, with what it did, from 0 to 1, and what rows of one round have in
        common. All rows of a round must be in one file if `sums` is added over files.
    propensity
        The column with the probability that the item was shown; `snips` needs it.
    where
        A condition in SQL that rows must meet, such as ``"country = 'DE'"``; the rounds that it
        leaves must be whole.
    """

    def __init__(
        self,
        files: str | Path | Sequence[str | Path],
        *,
        item: str,
        outcome: str,
        round: str,
        propensity: str | None = None,
        where: str | None = None,
    ) -> None:
        need_duckdb("ParquetLog")
        given = [files] if isinstance(files, str | Path) else list(files)
        self.files = [str(file) for file in given]
        self.item, self.outcome, self.round, self.propensity = item, outcome, round, propensity
        self.where = where
        self._refuse_unknown()

    @classmethod
    def exported(cls, folder: str | Path) -> ParquetLog:
        """The decisions of `superarm.offpolicy.export` with propensities and all outcomes."""
        return cls(
            (Path(folder) / FILES).as_posix(),
            item="arm",
            outcome="outcome",
            round="number",
            propensity="propensity",
            where="propensity IS NOT NULL AND status = 'told'",
        )

    def counts(self) -> dict[Any, tuple[float, int]]:
        """The sum of the outcomes of each item, and how many outcomes it has."""
        query = f"""
            SELECT {_quoted(self.item)}, sum({self._outcome}), count({self._outcome})
            FROM {self._source} GROUP BY 1 ORDER BY 1"""
        return {item: (float(s or 0.0), int(n)) for item, s, n in self._rows(query)}

    def snips(self, target: Mapping[Any, float], *, level: float = 0.95) -> Estimate:
        """What `superarm.offpolicy.snips` gives for the same log in memory.

        Parameters
        ----------
        target
            The probability that each item is in the target's set; 0 for those that are not there.
        level
            The probability with which the interval should cover the true value.
        """
        level, size = as_fraction(level, "level"), _size(target)
        # Twice: the spread is summed around the value, which keeps its digits.
        sums = self.sums(target, self.sums(target))
        logged = self.counts()
        unseen = sum(chance for one, chance in target.items() if one not in logged) / size
        return estimate_of(sums, size, level=level, unseen=unseen)

    def sums(self, target: Mapping[Any, float], around: Sums | None = None) -> Sums:
        """The sums of the log for a target, around the value of other sums if they are given.

        Sums of several files can be added. `estimate_of` takes those around the sums of all files.
        """
        if self.propensity is None:
            raise ValueError("estimates need the column of the propensities: propensity=...")
        if around is None:
            self._refuse_bad_rows()
        value, mean = (0.0, 1.0) if around is None else (around.value, around.mean_weight)
        items = list(target)
        weight = f"coalesce(q.weight, 0.0) / {_quoted(self.propensity)}"
        query = f"""
            WITH q AS (SELECT unnest(?) AS item, unnest(?::DOUBLE[]) AS weight),
            rounds AS (
                SELECT sum({weight} * {self._outcome}) AS x, sum({weight}) / ?::DOUBLE AS w
                FROM {self._source} AS log LEFT JOIN q ON log.{_quoted(self.item)} = q.item
                GROUP BY {_quoted(self.round)}
            ),
            off AS (SELECT x, w, (x - w * ?::DOUBLE) / ?::DOUBLE AS r FROM rounds)
            SELECT count(*), sum(x), sum(w), sum(w * w), sum(r * r),
                sum(abs(r + ?::DOUBLE)), max(abs(r + ?::DOUBLE))
            FROM off"""
        chances = [float(target[one]) for one in items]
        after = [value, mean, value, value]
        (row,) = self._rows(query, items, chances, _size(target), after=after)
        found = Sums(*(float(number or 0.0) for number in row))
        return found if around is not None else replace(found, rr=0.0, r=0.0, most=0.0)

    @property
    def _source(self) -> str:
        rows = "read_parquet(?)"
        return rows if self.where is None else f"(SELECT * FROM {rows} WHERE {self.where})"

    @property
    def _outcome(self) -> str:
        return f"CAST({_quoted(self.outcome)} AS DOUBLE)"

    def _rows(self, query: str, *before: Any, after: Sequence[Any] = ()) -> list[Any]:
        import duckdb

        # A connection of its own: nothing is shared with other users of DuckDB in this process.
        with duckdb.connect() as connection:
            return connection.execute(query, [*before, self.files, *after]).fetchall()

    def _refuse_bad_rows(self) -> None:
        """Refuse what `Log` and `snips` refuse, instead of leaving it out of sums silently."""
        outcome, chance = self._outcome, _quoted(str(self.propensity))
        query = f"""
            SELECT count(*) - count({outcome}),
                count(*) FILTER ({outcome} NOT BETWEEN 0 AND 1),
                count(*) FILTER ({chance} IS NULL OR {chance} <= 0 OR {chance} > 1)
            FROM {self._source}"""
        ((missing, outside, bad),) = self._rows(query)
        if missing or outside:
            raise ValueError(
                f"outcomes must be known and in [0, 1], got {missing:,} rows without one and "
                f"{outside:,} outside; fill or leave out these rows before"
            )
        if bad:
            raise ValueError(
                f"propensities must be above 0 and at most 1, got {bad:,} rows with others"
            )

    def _refuse_unknown(self) -> None:
        names = [row[0] for row in self._rows("DESCRIBE SELECT * FROM read_parquet(?)")]
        wanted = [self.item, self.outcome, self.round, self.propensity]
        unknown = [name for name in wanted if name is not None and name not in names]
        if unknown:
            raise ValueError(f"columns must be of {', '.join(names)}, got {unknown[0]!r}")


def _size(target: Mapping[Any, float]) -> float:
    size = float(sum(target.values()))
    if not (size > 0 and all(0 <= chance <= 1 for chance in target.values())):
        raise ValueError(f"a target must have probabilities, one of them above 0, got {target}")
    return size


def _quoted(name: str) -> str:
    """A column in SQL, whatever its name."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
