"""Errors of constraints that clash, for messages with numbers of arms or with their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from superarm.core.arguments import IndexArray

_MOST_SHOWN = 6  # names of arms in a message


class ClashError(ValueError):
    """Constraints that clash about some arms. Who knows the names of the arms can tell them.

    ``text`` is the message, with "{}" for the ``arms``, which are numbers until they have names.
    """

    def __init__(self, text: str, arms: Iterable[Any], shown: str) -> None:
        super().__init__(text.format(shown))
        self.text, self.arms, self._shown = text, list(arms), shown

    def __reduce__(self) -> tuple[Any, ...]:
        return ClashError, (self.text, self.arms, self._shown)  # an error may cross processes

    @classmethod
    def of(cls, text: str, arms: IndexArray) -> ClashError:
        """With the numbers of the arms."""
        return cls(text, arms.tolist(), f"{arms}")

    def named(self, names: Sequence[Any]) -> ClashError:
        """The error with the names of the arms."""
        mine = [names[arm] for arm in self.arms]
        more = f" and {len(mine) - _MOST_SHOWN} more" if len(mine) > _MOST_SHOWN else ""
        return ClashError(self.text, mine, ", ".join(map(repr, mine[:_MOST_SHOWN])) + more)


def unbraced(text: str) -> str:
    """A text that may have braces, as a part of ``ClashError.text``."""
    return text.replace("{", "{{").replace("}", "}}")
