"""The lines of a CSV file as cells. Every refusal names the line and how to fix it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from superarm.studies.own_table.outcomes import (
    SEPARATORS,
    TableError,
    decoded,
    refuse_binary,
    separator_of,
    some,
)


class Lines:
    """The lines of an open file, from the first one below the names on, without empty ones.

    Attributes
    ----------
    head
        The names in the first line; none if the file is empty.
    separator
        What separates cells.
    """

    def __init__(self, file: BinaryIO, separator: str, where: str) -> None:
        self.separator, self._where = separator, where
        self._file = file
        self._rows = csv.reader(decoded(file), delimiter=separator)
        # Empty lines above the names are harmless, and common in exports.
        self.head = [name.strip() for name in next((row for row in self._rows if row), [])]

    @property
    def number(self) -> int:
        """The number of the line that was read last, from 1."""
        return self._rows.line_num

    @property
    def n_bytes(self) -> int:
        """How many bytes were read."""
        return self._file.tell()

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

    Refusals of lines begin with ``where``.
    """
    refuse_binary(path)
    separator = separator_of(path)
    with path.open("rb") as file:
        number = 1
        try:
            lines = Lines(file, separator, where)
            try:
                yield lines
            finally:
                number = lines.number
        except csv.Error as error:
            raise TableError(
                f"{where}line {number}: {error}; is a quotation mark not closed?"
            ) from None
