"""A table as a person would write it: a CSV file with a line of names and a line a round.

Read once, line by line, and kept in as few bytes as its cells need. Every refusal says the line, the column, what was
expected, what came and what to do.
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
from superarm.own_table.text import (
    SEPARATORS,
    TableError,
    decoded,
    refuse_what_is_no_text,
    separator_of,
)

__all__ = ["OwnTable", "Progress", "TableError", "read"]

_MISSING = {"", "na", "n/a", "nan", "null", "none"}
_ROWS_AT_ONCE = 50_000
_MOST_REMEMBERED = (
    100_000  # different spellings of cells: a table of 0 and 1 has a few, one of measurements many
)

Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class OwnTable:
    """What a file says.

    Attributes
    ----------
    cells
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN where the cell is empty.
    names
        The arms, in the order of the columns.
    skipped
        The columns that were left out.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def read(path: Path, *, skip: Sequence[str] = (), progress: Progress | None = None) -> OwnTable:
    """The table in a CSV file.

    Parameters
    ----------
    path
        UTF-8, with or without a byte order mark; separated by commas, semicolons or tabs, whichever fits.
    skip
        Columns that are no arms: names, or numbers from 1.
    progress
        Called with the number of bytes read, now and then.
    """
    refuse_what_is_no_text(path)
    with path.open("rb") as file:
        separator = separator_of(path)
        lines = csv.reader(decoded(file), delimiter=separator)
        try:
            head = next((row for row in lines if row), None)
            if head is None:
                raise TableError(
                    f"{path.name} is empty; expected a line of names and a line of outcomes a round"
                )
            columns = _Columns([name.strip() for name in head], skip, separator)
            cells = _Cells(decimal_comma=separator != ",")
            strips = []
            for strip in _strips(lines, columns, cells):
                strips.append(strip)
                if progress is not None:
                    progress(file.tell())
        except csv.Error as error:
            raise TableError(
                f"line {lines.line_num}: {error}; is a quotation mark not closed?"
            ) from None
    if not strips:
        raise TableError(
            f"{path.name} has a line of names and no line below it; expected a line of outcomes a round"
        )
    table = np.concatenate(strips)
    columns.refuse_empty(table)
    return OwnTable(table, columns.names, columns.skipped)


class _Cells(dict[str, float]):
    """What cells say, by how they are spelled; each spelling is looked at once."""

    def __init__(self, *, decimal_comma: bool) -> None:
        super().__init__()
        self.decimal_comma = decimal_comma

    def __missing__(self, text: str) -> float:
        value = self.outcome(text)
        if len(self) < _MOST_REMEMBERED:
            self[text] = value
        return value

    def outcome(self, text: str) -> float:
        """A number in [0, 1], NaN for what is missing; ValueError for all else."""
        plain = text.strip()
        if plain.lower() in _MISSING:
            return np.nan
        if self.decimal_comma and plain.count(",") == 1 and "." not in plain:
            plain = plain.replace(",", ".")
        value = float(plain if "_" not in plain else "")  # Python's own 1_000 is nobody's spelling
        if not 0 <= value <= 1:
            raise ValueError(value)
        return value


class _Columns:
    """The columns of the file: which are arms, and what they are called."""

    def __init__(self, head: list[str], skip: Sequence[str], separator: str) -> None:
        self.head, self.separator = head, separator
        left_out = {self._place(name) for name in skip}
        self.kept = [place for place in range(len(head)) if place not in left_out]
        self.skipped = tuple(self.called(place) for place in sorted(left_out))
        self.names = tuple(head[place] for place in self.kept)
        self._check()

    def called(self, place: int) -> str:
        return self.head[place] or f"column {place + 1}"

    def skipping(self, place: int) -> str:
        """The option that leaves a column out."""
        name = self.head[place]
        return (
            f"--skip {place + 1}"
            if not name
            else f"--skip {name!r}"
            if " " in name
            else f"--skip {name}"
        )

    def refuse_empty(self, table: NDArray[Any]) -> None:
        empty = [
            place
            for place, column in zip(self.kept, table.T, strict=True)
            if np.isnan(column).all()
        ]
        if empty:
            name = self.called(empty[0])
            raise TableError(
                f"the column {name!r} has no outcome in any line; an arm of which nothing is known can't be judged: "
                f"leave it out with {self.skipping(empty[0])}"
            )

    def _place(self, wanted: str) -> int:
        if wanted in self.head:
            return self.head.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(self.head):
            return int(wanted) - 1
        raise TableError(
            f"--skip must be the name of a column or its number, from 1 to {len(self.head)}, got {wanted!r}; "
            f"the columns are {_some(self.head)}"
        )

    def _check(self) -> None:
        if self.head[0].lower().startswith("sep="):
            raise TableError(
                f"line 1: expected the names of the arms, got {_short(self.head[0])}, which is for spreadsheets; "
                f"delete the line, the separator is found without it"
            )
        if len(self.names) < 2:
            raise TableError(
                f"line 1: expected the names of at least two arms, got {_some(self.names)}; the file needs a column "
                f"for each arm, and commas, semicolons or tabs between the columns"
            )
        for place in self.kept:
            if not self.head[place]:
                raise TableError(
                    f"line 1: column {place + 1} has no name; name it if it is an arm. If it numbers the rows, or if "
                    f"lines end with a separator, leave it out with --skip {place + 1}"
                )
        seen: dict[str, int] = {}
        for place in self.kept:
            first = seen.setdefault(self.head[place], place)
            if first != place:
                raise TableError(
                    f"line 1: the name {self.head[place]!r} is there twice, in columns {first + 1} and {place + 1}; "
                    f"every arm needs a name of its own"
                )
        if all(_is_outcome(name) for name in self.names):
            raise TableError(
                f"line 1: expected the names of the arms, got outcomes: {_some(self.names)}; "
                f"write a line of names above the first round"
            )


def _strips(lines: Any, columns: _Columns, cells: _Cells) -> Iterator[NDArray[Any]]:
    """The rows, so many at once, as arrays that are checked and packed."""
    width, kept = len(columns.head), columns.kept
    everything = len(kept) == width
    values, numbers = array("d"), array("q")
    for row in lines:
        if not row:
            continue  # an empty line
        if len(row) != width:
            raise _ragged(lines.line_num, row, columns)
        try:
            values.extend(
                map(cells.__getitem__, row if everything else [row[place] for place in kept])
            )
        except ValueError:
            raise _bad_cell(lines.line_num, row, columns, cells) from None
        numbers.append(lines.line_num)
        if len(numbers) == _ROWS_AT_ONCE:
            yield _packed(values, numbers, len(kept))
            values, numbers = array("d"), array("q")
    if numbers:
        yield _packed(values, numbers, len(kept))


def _packed(values: array[float], numbers: array[int], n_arms: int) -> NDArray[Any]:
    """Rows in the smallest numbers that hold them exactly: a byte for 0 and 1, two with missing cells, else eight."""
    rows: FloatArray = np.frombuffer(values).reshape(-1, n_arms)
    missing = np.isnan(rows)
    if (nothing := missing.all(axis=1)).any():
        line = numbers[int(np.argmax(nothing))]
        raise TableError(
            f"line {line}: all cells are empty; expected an outcome for at least one arm in every round: "
            f"delete the line"
        )
    if not ((rows == 0) | (rows == 1) | missing).all():
        return rows
    return rows.astype(np.float16 if missing.any() else np.uint8)


def _ragged(line: int, row: list[str], columns: _Columns) -> TableError:
    width = len(columns.head)
    if any("\n" in cell for cell in row):
        fix = "is a quotation mark not closed?"
    elif len(row) < width:
        fix = "leave a cell empty where the outcome is missing, but keep its separator"
    else:
        fix = "put quotation marks around a cell that has a separator in it"
    return TableError(
        f"line {line}: expected {width} cells, one for each name in line 1, got {len(row)} "
        f"({_some(row)}; separated by {SEPARATORS[columns.separator]}); {fix}"
    )


def _bad_cell(line: int, row: list[str], columns: _Columns, cells: _Cells) -> TableError:
    for place in columns.kept:
        try:
            cells.outcome(row[place])
        except ValueError:
            break
    text, name = row[place].strip(), columns.called(place)
    return TableError(
        f"line {line}, column {place + 1} ({name!r}): expected a number from 0 to 1 or an empty cell, got "
        f"{_short(text)}; {_fix(text)}. If the column is no arm but a date or a row number, leave it out with "
        f"{columns.skipping(place)}"
    )


def _fix(text: str) -> str:
    if text.endswith("%"):
        return "write 0.5 for 50%"
    try:
        value = float(text)
    except ValueError:
        return "write 1 for yes and 0 for no, and leave the cell empty where it is not known"
    if not np.isfinite(value):
        return "leave the cell empty where the outcome is not known"
    if value > 1:
        return "divide the outcomes by the largest value that they can have"
    return "rescale the outcomes so that the worst is 0 and the best is 1"


def _is_outcome(text: str) -> bool:
    try:
        _Cells(decimal_comma=False).outcome(text)
    except ValueError:
        return False
    return True


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(_short(text) for text in texts[:4])
    return f"{shown}, ..." if len(texts) > 4 else shown or "none"


def _short(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:27] + "...")
