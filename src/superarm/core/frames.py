"""Columns as a DataFrame of pandas or a table of Arrow, and other packages that are optional."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Columns = Mapping[str, Sequence[Any]]


def to_pandas(columns: Columns) -> Any:
    """A ``pandas.DataFrame``; lists become cells."""
    frame = optional("pandas", "to_pandas").DataFrame
    return frame({name: _plain(values) for name, values in columns.items()})


def to_arrow(columns: Columns) -> Any:
    """A ``pyarrow.Table``; lists become lists of Arrow."""
    table = optional("pyarrow", "to_arrow").table
    return table({name: _plain(values) for name, values in columns.items()})


def _plain(values: Sequence[Any]) -> Any:
    # One column is one-dimensional: the rows of a matrix become lists.
    return list(values) if isinstance(values, np.ndarray) and values.ndim > 1 else values


def optional(module: str, method: str) -> Any:
    """A module of a package that need not be installed; if it is not, an error names it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{method} needs {package}, which is not installed: pip install {package}", name=package
        ) from error
