"""The columns of a table: which of them are arms, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.studies.own_table.outcomes import is_outcome, short, some
from superarm.studies.own_table.text import TableError

__all__ = ["Columns"]


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
