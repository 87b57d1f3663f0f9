"""What is known of arms or rounds: columns of a CSV file as numbers, by `Encoder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from superarm.features import Encoder
from superarm.studies.own_table.csv_file import (
    MISSING,
    TableError,
    is_number,
    number,
    short,
    with_point,
)

Cells = Mapping[str, Sequence[str]]

# By kind, what reads a cell of it.
_READERS: dict[str, Callable[[str], object]] = {"number": number, "date": datetime.fromisoformat}


def fit(
    cells: Cells, *, decimal_comma: bool, where: str = ""
) -> tuple[Encoder, dict[str, list[str | None]]]:
    """How the columns become numbers, and their cells with None where missing.

    A column of numbers is a number, a column of dates such as 2024-05-31 is a date, and all other
    columns are categories. Refusals begin with ``where``.
    """
    found = {
        name: [plain(cell, decimal_comma) for cell in column] for name, column in cells.items()
    }
    kinds = {name: _kind(column) for name, column in found.items()}
    try:
        return Encoder.fit(found, kinds=kinds), found
    except ValueError as error:  # a number that is infinite or too large
        raise TableError(f"{where}{error}; leave a cell empty if it is not known") from None


def doubts(cells: Mapping[str, Sequence[str | None]], encoder: Encoder) -> list[str]:
    """Which of the columns that `fit` found are hardly meant as they were read, in sentences."""
    said = []
    for column in encoder.columns:
        counts = Counter(cell for cell in cells[column.name] if cell is not None)
        odd = _odd_cell(counts) if _kind(list(counts)) == "category" else None
        if odd is not None:
            said.append(
                f"{column.name} is read as categories, because {short(odd[0])} is no {odd[1]}; "
                f"leave a cell empty if it is not known."
            )
        elif not column.names:
            said.append(f"{column.name} is not used: it has one value, or one for each row.")
    return said


def _odd_cell(counts: Counter[str]) -> tuple[str, str] | None:
    """A cell that is no number, or no date, although at least half of the cells are."""
    for kind, read in _READERS.items():
        odd = [cell for cell in counts if not _is(read, cell)]
        if odd and 2 * sum(counts[cell] for cell in odd) <= counts.total():
            return odd[0], kind
    return None


def plain(cell: str, decimal_comma: bool) -> str | None:
    """A cell as an `Encoder` reads it: with a decimal point, and None if it is missing."""
    text = cell.strip()
    if text.lower() in MISSING:
        return None
    # Only a number has its comma changed: a category may be called "a,b".
    pointed = with_point(text) if decimal_comma else text
    return pointed if is_number(pointed) else text


def _kind(cells: Sequence[str | None]) -> str:
    seen = {cell for cell in cells if cell is not None}
    fits = (kind for kind, read in _READERS.items() if all(_is(read, cell) for cell in seen))
    return next(fits, "category") if seen else "category"


def _is(read: Callable[[str], object], cell: str) -> bool:
    try:
        read(cell)
    except ValueError:
        return False
    return True
