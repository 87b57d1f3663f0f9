"""What the results of this room share: times as text, aligned tables, rows by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

# From two of a unit on: 90 s are shown as seconds, 150 s as minutes.
_LONG_UNITS = (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0))
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def shown_s(seconds: float | None) -> str:
    """Seconds for people.

    Examples
    --------
    >>> shown_s(1.2e-5), shown_s(0.0034), shown_s(5.0), shown_s(12_345.0), shown_s(1_412_429.0)
    ('12 µs', '3.4 ms', '5 s', '3.43 h', '16 days')
    """
    if seconds is None or math.isnan(seconds):
        return "unknown time"
    for unit, size in _LONG_UNITS:
        if seconds >= 2 * size:
            digits = ".0f" if seconds >= 10 * size else ".3g"
            return f"{seconds / size:,{digits}} {unit}"
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def aligned(rows: Sequence[Sequence[str]], *, right: int | None = None) -> list[str]:
    r"""One line per row, with the cells below each other.

    ``right`` is the first column whose cells are aligned to the right; none by default.

    Examples
    --------
    >>> print(*aligned([["oracle", "costs"], ["TopK", "0"]], right=1), sep="\n")
    oracle  costs
    TopK        0
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    last = len(widths) if right is None else right
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < last else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def row_of(rows: Mapping[str, T], name: str) -> T:
    """The row with a name, or an error that lists the names."""
    if name not in rows:
        raise KeyError(f"there is no row {name!r}; there are {', '.join(rows)}")
    return rows[name]
