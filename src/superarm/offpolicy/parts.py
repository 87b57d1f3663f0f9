"""Parts of a log in Parquet files: ranges of rounds that need little memory, one after the other.

The files say, for every group of rows, between which values the rounds are. A part is a range of
rounds with the files that may have them. So a round is in one part, wherever its rows are, and the
parts can be read on different machines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

# A round takes about 100 bytes while a part is added up, and has at least one row.
ROWS_PER_PART = 5_000_000
_MOST_READ = 2.0  # parts that would read the files more often than this are not worth it


@dataclass(frozen=True)
class Part:
    """The rounds from ``low`` up to ``high``, as texts, without ``high``; None for no limit."""

    files: tuple[str, ...]
    low: str | None = None
    high: str | None = None

    def condition(self, key: str, kind: str) -> tuple[str, list[str]]:
        """What rows must meet, in SQL, and its parameters; ``kind`` is the type of the key."""
        limits = [(">=", self.low), ("<", self.high)]
        given = [(sign, value) for sign, value in limits if value is not None]
        tests = [f"{key} {sign} CAST(? AS {kind})" for sign, _ in given] or ["true"]
        return " AND ".join(tests), [value for _, value in given]


@dataclass(frozen=True)
class _Group:
    """A group of rows in a file, between two values: their ranks among all, and the lower one."""

    file: str
    n_rows: int
    low: int
    high: int
    text: str


def parts_of(
    connection: Any, files: Sequence[str], column: str, kind: str, most: int | None = None
) -> list[Part]:
    """The parts of some files, whose rounds are in a ``column`` of the type ``kind``.

    One part if the rows are few, or in no order. A part has about ``most`` rows.
    """
    most = ROWS_PER_PART if most is None else most
    whole = [Part(tuple(files))]
    groups = _groups(connection, files, column, kind)
    n_rows = sum(group.n_rows for group in groups)
    if not groups or n_rows <= most:
        return whole
    parts, n_read = [], 0
    for first, end, here in _between(groups, _starts(groups, most)):
        n_read += sum(one.n_rows for one in here)
        names = tuple(dict.fromkeys(one.file for one in here))
        low, high = (None if group is None else group.text for group in (first, end))
        parts.append(Part(names, low, high))
    return parts if n_read <= _MOST_READ * n_rows else whole


def _starts(groups: Sequence[_Group], most: int) -> list[_Group]:
    """The groups, in order of ``low``, with which a new part begins, without the first one."""
    starts: list[_Group] = []
    n_rows, last = 0, groups[0].low
    for group in groups:
        if n_rows >= most and group.low > last:
            starts.append(group)
            n_rows, last = 0, group.low
        n_rows += group.n_rows
    return starts


def _between(
    groups: Sequence[_Group], starts: Sequence[_Group]
) -> Iterator[tuple[_Group | None, _Group | None, list[_Group]]]:
    """Per part: its first group, that of the next part, and all groups that may have its rounds.

    The first part has no first group and the last part no next one: they have no limit there.
    """
    lows = [group.low for group in groups]
    # The largest value up to each group, so that earlier groups are looked at only if they matter.
    tops = list(accumulate((group.high for group in groups), max))
    for first, end in pairwise([None, *starts, None]):
        least = groups[0].low if first is None else first.low
        stop = len(groups) if end is None else bisect_left(lows, end.low)
        yield (
            first,
            end,
            [one for one in groups[bisect_left(tops, least) : stop] if one.high >= least],
        )


def _groups(connection: Any, files: Sequence[str], column: str, kind: str) -> list[_Group]:
    """The groups of rows by their lower values; none if the files do not say them."""
    # DuckDB ranks the values, in the order of their type, whatever that is in Python.
    query = f"""
        WITH groups AS (
            SELECT file_name, row_group_num_rows AS n_rows,
                TRY_CAST(stats_min_value AS {kind}) AS low,
                TRY_CAST(stats_max_value AS {kind}) AS high
            FROM parquet_metadata(?) WHERE path_in_schema = ?),
        ranked AS (
            SELECT value, row_number() OVER (ORDER BY value) AS rank
            FROM (SELECT low AS value FROM groups UNION SELECT high FROM groups))
        SELECT file_name, n_rows, a.rank, b.rank, CAST(low AS VARCHAR)
        FROM groups LEFT JOIN ranked AS a ON low = a.value LEFT JOIN ranked AS b ON high = b.value
        ORDER BY 3, 4, 1"""
    rows = connection.execute(query, [list(files), column]).fetchall()
    if any(None in row for row in rows):
        return []
    return [_Group(*row) for row in rows]
