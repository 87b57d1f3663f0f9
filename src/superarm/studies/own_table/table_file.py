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
from superarm.studies.own_table.columns import Columns
from superarm.studies.own_table.outcomes import Outcomes, advice, short, some
from superarm.studies.own_table.text import (
    SEPARATORS,
    TableError,
    decoded,
    refuse_binary,
    separator_of,
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
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()


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
            strips = []
            for strip in _strips(lines, columns, outcomes):
                strips.append(strip)
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
    return OwnTable(table, columns.names, columns.skipped)


def _strips(lines: Any, columns: Columns, outcomes: Outcomes) -> Iterator[NDArray[Any]]:
    """The rows as arrays that are checked and packed, many rows at once."""
    width, kept = len(columns.head), columns.kept
    everything = len(kept) == width
    values, numbers = array("d"), array("q")
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
        numbers.append(lines.line_num)
        if len(numbers) == _ROWS_AT_ONCE:
            yield _packed(values, numbers, len(kept))
            values, numbers = array("d"), array("q")
    if numbers:
        yield _packed(values, numbers, len(kept))


def _packed(values: array[float], numbers: array[int], n_arms: int) -> NDArray[Any]:
    """Rows in the smallest numbers that hold them exactly.

    That is one byte for 0 and 1, two bytes if cells are missing, otherwise eight.
    """
    rows: FloatArray = np.frombuffer(values).reshape(-1, n_arms)
    missing = np.isnan(rows)
    if (nothing := missing.all(axis=1)).any():
        line = numbers[int(np.argmax(nothing))]
        raise TableError(
            f"line {line}: all cells are empty; expected an outcome for at least one arm in every "
            f"round: delete the line"
        )
    # float16 has 0, 1 and NaN exactly, and most tables have nothing else.
    if not ((rows == 0) | (rows == 1) | missing).all():
        return rows
    return rows.astype(np.float16 if missing.any() else np.uint8)


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
