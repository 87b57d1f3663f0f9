"""What is known of arms or rounds: columns of a CSV file as numbers, by `Encoder`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from superarm.features import Encoder
from superarm.studies.own_table.csv_file import MISSING, with_point

Cells = Mapping[str, Sequence[str]]


def fit(cells: Cells, *, decimal_comma: bool) -> tuple[Encoder, dict[str, list[str | None]]]:
    """How the columns become numbers, and their cells with None where missing.

    A column of numbers is a number, a column of dates such as 2024-05-31 is a date, and all other
    columns are categories.
    """
    found = {
        name: [_plain(cell, decimal_comma) for cell in column] for name, column in cells.items()
    }
    kinds = {name: _kind(column) for name, column in found.items()}
    return Encoder.fit(found, kinds=kinds), found


def _plain(cell: str, decimal_comma: bool) -> str | None:
    text = cell.strip()
    if text.lower() in MISSING:
        return None
    # Only a number has its comma changed: a category may be called "a,b".
    number = with_point(text) if decimal_comma else text
    return number if _is(float, number) else text


def _kind(cells: list[str | None]) -> str:
    seen = {cell for cell in cells if cell is not None}
    if seen and all(_is(float, cell) for cell in seen):
        return "number"
    dates = seen and all(_is(datetime.fromisoformat, cell) for cell in seen)
    return "date" if dates else "category"


def _is(read: Callable[[str], object], cell: str) -> bool:
    try:
        read(cell)
    except ValueError:
        return False
    return True
