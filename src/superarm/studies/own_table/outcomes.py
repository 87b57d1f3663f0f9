"""What a cell says: an outcome from 0 to 1, or that it is missing, in one of several spellings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MISSING = {"", "na", "n/a", "nan", "null", "none"}
# Different spellings that are remembered. A table of 0 and 1 has a few, one of measurements many.
_MOST_REMEMBERED = 100_000
_MOST_SHOWN, _MOST_LETTERS = 4, 30  # of texts in an error message


class TableError(ValueError):
    """The file is not a table of outcomes. The message is for the person who wrote the file."""


class Outcomes(dict[str, float]):
    """Outcomes by spelling. Each spelling is parsed once."""

    def __init__(self, *, decimal_comma: bool) -> None:
        super().__init__()
        self.decimal_comma = decimal_comma

    def __missing__(self, text: str) -> float:
        value = self.outcome(text)
        if len(self) < _MOST_REMEMBERED:
            self[text] = value
        return value

    def outcome(self, text: str) -> float:
        """A number in [0, 1], or NaN for a missing cell; ValueError for everything else."""
        plain = text.strip()
        if is_missing(plain):
            return np.nan
        if self.decimal_comma:
            plain = with_point(plain)
        # float() would read 1_000, which is Python's spelling and not that of a table.
        value = float(plain if "_" not in plain else "")
        if not 0 <= value <= 1:
            raise ValueError(value)
        return value


def is_missing(text: str) -> bool:
    """Whether a cell without spaces around it says that nothing is known."""
    return text.lower() in _MISSING


def with_point(text: str) -> str:
    """A number with a decimal comma, with a point instead."""
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text


def advice(text: str) -> str:
    """How to write a cell that could not be read."""
    if text.endswith("%"):
        return "write 0.5 for 50%"
    try:
        value = float(text)
    except ValueError:
        return "write 1 for yes and 0 for no, and leave the cell empty where it is not known"
    if not np.isfinite(value):
        return "leave the cell empty where the outcome is not known"
    if value > 1:
        return "divide the outcomes by the largest value that they can have"
    return "rescale the outcomes so that the worst is 0 and the best is 1"


def is_outcome(text: str) -> bool:
    """Whether a text could be a cell."""
    try:
        Outcomes(decimal_comma=False).outcome(text)
    except ValueError:
        return False
    return True


def some(texts: Sequence[str]) -> str:
    """The first of several texts, for an error message."""
    shown = ", ".join(short(text) for text in texts[:_MOST_SHOWN])
    return f"{shown}, ..." if len(texts) > _MOST_SHOWN else shown or "none"


def short(text: str) -> str:
    """A text in quotation marks, cut where it is long."""
    return repr(text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "...")
