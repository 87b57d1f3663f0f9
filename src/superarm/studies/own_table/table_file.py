"""A table as people write it: a CSV file with a line of names and one line per round.

The file is read once, line by line, and kept in as few bytes as its cells need. Every refusal names
the line and the column, what was expected, what came and how to fix it.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray
from superarm.studies.own_table.outcomes import (
    SEPARATORS,
    Outcomes,
    TableError,
    advice,
    decoded,
    is_outcome,
    refuse_binary,
    separator_of,
    short,
    some,
)

__all__ = ["OwnTable", "Progress", "TableError", "read"]

_ROWS_AT_ONCE = 50_000

Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class OwnTable:
    """The content of a file.

    Attributes
    ----------
    cells
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN for empty cells.
    names
        The arms, in the order of the columns.
    skipped
        The columns that were left out.
    n_empty
        The number of rows that were left out, because they have no outcome of any arm.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    n_empty: int = 0


def read(path: Path, *, skip: Sequence[str] = (), progress: Progress | None = None) -> OwnTable:
    """The table in a CSV file.

    Parameters
    ----------
    path
        UTF-8 with or without a byte order mark, separated by commas, semicolons or tabs.
    skip
        Columns that are no arms: names, or numbers from 1.
    progress
        Called repeatedly with the number of bytes read so far.
    """
    refuse_binary(path)
    with path.open("rb") as file:
        separator = separator_of(path)
        lines = csv.reader(decoded(file), delimiter=separator)
        try:
            # Empty lines above the names are harmless, and common in exports.
            head = next((row for row in lines if row), None)
            if head is None:
                raise TableError(
                    f"{path.name} is empty; expected a line of names and one line of outcomes "
                    f"per round"
                )
            columns = Columns([name.strip() for name in head], skip, separator)
            # Where the comma separates cells, it cannot be a decimal point.
            outcomes = Outcomes(decimal_comma=separator != ",")
            strips, n_empty = [], 0
            for strip, n_left_out in _strips(lines, columns, outcomes):
                strips.append(strip)
                n_empty += n_left_out
                if progress is not None:
                    progress(file.tell())
        except csv.Error as error:
            raise TableError(
                f"line {lines.line_num}: {error}; is a quotation mark not closed?"
            ) from None
    if not strips:
        raise TableError(
            f"{path.name} has a line of names and no line below it; expected one line of "
            f"outcomes per round"
        )
    table = np.concatenate(strips)
    columns.refuse_empty(table)
    return OwnTable(table, columns.names, columns.skipped, n_empty)


class Columns:
    """The columns of the file: which are arms, and what they are called."""

    def __init__(self, head: list[str], skip: Sequence[str], separator: str) -> None:
        self.head, self.separator = head, separator
        left_out = {self._place(name) for name in skip}
        self.kept = [place for place in range(len(head)) if place not in left_out]
        self.skipped = tuple(self.called(place) for place in sorted(left_out))
        self.names = tuple(head[place] for place in self.kept)
        self._check()

    def called(self, place: int) -> str:
        """The name of a column for an error message."""
        return self.head[place] or f"column {place + 1}"

    def skipping(self, place: int) -> str:
        """The option that leaves a column out."""
        name = self.head[place]
        if not name:
            return f"--skip {place + 1}"
        return f"--skip {name!r}" if " " in name else f"--skip {name}"

    def refuse_empty(self, table: NDArray[Any]) -> None:
        """Refuse arms without a single outcome."""
        empty = [
            place
            for place, column in zip(self.kept, table.T, strict=True)
            if np.isnan(column).all()
        ]
        if empty:
            name = self.called(empty[0])
            raise TableError(
                f"the column {name!r} has no outcome in any line, so nothing is known about "
                f"this arm; leave it out with {self.skipping(empty[0])}"
            )

    def _place(self, wanted: str) -> int:
        # A name wins over a number: a column may be called "3".
        if wanted in self.head:
            return self.head.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(self.head):
            return int(wanted) - 1
        raise TableError(
            f"--skip must be the name of a column or its number, from 1 to {len(self.head)}, "
            f"got {wanted!r}; the columns are {some(self.head)}"
        )

    def _check(self) -> None:
        """Refuse names that no arms can have."""
        # Spreadsheets write this line to tell each other the separator.
        if self.head[0].lower().startswith("sep="):
            raise TableError(
                f"line 1: expected the names of the arms, got {short(self.head[0])}, which is for "
                f"spreadsheets; delete the line, the separator is found without it"
            )
        if len(self.names) < 2:
            raise TableError(
                f"line 1: expected the names of at least two arms, got {some(self.names)}; the "
                f"file needs one column for each arm, with commas, semicolons or tabs between them"
            )
        self._check_each()
        # After the other checks: a header that consists of numbers is most probably missing, and
        # the first round would be lost silently.
        if all(is_outcome(name) for name in self.names):
            raise TableError(
                f"line 1: expected the names of the arms, got outcomes: {some(self.names)}; "
                f"write a line of names above the first round"
            )

    def _check_each(self) -> None:
        """Refuse missing and repeated names."""
        seen: dict[str, int] = {}
        for place in self.kept:
            if not self.head[place]:
                raise TableError(
                    f"line 1: column {place + 1} has no name; name it if it is an arm. If it "
                    f"numbers the rows, or if lines end with a separator, leave it out with "
                    f"--skip {place + 1}"
                )
            first = seen.setdefault(self.head[place], place)
            if first != place:
                raise TableError(
                    f"line 1: the name {self.head[place]!r} is there twice, in columns "
                    f"{first + 1} and {place + 1}; every arm needs a name of its own"
                )


def _strips(lines: Any, columns: Columns, outcomes: Outcomes) -> Iterator[tuple[NDArray[Any], int]]:
    """The rows as arrays that are checked and packed, many rows at once; and how many are empty."""
    width, kept = len(columns.head), columns.kept
    everything = len(kept) == width
    values, n_rows = array("d"), 0
    for row in lines:
        if not row:
            continue  # an empty line
        if len(row) != width:
            raise _ragged(lines.line_num, row, columns)
        try:
            chosen = row if everything else [row[place] for place in kept]
            # The hot loop of the file: one dictionary lookup per cell. Cells of a table repeat few
            # texts.
            values.extend(map(outcomes.__getitem__, chosen))
        except ValueError:
            # Only now, after a failure, is the cell searched that caused it.
            raise _bad_cell(lines.line_num, row, columns, outcomes) from None
        n_rows += 1
        if n_rows == _ROWS_AT_ONCE:
            yield _packed(values, len(kept))
            values, n_rows = array("d"), 0
    if n_rows:
        yield _packed(values, len(kept))


def _packed(values: array[float], n_arms: int) -> tuple[NDArray[Any], int]:
    """Rows in the smallest numbers that hold them exactly, without the rows that have no outcome.

    That is one byte for 0 and 1, two bytes if cells are missing, otherwise eight. The second answer
    is the number of rows that were left out.
    """
    rows: FloatArray = np.frombuffer(values).reshape(-1, n_arms)
    missing = np.isnan(rows)
    if (empty := missing.all(axis=1)).any():
        # Nobody can learn from such a row, and its reward would not depend on the policy.
        rows, missing = rows[~empty], missing[~empty]
    # float16 has 0, 1 and NaN exactly, and most tables have nothing else.
    if not ((rows == 0) | (rows == 1) | missing).all():
        return rows, int(empty.sum())
    return rows.astype(np.float16 if missing.any() else np.uint8), int(empty.sum())


def _ragged(line: int, row: list[str], columns: Columns) -> TableError:
    width = len(columns.head)
    if any("\n" in cell for cell in row):
        fix = "is a quotation mark not closed?"
    elif len(row) < width:
        fix = "leave a cell empty where the outcome is missing, but keep its separator"
    else:
        fix = "put quotation marks around a cell that has a separator in it"
    return TableError(
        f"line {line}: expected {width} cells, one for each name in line 1, got {len(row)} "
        f"({some(row)}; separated by {SEPARATORS[columns.separator]}); {fix}"
    )


def _bad_cell(line: int, row: list[str], columns: Columns, outcomes: Outcomes) -> TableError:
    # At least one cell fails, so that the loop always breaks.
    for place in columns.kept:
        try:
            outcomes.outcome(row[place])
        except ValueError:
            break
    text, name = row[place].strip(), columns.called(place)
    return TableError(
        f"line {line}, column {place + 1} ({name!r}): expected a number from 0 to 1 or an empty "
        f"cell, got {short(text)}; {advice(text)}. If the column is no arm but a date or a row "
        f"number, leave it out with {columns.skipping(place)}"
    )
