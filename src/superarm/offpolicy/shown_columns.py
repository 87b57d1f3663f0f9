"""The columns of a log of shown items, as numbers, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.features.tables import is_missing

_MOST_PLACE = 2.0**53  # larger whole numbers are not exact
_PLACES = "places from 1"
_WORDS = {
    **dict.fromkeys(("", "na", "n/a", "nan", "null", "none", "--", "<na>"), np.nan),
    **dict.fromkeys(("true", "yes"), 1.0),
    **dict.fromkeys(("false", "no"), 0.0),
}


def refuse_repeated(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that several columns have: nobody can tell which of them is meant."""
    repeated = [name for name in wanted if names.count(name) > 1]
    if repeated:
        raise ValueError(f"columns must have distinct names, got {repeated[0]!r} more than once")


def refuse_unknown(wanted: Sequence[str], columns: Mapping[str, Any]) -> None:
    """Refuse names that the table has not, and a table without rows."""
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise ValueError(f"columns must be among {', '.join(columns)}, got {unknown[0]!r}")
    if not len(columns[wanted[0]]):
        raise ValueError("the log must have at least one row, got none")


def number_rounds(columns: Mapping[str, Any]) -> IndexArray:
    """Numbers of the rounds, in the order in which they come first."""
    numbers: Any = 0
    for column, values in columns.items():
        _, inner = np.unique(_comparable(values, column), return_inverse=True)
        numbers = numbers * (int(inner.max()) + 1) + inner
        numbers = np.unique(numbers, return_inverse=True)[1]
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    # Ranked by the first row of each round: time goes on in the order of the rows.
    return np.argsort(np.argsort(first))[which]


def number_items(values: Any, column: str) -> tuple[tuple[Any, ...], IndexArray]:
    """The different items, sorted, and the number of the item of each row."""
    names, numbers = np.unique(_comparable(values, column), return_inverse=True)
    # Sessions and JSON have names that are texts or numbers. Dates are written as short as they
    # can be: 2026-01-31 if it has no time.
    if names.dtype.kind == "M":
        names = np.datetime_as_string(names, unit="auto")
    elif names.dtype.kind in "bm":
        names = names.astype(str)
    if len(names) < 2:
        raise ValueError(f"{column!r} must have at least 2 different items, got {names.tolist()}")
    return tuple(names.tolist()), numbers


def _comparable(values: Any, column: str) -> NDArray[Any]:
    """Values that can be sorted: numbers and dates as they are, everything else as text."""
    found = np.ma.getdata(values)
    missing = np.ma.getmaskarray(values)  # DuckDB masks what is missing
    if found.dtype.kind == "O":
        missing = missing | np.array([is_missing(value) for value in found.tolist()], bool)
        found = np.array([_text(value, column) for value in found.tolist()], str)
    elif found.dtype.kind == "S":
        found = np.array([_text(value, column) for value in found.tolist()], str)
    elif found.dtype.kind == "U":
        missing = missing | (np.char.strip(found) == "")
    elif found.dtype.kind in "fM":
        missing = missing | np.isnan(found)
        _refuse_rounded(found[~missing], column)
    if missing.any():
        raise ValueError(
            f"{column!r} must have a value in every row, got none in {missing.sum():,} of "
            f"{len(found):,}; leave these rows out"
        )
    return found


def _refuse_rounded(found: NDArray[Any], column: str) -> None:
    """Refuse floats so large that different whole numbers may have become the same float."""
    if found.dtype.kind != "f":
        return
    n_bits = np.finfo(found.dtype).nmant + 1
    large = found[np.abs(found) >= 2.0**n_bits]
    if len(large):
        raise rounded(column, float(large[0]), n_bits)


def rounded(column: str, value: float, n_bits: int) -> ValueError:
    """The error of a column of floats that are too large for ids."""
    return ValueError(
        f"{column!r} must have whole numbers or texts, got the float {value:.0f}: floats of 2^"
        f"{n_bits} and more may be the same for different ids; read the ids as texts, in SQL as "
        f"CAST({column} AS VARCHAR)"
    )


def _text(value: Any, column: str) -> str:
    """A value as text. Parquet files and databases may have texts as bytes."""
    if not isinstance(value, bytes | bytearray):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError(
            f"{column!r} must have texts, numbers or dates, got bytes that are not UTF-8"
        ) from None


def _numbers(values: Any, column: str, expected: str) -> FloatArray:
    if np.ma.isMaskedArray(values) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)  # DuckDB masks what is missing
    found = np.asarray(values)
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    # Columns of texts have few different ones, and each is read once.
    texts, which = np.unique(found.astype(str), return_inverse=True)
    return np.array([_number(text, column, expected) for text in texts.tolist()])[which]


def _number(text: str, column: str, expected: str) -> float:
    plain = text.strip().lower()
    if plain in _WORDS:
        return _WORDS[plain]
    # Spreadsheets of many countries write a half as 0,5. As a place, 1,000 may be a thousand.
    if plain.startswith(("0,", "1,")) and expected != _PLACES:
        plain = plain.replace(",", ".", 1)
    try:
        return float(plain)
    except ValueError:
        raise ValueError(f"{column!r} must have {expected}, got {text!r}") from None


def read_outcomes(values: Any, column: str) -> FloatArray:
    """Outcomes in [0, 1], NaN where one is missing."""
    expected = "numbers from 0 to 1, or nothing where an outcome is not known"
    found = _numbers(values, column, expected)
    wrong = found[~np.isnan(found) & ~((found >= 0) & (found <= 1))]
    if len(wrong):
        raise ValueError(f"{column!r} must have {expected}, got {wrong[0]:g}")
    return found


def read_positions(values: Any, column: str) -> IndexArray:
    """Places from 1."""
    found = _numbers(values, column, _PLACES)
    fine = (found >= 1) & (found == np.floor(found)) & (found <= _MOST_PLACE)
    if not fine.all():
        raise ValueError(f"{column!r} must have {_PLACES}, got {found[~fine][0]:g}")
    return found.astype(np.intp)


def read_propensities(values: Any, column: str) -> FloatArray:
    """Probabilities above 0."""
    found = _numbers(values, column, "probabilities above 0 and at most 1")
    if not ((found > 0) & (found <= 1)).all():
        wrong = found[~((found > 0) & (found <= 1))][0]
        raise ValueError(f"{column!r} must have probabilities above 0 and at most 1, got {wrong:g}")
    return found
