"""A CSV file as cells: whether it is text, what separates its cells, and what a cell says.

A cell is an outcome from 0 to 1, or missing, in one of several spellings. Every refusal names the
line and how to fix it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_BEGINNING = 65_536  # bytes that tell text from other files
_FIRST_LINES = 1_000_000  # bytes that certainly hold two lines
MISSING = {"", "na", "n/a", "nan", "null", "none"}  # in small letters, without spaces around
# Different spellings that are remembered. A table of 0 and 1 has a few, one of measurements many.
_MOST_REMEMBERED = 100_000
_MOST_SHOWN, _MOST_LETTERS = 4, 30  # of texts in an error message


class TableError(ValueError):
    """The file is not a table of outcomes. The message is for the person who wrote the file."""


class Lines:
    """The lines of an open file, from the first one below the names on, without empty ones.

    Attributes
    ----------
    head
        The names in the first line; none if the file is empty.
    separator
        What separates cells.
    file
        The file, which has been read up to here.
    """

    def __init__(self, file: BinaryIO, separator: str, where: str) -> None:
        self.separator, self._where = separator, where
        self.file = file
        self._rows = csv.reader(_decoded(file), delimiter=separator)
        # Empty lines above the names are harmless, and common in exports.
        self.head = [name.strip() for name in next((row for row in self._rows if row), [])]

    @property
    def number(self) -> int:
        """The number of the line that was read last, from 1."""
        return self._rows.line_num

    def __iter__(self) -> Iterator[list[str]]:
        width = len(self.head)
        for row in self._rows:
            if len(row) == width:
                yield row
            elif row:
                raise self._ragged(row)

    def refuse_repeated(self, names: list[str]) -> None:
        """Refuse names that several columns have."""
        for name in names:
            if self.head.count(name) > 1:
                places = [str(place) for place, one in enumerate(self.head, 1) if one == name]
                raise TableError(
                    f"line 1: the name {name!r} is there more than once, in columns "
                    f"{' and '.join(places)}; rename or delete all but one"
                )

    def _ragged(self, row: list[str]) -> TableError:
        width = len(self.head)
        if any("\n" in cell for cell in row):
            fix = "is a quotation mark not closed?"
        elif len(row) < width:
            fix = "leave a cell empty where nothing is known, but keep its separator"
        else:
            fix = "put quotation marks around a cell that has a separator in it"
        return TableError(
            f"{self._where}line {self.number}: expected {width} cells, one for each name in "
            f"line 1, got {len(row)} ({some(row)}; separated by {SEPARATORS[self.separator]}); "
            f"{fix}"
        )


@contextmanager
def opened(path: Path, where: str = "") -> Iterator[Lines]:
    """The lines of a file, in UTF-8, separated by commas, semicolons or tabs.

    Workbooks, archives and pictures are refused by how they begin. Refusals of lines begin with
    ``where``.
    """
    with path.open("rb") as file:
        start = file.read(_BEGINNING)
        # ZIP, which is also .xlsx and .ods; and the container of .xls.
        workbook = start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
        if workbook or b"\0" in start:
            text = "a binary file, or text that is not UTF-8"
            raise TableError(
                f"{path.name} is {'a workbook or an archive' if workbook else text}; expected a "
                f"CSV file: save the table as CSV (UTF-8) from your spreadsheet"
            )
        if b"\r" in start and b"\n" not in start:
            raise TableError(
                f"{path.name} has lines that end as on old Macintosh computers; expected the line "
                f"ends of Windows, Linux or macOS: save the table as CSV (UTF-8) again"
            )
        file.seek(0)
        separator = _separator(file.readlines(_FIRST_LINES))
        file.seek(0)
        lines = None
        try:
            lines = Lines(file, separator, where)
            yield lines
        except csv.Error as error:
            number = 1 if lines is None else lines.number
            raise TableError(
                f"{where}line {number}: {error}; is a quotation mark not closed?"
            ) from None


def _decoded(file: Iterable[bytes]) -> Iterator[str]:
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


def _separator(start: list[bytes]) -> str:
    """The separator with which the first two lines have equally many cells, as many as possible.

    A comma if none fits.
    """
    # Two lines are enough: the names and one round must have equally many cells.
    lines = list(islice((line for line in _decoded(start) if line.strip()), 2))
    widths: dict[str, list[int]] = {}
    for sign in SEPARATORS:
        # With the wrong separator a line is one cell, which is too long if there are many names.
        try:
            widths[sign] = [len(row) for row in csv.reader(lines, delimiter=sign)]
        except csv.Error as error:
            widths[sign], failed = [], error
    if not any(widths.values()) and lines:
        raise TableError(f"line 1 or 2: {failed}; is a quotation mark not closed?")
    return max(
        SEPARATORS,
        key=lambda sign: (len(set(widths[sign])) == 1 and widths[sign][0] > 1, widths[sign][:1]),
    )


class Outcomes(dict[str, float]):
    """Outcomes by spelling. Each spelling is parsed once."""

    def __init__(self, *, decimal_comma: bool) -> None:
        super().__init__()
        self.decimal_comma = decimal_comma

    def __missing__(self, text: str) -> float:
        value = outcome(text, decimal_comma=self.decimal_comma)
        if len(self) < _MOST_REMEMBERED:
            self[text] = value
        return value


def outcome(text: str, *, decimal_comma: bool = False) -> float:
    """A number in [0, 1], or NaN for a missing cell; ValueError for everything else."""
    plain = text.strip()
    if plain.lower() in MISSING:
        return np.nan
    if decimal_comma:
        plain = with_point(plain)
    value = number(plain)
    if not 0 <= value <= 1:
        raise ValueError(value)
    return value


def number(text: str) -> float:
    """A number; ValueError for everything else."""
    # float() would read 1_000, which is Python's spelling and not that of a table.
    return float(text if "_" not in text else "")


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        number(text)
    except ValueError:
        return False
    return True


def with_point(text: str) -> str:
    """A number with a decimal comma, with a point instead."""
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text


def advice(text: str, *, decimal_comma: bool) -> str:
    """How to write a cell that could not be read."""
    if text.endswith("%"):
        return "write 0.5 for 50%"
    if decimal_comma:
        text = with_point(text)
    elif is_number(with_point(text)) and not is_number(text):
        return "write 0.5 for 0,5, or separate the cells with semicolons"
    try:
        value = number(text)
    except ValueError:
        return "write 1 for yes and 0 for no, and leave the cell empty where it is not known"
    if not np.isfinite(value):
        return "leave the cell empty where the outcome is not known"
    if value > 1:
        return "divide the outcomes by the largest value that they can have"
    return "rescale the outcomes so that the worst is 0 and the best is 1"


def some(texts: Sequence[str]) -> str:
    """The first of several texts, for an error message."""
    shown = ", ".join(short(text) for text in texts[:_MOST_SHOWN])
    return f"{shown}, ..." if len(texts) > _MOST_SHOWN else shown or "none"


def short(text: str) -> str:
    """A text in quotation marks, cut where it is long."""
    return repr(text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "...")
