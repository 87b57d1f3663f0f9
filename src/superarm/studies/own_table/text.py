"""A CSV file before its cells are looked at: whether it is text, in which coding, and what separates its cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}


class TableError(ValueError):
    """The file is not a table of outcomes; the message is for the person who wrote it."""


def refuse_what_is_no_text(path: Path) -> None:
    """Workbooks, archives, pictures: by how they begin."""
    with path.open("rb") as file:
        start = file.read(65_536)
    workbook = start.startswith(b"PK\x03\x04") or start.startswith(b"\xd0\xcf\x11\xe0")
    if workbook or b"\0" in start:
        what = (
            "a workbook or an archive" if workbook else "a binary file, or text that is not UTF-8"
        )
        raise TableError(
            f"{path.name} is {what}; expected a CSV file: save the table as CSV (UTF-8) from your spreadsheet"
        )


def decoded(file: Iterable[bytes]) -> Iterator[str]:
    """The lines of a file as text, from UTF-8 with or without a byte order mark."""
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TableError(
                f"line {number}: expected text in UTF-8, got the byte {line[error.start]:#04x}; "
                f"save the table as CSV (UTF-8) from your spreadsheet"
            ) from None


def separator_of(path: Path) -> str:
    """The separator with which the first two lines have as many cells, the more the better; commas if none fits."""
    with path.open("rb") as file:
        lines = [line for line in decoded(file.readlines(1_000_000)) if line.strip()][:2]
    widths = {sign: [len(row) for row in csv.reader(lines, delimiter=sign)] for sign in SEPARATORS}
    return max(
        SEPARATORS,
        key=lambda sign: (len(set(widths[sign])) == 1 and widths[sign][0] > 1, widths[sign][:1]),
    )
