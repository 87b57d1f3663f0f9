"""The columns of a table: a DataFrame, an Arrow table, a query of DuckDB, a dict or dicts.

Tables are recognised by their methods, so no library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_columns(table: Any) -> dict[str, list[Any]]:
    """The values of each column; all columns have the same length.

    A column that is absent from some of the dicts of a list is missing (None) there.

    Examples
    --------
    >>> as_columns([{"price": 3}, {"price": 4, "kind": "tea"}])
    {'price': [3, 4], 'kind': [None, 'tea']}
    """
    columns = _columns(table)
    lengths = {name: len(values) for name, values in columns.items()}
    if not columns or not max(lengths.values()):
        raise ValueError("rows must have at least one row and one column, got none")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have the same length, got {lengths}")
    return columns


def as_arrays(table: Any) -> dict[str, NDArray[Any]]:
    """The same columns as arrays, without a Python object per value where the table has arrays.

    Examples
    --------
    >>> as_arrays({"price": [3, 4]})["price"]
    array([3, 4])
    """
    if _is_relation(table):
        return {str(name): values for name, values in exactly(table).fetchnumpy().items()}
    if _is_arrow(table):
        names = table.column_names
        return {str(name): table.column(name).to_numpy(zero_copy_only=False) for name in names}
    if _is_frame(table):
        return {str(name): table[name].to_numpy() for name in table.columns}
    if isinstance(table, Mapping) and all(hasattr(one, "dtype") for one in table.values()):
        return {str(name): values for name, values in table.items()}
    return {name: _as_array(values) for name, values in as_columns(table).items()}


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, pandas' NA or empty text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):
        return True  # NA != NA is neither true nor false


def _as_array(values: list[Any]) -> NDArray[Any]:
    found = np.asarray(values)
    # Next to texts, numpy writes NaN as the text nan, which would no longer be missing.
    mixed = found.dtype.kind == "U" and not all(isinstance(value, str) for value in values)
    return np.array(values, object) if mixed else found


def _columns(table: Any) -> dict[str, list[Any]]:
    if _is_relation(table):
        # Masked values become None.
        return {name: values.tolist() for name, values in as_arrays(table).items()}
    if _is_arrow(table):
        return {str(name): table.column(name).to_pylist() for name in table.column_names}
    if _is_frame(table):
        if len(set(table.columns)) < len(table.columns):
            raise ValueError(f"columns must have distinct names, got {list(table.columns)}")
        return {str(name): table[name].to_list() for name in table.columns}
    if isinstance(table, Mapping):
        if not all(_is_column(values) for values in table.values()):
            raise TypeError(
                "a dict must have one list of values per column, got "
                f"{next(repr(v) for v in table.values() if not _is_column(v))}; "
                "write [row] for one row"
            )
        # Masked values, such as those of DuckDB's fetchnumpy, are missing.
        return {
            str(name): [None if value is np.ma.masked else value for value in values]
            for name, values in table.items()
        }
    if isinstance(table, Iterable) and not isinstance(table, str | bytes):
        return _of_rows(list(table))
    raise _not_a_table(table)


_WIDE = re.compile(r"U?HUGEINT|DECIMAL\((?:1[6-9]|[23]\d),(\d+)\)")  # types in SQL
_MOST = 2**63 - 1


def exactly(relation: Any) -> Any:
    """A query of DuckDB whose wide numbers are whole numbers of 64 bits, or texts.

    DuckDB gives them to numpy as floats, in which long ids that differ may be the same.
    """
    kinds = dict(zip(getattr(relation, "columns", ()), getattr(relation, "types", ()), strict=True))
    wide = {name: found for name, kind in kinds.items() if (found := _WIDE.fullmatch(str(kind)))}
    # What connection.execute returns has neither types nor a way to change them.
    if not wide or len(kinds) < len(relation.columns):
        return relation
    columns = {name: f'"{name.replace(chr(34), 2 * chr(34))}"' for name in kinds}
    chosen = [
        _exact(relation, column, wide[name]) if name in wide else column
        for name, column in columns.items()
    ]
    return relation.project(", ".join(chosen))


def _exact(relation: Any, column: str, kind: re.Match[str]) -> str:
    """A wide column in SQL, as whole numbers of 64 bits if they all fit, or as texts."""
    fits = kind[1] in (None, "0")  # no digits after the point
    if fits:
        test = f"coalesce(bool_and({column} BETWEEN {-_MOST} AND {_MOST}), true)"
        fits = relation.aggregate(test).fetchall()[0][0]
    return f"CAST({column} AS {'BIGINT' if fits else 'VARCHAR'}) AS {column}"


def _is_relation(table: Any) -> bool:
    """A query of DuckDB."""
    return hasattr(table, "fetchnumpy")


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and hasattr(table, "column")


def _is_frame(table: Any) -> bool:
    """A DataFrame of pandas or polars."""
    return hasattr(table, "columns") and hasattr(table, "dtypes")


def _of_rows(rows: list[Any]) -> dict[str, list[Any]]:
    for row in rows:
        if not isinstance(row, Mapping):
            raise _not_a_table(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}


def _is_column(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)


def _not_a_table(value: Any) -> TypeError:
    return TypeError(
        "rows must be a DataFrame, an Arrow table, a dict of columns or a list of dicts, "
        f"got {type(value).__name__}"
    )
