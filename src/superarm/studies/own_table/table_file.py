"""A table as people write it: a CSV file with a line of names and one line per round.

The file is read once, line by line, and kept in as few bytes as its cells need. Every refusal names
the line and the column, what was expected, what came and how to fix it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray
from superarm.studies.own_table import csv_file
from superarm.studies.own_table.csv_file import (
    Lines,
    Outcomes,
    TableError,
    advice,
    outcome,
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
    contexts
        The cells of the columns that are the context of a round, by the names of the columns.
    decimal_comma
        Whether numbers may have a decimal comma.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    n_empty: int = 0
    contexts: dict[str, list[str]] = field(default_factory=dict)
    decimal_comma: bool = False


def read(
    path: Path,
    *,
    skip: Sequence[str] = (),
    context: Sequence[str] = (),
    progress: Progress | None = None,
) -> OwnTable:
    """The table in a CSV file.

    Parameters
    ----------
    path
        UTF-8 with or without a byte order mark, separated by commas, semicolons or tabs.
    skip, context
        Columns that are no arms, and of these the context of a round: names, numbers from 1, or
        several with commas between them.
    progress
        Called repeatedly with the number of bytes read since the last call.
    """
    with csv_file.opened(path) as lines:
        if not lines.head:
            raise TableError(
                f"{path.name} is empty; expected a line of names and one line of outcomes per round"
            )
        separator = lines.separator
        columns = Columns(lines.head, skip, separator, context)
        # Where the comma separates cells, it cannot be a decimal point.
        outcomes = Outcomes(decimal_comma=separator != ",")
        strips, texts, n_empty, n_bytes = [], list[list[str]](), 0, 0
        for strip, some_texts, n_left_out in _strips(lines, columns, outcomes):
            strips.append(strip)
            texts += some_texts
            n_empty += n_left_out
            if progress is not None:
                progress(lines.file.tell() - n_bytes)
                n_bytes = lines.file.tell()
    if not strips:
        raise TableError(
            f"{path.name} has a line of names and no line below it; expected one line of "
            f"outcomes per round"
        )
    table = np.concatenate(strips)
    columns.refuse_empty(table)
    contexts = {
        columns.called[place]: [row[number] for row in texts]
        for number, place in enumerate(columns.context)
    }
    return OwnTable(table, columns.names, columns.skipped, n_empty, contexts, separator != ",")


class Columns:
    """The columns of the file: which are arms, and what they are called."""

    def __init__(
        self, head: list[str], skip: Sequence[str], separator: str, context: Sequence[str] = ()
    ) -> None:
        self.head, self.separator = head, separator
        # For messages: also a column without a name is called something.
        self.called = [name or f"column {number}" for number, name in enumerate(head, start=1)]
        left_out = set(self._places(skip, "--skip"))
        self.context = self._places(context, "--context")
        if both := left_out & set(self.context):
            raise TableError(
                f"--skip and --context must be different columns, got {self.called[min(both)]!r} "
                f"for both; leave it out of one of them"
            )
        no_arms = left_out | set(self.context)
        self.kept = [place for place in range(len(head)) if place not in no_arms]
        self.skipped = tuple(self.called[place] for place in sorted(left_out))
        self.names = tuple(head[place] for place in self.kept)
        self._check()

    def skipping(self, place: int, option: str = "--skip") -> str:
        """The option that says that a column is no arm."""
        name = self.head[place]
        if not name:
            return f"{option} {place + 1}"
        return f"{option} {name!r}" if " " in name else f"{option} {name}"

    def refuse_empty(self, table: NDArray[Any]) -> None:
        """Refuse arms without a single outcome."""
        empty = [
            place
            for place, column in zip(self.kept, table.T, strict=True)
            if np.isnan(column).all()
        ]
        if empty:
            name = self.called[empty[0]]
            raise TableError(
                f"the column {name!r} has no outcome in any line, so nothing is known about "
                f"this arm; leave it out with {self.skipping(empty[0])}"
            )

    def _places(self, wanted: Sequence[str], option: str) -> list[int]:
        """The columns that an option names, each once and ascending."""
        places: set[int] = set()
        for text in wanted:
            # A name may have a comma in it.
            names = [text] if text in self.head else text.split(",")
            for name in names:
                places.update(self._range(name.strip(), option))
        return sorted(places)

    def _range(self, wanted: str, option: str) -> range:
        # A name wins over a number: a column may be called "3".
        if wanted in self.head:
            return range(self.head.index(wanted), self.head.index(wanted) + 1)
        first, _, last = wanted.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            start, end = int(first), int(last or first)
            if 1 <= start <= end <= len(self.head):
                return range(start - 1, end)
        raise TableError(
            f"{option} must be the name of a column or its number, from 1 to {len(self.head)}, "
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
        # Before the names are compared, which would complain that the outcome 1 is there twice.
        if any(self.names):
            self._refuse_outcomes()
        self._check_each()

    def _refuse_outcomes(self) -> None:
        """Refuse a header of outcomes only: it is missing, and the first round would be lost."""
        try:
            for name in self.names:
                outcome(name, decimal_comma=self.separator != ",")
        except ValueError:  # one that is no outcome
            return
        raise TableError(
            f"line 1: expected the names of the arms, got outcomes: {some(self.names)}; "
            f"write a line of names above the first round"
        )

    def _check_each(self) -> None:
        """Refuse missing and repeated names."""
        for place in self.kept:
            if not self.head[place]:
                raise TableError(
                    f"line 1: column {place + 1} has no name; name it if it is an arm. If it "
                    f"numbers the rows, or if lines end with a separator, leave it out with "
                    f"--skip {place + 1}"
                )
        for places, what in ((self.kept, "arm"), (self.context, "context")):
            seen: dict[str, int] = {}
            for place in places:
                first = seen.setdefault(self.called[place], place)
                if first != place:
                    raise TableError(
                        f"line 1: the name {self.called[place]!r} is there twice, in columns "
                        f"{first + 1} and {place + 1}; every {what} needs a name of its own"
                    )


def _strips(
    lines: Lines, columns: Columns, outcomes: Outcomes
) -> Iterator[tuple[NDArray[Any], list[list[str]], int]]:
    """The rows as arrays that are checked and packed, many rows at once.

    Beside them the cells of the contexts, and how many rows are left out because they are empty.
    """
    kept, context = columns.kept, columns.context
    everything = len(kept) == len(columns.head)
    values, texts, n_rows = array("d"), list[list[str]](), 0
    for row in lines:
        try:
            chosen = row if everything else [row[place] for place in kept]
            # The hot loop of the file: one dictionary lookup per cell. Cells of a table repeat few
            # texts.
            values.extend(map(outcomes.__getitem__, chosen))
        except ValueError:
            # Only now, after a failure, is the cell searched that caused it.
            raise _bad_cell(lines.number, row, columns, outcomes) from None
        if context:
            texts.append([row[place] for place in context])
        n_rows += 1
        if n_rows == _ROWS_AT_ONCE:
            yield _packed(values, texts, len(kept))
            values, texts, n_rows = array("d"), [], 0
    if n_rows:
        yield _packed(values, texts, len(kept))


def _packed(
    values: array[float], texts: list[list[str]], n_arms: int
) -> tuple[NDArray[Any], list[list[str]], int]:
    """Rows in the smallest numbers that hold them exactly, without the rows that have no outcome.

    That is one byte for 0 and 1, two bytes if cells are missing, otherwise eight. The last answer
    is the number of rows that were left out, here and of the texts.
    """
    rows: FloatArray = np.frombuffer(values).reshape(-1, n_arms)
    missing = np.isnan(rows)
    if (empty := missing.all(axis=1)).any():
        # Nobody can learn from such a row, and its reward would not depend on the policy.
        rows, missing = rows[~empty], missing[~empty]
        texts = [texts[row] for row in np.flatnonzero(~empty)] if texts else []
    # float16 has 0, 1 and NaN exactly, and most tables have nothing else.
    if not ((rows == 0) | (rows == 1) | missing).all():
        return rows, texts, int(empty.sum())
    return rows.astype(np.float16 if missing.any() else np.uint8), texts, int(empty.sum())


def _bad_cell(line: int, row: list[str], columns: Columns, outcomes: Outcomes) -> TableError:
    # At least one cell fails, so that the loop always breaks.
    for place in columns.kept:
        try:
            outcomes[row[place]]
        except ValueError:
            break
    text, name = row[place].strip(), columns.called[place]
    fix = advice(text, decimal_comma=outcomes.decimal_comma)
    return TableError(
        f"line {line}, column {place + 1} ({name!r}): expected a number from 0 to 1 or an empty "
        f"cell, got {short(text)}; {fix}. If the column is no arm but known before a "
        f"round is played, use it with {columns.skipping(place, '--context')}. If the column is no "
        f"arm but a date or a row number, leave it out with {columns.skipping(place)}"
    )
