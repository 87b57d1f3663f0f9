"""Features from people's tables: numbers, categories, dates and missing values.

Libraries that do this (scikit-learn, skrub, category_encoders) need pandas or scikit-learn, and are
saved by pickling. This is a small one that needs numpy only and is saved as plain JSON. A matrix
from any of those libraries can be given to a belief as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, as_count, as_flag
from superarm.features.columns import KINDS, Column, column_of, column_state, kind_of
from superarm.features.tables import as_columns


@dataclass(frozen=True)
class Encoder:
    """Turns the rows of a table into rows of numbers, in the same way each time.

    ``fit`` looks at a table and decides how each of its columns becomes features. ``transform``
    applies this to any rows, also to those of arms that come later. Both are O(rows · features).

    - Numbers are standardised, and cut at five standard deviations. A missing number is 0, and has
      the feature "... is missing".
    - A category has a feature per value. Rare ones share the feature "... is other". A category
      that was not in the fit is "other" too, or 0 everywhere if none was rare.
    - A date becomes years, the weekday, the time of the year and the time of the day: those of them
      that differ between the rows.

    Features that are the same for all rows of the fit are left out.

    Attributes
    ----------
    columns
        How each column is encoded.
    intercept
        Whether the first feature is 1 in all rows.

    Examples
    --------
    >>> rows = [{"price": 2.5, "kind": "tea"}, {"price": 3.5, "kind": "cake"},
    ...         {"price": None, "kind": "tea"}, {"price": 3.0, "kind": "cake"}]
    >>> encoder = Encoder.fit(rows)
    >>> encoder.names
    ('price', 'price is missing', 'kind = cake', 'kind = tea')
    >>> encoder.transform([{"price": 3.0, "kind": "tea"}, {"price": 3.0, "kind": "soup"}])
    array([[0., 0., 0., 1.],
           [0., 0., 0., 0.]])
    """

    columns: tuple[Column, ...]
    intercept: bool = False

    def __post_init__(self) -> None:
        as_flag(self.intercept, "intercept")

    def __repr__(self) -> str:
        return f"Encoder({len(self.columns)} columns, {len(self.names)} features)"

    @classmethod
    def fit(
        cls,
        rows: Any,
        *,
        kinds: Mapping[str, str] | None = None,
        most_categories: int = 30,
        least_rows: int = 2,
        intercept: bool = False,
    ) -> Encoder:
        """Decide how the columns of a table become features.

        Parameters
        ----------
        rows
            A DataFrame of pandas or polars, an Arrow table, a list of dicts, or a dict with a list
            per column.
        kinds
            "number", "category", "date" or "ignore" for some columns, by name. Without it, numbers
            and flags are numbers, dates are dates, and text and everything else is a category. With
            it, text is read as a number, or as a date such as 2024-05-31.
        most_categories, least_rows
            How many features a column of categories may have, and how many rows a category needs to
            have its own feature. Other categories are pooled.
        intercept
            Whether to begin with a feature that is 1 in all rows. The beliefs of this library have
            their own.
        """
        options = {
            "most_categories": as_count(most_categories, "most_categories", least=1),
            "least_rows": as_count(least_rows, "least_rows", least=1),
        }
        values = as_columns(rows)
        found = _kinds(values, kinds or {})
        columns = [
            KINDS[found[name]].fit(name, column, **options)
            for name, column in values.items()
            if found[name] != "ignore"
        ]
        return cls(tuple(columns), as_flag(intercept, "intercept"))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, one per column of what ``transform`` returns."""
        names = tuple(name for column in self.columns for name in column.names)
        return ("intercept", *names) if self.intercept else names

    def transform(self, rows: Any) -> FloatArray:
        """The features, shape (n_rows, len(names)). Columns that were not in the fit are ignored.

        A table without a column of the fit is refused. In a list of dicts a row may lack it.
        """
        values = as_columns(rows)
        missing = [column.name for column in self.columns if column.name not in values]
        if missing:
            raise ValueError(f"rows must have the column {missing[0]!r}, got {sorted(values)}")
        n_rows = len(next(iter(values.values())))
        ones = [np.ones((n_rows, 1))] if self.intercept else []
        parts = [column.encode(values[column.name]) for column in self.columns]
        return np.hstack([*ones, *parts, np.empty((n_rows, 0))])

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        columns = [column_state(column) for column in self.columns]
        return {"encoder": 1, "intercept": self.intercept, "columns": columns}

    @classmethod
    def load(cls, state: Any) -> Encoder:
        """The encoder that ``state()`` described."""
        if not isinstance(state, dict) or state.get("encoder") != 1:
            raise ValueError(f"state must be that of an Encoder, got {str(state)[:60]}")
        try:
            columns = tuple(column_of(column) for column in state["columns"])
            return cls(columns, as_flag(state["intercept"], "intercept"))
        except (KeyError, TypeError) as error:
            raise ValueError(f"state must be that of an Encoder, got one with {error}") from error


def _kinds(values: dict[str, list[Any]], given: Mapping[str, str]) -> dict[str, str]:
    """The kind of each column."""
    known = (*KINDS, "ignore")
    for name, kind in given.items():
        if name not in values:
            raise ValueError(f"kinds must name columns of the rows, {sorted(values)}, got {name!r}")
        if kind not in known:
            raise ValueError(f"the kind of {name!r} must be one of {known}, got {kind!r}")
    return {name: given.get(name) or kind_of(column) for name, column in values.items()}
