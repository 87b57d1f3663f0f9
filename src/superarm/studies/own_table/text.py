"""A CSV file before its cells are parsed: whether it is text, and what separates its cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_BEGINNING = 65_536  # bytes that tell text from other files
_FIRST_LINES = 1_000_000  # bytes that certainly hold two lines


class TableError(ValueError):
    """The file is not a table of outcomes. The message is for the person who wrote the file."""


def refuse_binary(path: Path) -> None:
    """Refuse workbooks, archives and pictures, by how they begin."""
    with path.open("rb") as file:
        start = file.read(_BEGINNING)
    # ZIP, which is also .xlsx and .ods; and the container of .xls.
    workbook = start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
    if workbook or b"\0" in start:
        what = (
            "a workbook or an archive" if workbook else "a binary file, or text that is not UTF-8"
        )
        raise TableError(
            f"{path.name} is {what}; expected a CSV file: "
            f"save the table as CSV (UTF-8) from your spreadsheet"
        )


def decoded(file: Iterable[bytes]) -> Iterator[str]:
    """The lines of a file as text, from UTF-8 with or without a byte order mark."""
    for number, line in enumerate(file, start=1):
        try:
            # Excel starts a file with a byte order mark. Left in, it would become a part of the
            # first name.
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TableError(
                f"line {number}: expected text in UTF-8, got the byte {line[error.start]:#04x}; "
                f"save the table as CSV (UTF-8) from your spreadsheet"
            ) from None


def separator_of(path: Path) -> str:
    """The separator with which the first two lines have equally many cells, as many as possible.

    A comma if none fits.
    """
    with path.open("rb") as file:
        # Two lines are enough: the names and one round must have equally many cells.
        lines = [line for line in decoded(file.readlines(_FIRST_LINES)) if line.strip()][:2]
    widths = {sign: [len(row) for row in csv.reader(lines, delimiter=sign)] for sign in SEPARATORS}
    return max(
        SEPARATORS,
        key=lambda sign: (len(set(widths[sign])) == 1 and widths[sign][0] > 1, widths[sign][:1]),
    )
