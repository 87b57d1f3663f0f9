"""The columns of the file of a user: which are arms, which are the context, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.studies.own_table.outcomes import TableError, is_outcome, short, some


class Columns:
    """The columns of the file: which are arms, and what they are called."""

    def __init__(
        self, head: list[str], skip: Sequence[str], separator: str, context: Sequence[str] = ()
    ) -> None:
        self.head, self.separator = head, separator
        left_out = set(self._places(skip, "--skip"))
        self.context = self._places(context, "--context")
        if both := left_out & set(self.context):
            raise TableError(
                f"--skip and --context must be different columns, got {self.called(min(both))!r} "
                f"for both; leave it out of one of them"
            )
        no_arms = left_out | set(self.context)
        self.kept = [place for place in range(len(head)) if place not in no_arms]
        self.skipped = tuple(self.called(place) for place in sorted(left_out))
        self.names = tuple(head[place] for place in self.kept)
        self._check()

    def called(self, place: int) -> str:
        """The name of a column for an error message."""
        return self.head[place] or f"column {place + 1}"

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
            name = self.called(empty[0])
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
