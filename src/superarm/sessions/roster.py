"""The arms of a session: their names, and which of them are retired."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import IndexArray
from superarm.sessions.decisions import Name


class Roster:
    """Names by number, numbers by name, and who is retired. Arms are added at the end and never removed."""

    def __init__(self, names: Iterable[Name]) -> None:
        self.names = as_names(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.is_retired = np.zeros(len(self.names), bool)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def retired(self) -> IndexArray:
        """The numbers of the retired arms, ascending."""
        return np.flatnonzero(self.is_retired)

    def copy(self) -> Roster:
        """The same, to be changed on its own."""
        other = object.__new__(Roster)
        other.names, other.numbers, other.is_retired = (
            self.names[:],
            self.numbers.copy(),
            self.is_retired.copy(),
        )
        return other

    def new(self, names: Iterable[Name]) -> list[Name]:
        """Names for new arms; refuses those that are taken."""
        given = as_names(names)
        taken = [name for name in given if name in self.numbers]
        if taken:
            raise ValueError(
                f"names must be new, got {taken[0]!r}; restore brings a retired arm back"
            )
        return given

    def add(self, names: list[Name]) -> None:
        """More arms, after ``new``."""
        self.numbers.update({name: len(self.names) + place for place, name in enumerate(names)})
        self.names.extend(names)
        self.is_retired = np.append(self.is_retired, np.zeros(len(names), bool))

    def of(self, names: Iterable[Name]) -> list[int]:
        """The numbers of some arms."""
        if isinstance(names, str):
            raise TypeError(
                f"names must be several names, got the string {names!r}; write [{names!r}]"
            )
        given = list(names)
        unknown = [name for name in given if isinstance(name, bool) or name not in self.numbers]
        if unknown:
            raise ValueError(f"names must be of the session's arms, got {unknown[0]!r}")
        return [self.numbers[name] for name in given]

    def but(self, names: Iterable[Name], retired: bool) -> NDArray[np.bool_]:
        """Who is retired once these are, or are no more."""
        changed = self.is_retired.copy()
        changed[self.of(names)] = retired
        return changed


def as_names(names: Iterable[Name]) -> list[Name]:
    """Distinct strings or whole numbers."""
    if isinstance(names, str):
        raise TypeError(f"names must be several names, got the string {names!r}; write [{names!r}]")
    given = list(names)
    if not set(map(type, given)) <= {str, int}:  # a million names are looked at once
        for name in given:
            if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
                raise TypeError(f"a name must be a string or a whole number, got {name!r}")
        given = [str(name) if isinstance(name, str) else int(name) for name in given]
    if len(set(given)) != len(given):
        seen: set[Name] = set()
        repeated = next(name for name in given if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"names must be distinct, got {repeated!r} more than once")
    return given
