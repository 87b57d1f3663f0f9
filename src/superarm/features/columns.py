"""How one column of a table becomes numbers: a class per kind of column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.features.tables import is_missing

# A number further from the mean than this many standard deviations is cut: one slip of a keyboard
# must not dominate a score.
_MOST_STDS = 5.0
_MOST = 1e100  # larger numbers are refused, since sums of their squares could overflow
_TWO_PI = 2 * math.pi
_DAYS_PER_YEAR = 365.25


@dataclass(frozen=True)
class NumberColumn:
    """(value - mean) / std, 0 where missing; and 1 where missing, if values were in the fit."""

    name: str
    mean: float
    std: float
    has_missing: bool
    kind = "number"

    @classmethod
    def fit(cls, name: str, values: list[Any], **_: Any) -> NumberColumn:
        """Mean and standard deviation of the values that are there."""
        numbers = _numbers(name, values)
        seen = numbers[~np.isnan(numbers)]
        mean, std = (float(seen.mean()), float(seen.std())) if len(seen) else (0.0, 0.0)
        # Equal numbers may have a standard deviation by rounding, which is tiny beside the mean.
        is_constant = std <= 1e-12 * abs(mean)
        return cls(name, mean, 0.0 if is_constant else std, len(seen) < len(numbers))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        value = (self.name,) if self.std else ()
        return value + ((f"{self.name} is missing",) if self.has_missing else ())

    def encode(self, values: list[Any]) -> FloatArray:
        """Shape (len(values), len(names))."""
        numbers = _numbers(self.name, values)
        missing = np.isnan(numbers)
        features = []
        if self.std:
            standard = np.where(missing, 0.0, (numbers - self.mean) / self.std)
            features.append(np.clip(standard, -_MOST_STDS, _MOST_STDS))
        if self.has_missing:
            features.append(missing.astype(np.float64))
        return _stacked(features, len(values))


@dataclass(frozen=True)
class CategoryColumn:
    """1 for the category of a row, and 0 for the others.

    Rare categories share one feature, "other", which unknown categories have, too. Without rare
    categories, unknown ones are 0 in all features. Missing values are a category.
    """

    name: str
    categories: tuple[str, ...]
    has_other: bool
    has_missing: bool
    kind = "category"

    @classmethod
    def fit(
        cls, name: str, values: list[Any], *, most_categories: int, least_rows: int
    ) -> CategoryColumn:
        """The most frequent categories, with at least ``least_rows`` rows each."""
        counts = Counter(_labels(values))
        n_missing = counts.pop(None, 0)
        common = [one for one, n in counts.items() if one is not None and n >= least_rows]
        # By name among equal counts, so that the order of the rows does not matter.
        common = sorted(common, key=lambda one: (-counts[one], one))[:most_categories]
        return cls(name, tuple(common), len(common) < len(counts), n_missing > 0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        values = [f"= {one}" for one in self.categories]
        values += ["is other"] * self.has_other + ["is missing"] * self.has_missing
        # One feature that is 1 in all rows would say nothing.
        return tuple(f"{self.name} {value}" for value in values) if len(values) > 1 else ()

    def encode(self, values: list[Any]) -> FloatArray:
        """Shape (len(values), len(names))."""
        n_features = len(self.names)
        features = np.zeros((len(values), n_features))
        if not n_features:
            return features
        places: dict[str | None, int] = {one: place for place, one in enumerate(self.categories)}
        nowhere = -1
        other = len(places) if self.has_other else nowhere
        places[None] = n_features - 1 if self.has_missing else nowhere
        found = np.array([places.get(label, other) for label in _labels(values)], np.intp)
        rows = np.flatnonzero(found != nowhere)
        features[rows, found[rows]] = 1.0
        return features


@dataclass(frozen=True)
class DateColumn:
    """Years, weekday, time of the year and time of the day, each only if it differs between rows.

    Years are standardised. The weekday is one feature per day. Times of the year and of the day are
    a sine and a cosine, so that December is close to January.
    """

    name: str
    mean: float
    std: float
    parts: tuple[str, ...]
    has_missing: bool
    kind = "date"

    @classmethod
    def fit(cls, name: str, values: list[Any], **_: Any) -> DateColumn:
        """Which parts differ, and the mean and standard deviation of the years."""
        dates = [_as_date(name, value) for value in values if not is_missing(value)]
        years = np.array([_year(one) for one in dates] or [0.0])
        parts = tuple(
            part for part, of in _PARTS.items() if len({np.round(of(d), 9) for d in dates}) > 1
        )
        std = float(years.std()) if "years" in parts else 0.0
        return cls(name, float(years.mean()), std, parts, len(dates) < len(values))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        values: list[str] = []
        for part in self.parts:
            values += _PART_NAMES[part]
        values += ["is missing"] * self.has_missing
        return tuple(f"{self.name} {value}" for value in values)

    def encode(self, values: list[Any]) -> FloatArray:
        """Shape (len(values), len(names)). A missing date is 1 in a feature of its own, else 0."""
        features = np.zeros((len(values), len(self.names)))
        for row, value in enumerate(values):
            if is_missing(value):
                features[row, -1:] = float(self.has_missing)
            else:
                encoded = self._parts(_as_date(self.name, value))
                features[row, : len(encoded)] = encoded
        return features

    def _parts(self, when: date) -> list[float]:
        numbers: list[float] = []
        for part in self.parts:
            value = _PARTS[part](when)
            if part == "years":
                standard = (value - self.mean) / self.std
                numbers.append(min(_MOST_STDS, max(-_MOST_STDS, standard)))
            elif part == "weekday":
                numbers += [float(value == day) for day in range(7)]
            else:
                numbers += [math.sin(_TWO_PI * value), math.cos(_TWO_PI * value)]
        return numbers


Column = NumberColumn | CategoryColumn | DateColumn
KINDS: dict[str, type[Column]] = {
    one.kind: one for one in (NumberColumn, CategoryColumn, DateColumn)
}


def kind_of(values: list[Any]) -> str:
    """Numbers and flags are "number", dates "date", and everything else is "category"."""
    kinds = set()
    for value in values:
        if is_missing(value):
            continue
        if isinstance(value, Real | Decimal | np.bool_):
            kinds.add("number")
        elif isinstance(value, date | np.datetime64):
            kinds.add("date")
        else:
            return "category"
    return kinds.pop() if len(kinds) == 1 else "category"


def column_state(column: Column) -> dict[str, Any]:
    """A column as plain JSON."""
    return {"kind": column.kind, **asdict(column)}


def column_of(state: dict[str, Any]) -> Column:
    """The column that ``column_state`` described."""
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in state.items()
    }
    kind = given.pop("kind", None)
    if kind not in KINDS:
        raise ValueError(f"the kind of a column must be one of {sorted(KINDS)}, got {kind!r}")
    return KINDS[kind](**given)


def _labels(values: list[Any]) -> list[str | None]:
    """The names of the categories, None where a value is missing.

    A column mostly has few texts many times, so each text is looked at once.
    """
    known: dict[str, str | None] = {}
    labels = []
    for value in values:
        if type(value) is not str:
            label = None if is_missing(value) else _label(value)
        elif value in known:
            label = known[value]
        else:
            label = known[value] = None if is_missing(value) else value
        labels.append(label)
    return labels


def _label(value: Any) -> str:
    """The name of a category. 1.0 is 1: a column of ids has floats if one id is missing."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _numbers(name: str, values: list[Any]) -> FloatArray:
    """Floats, NaN where missing; text is read as a number."""
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if not is_missing(value):
            try:
                numbers[row] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise _wrong(name, "a number", value, row) from None
            if not abs(numbers[row]) <= _MOST:
                kind = "number up to 1e100" if math.isfinite(numbers[row]) else "finite number"
                raise _wrong(name, f"a {kind}", value, row)
    return numbers


def _as_date(name: str, value: Any) -> date:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            raise _wrong(name, "a date such as 2024-05-31", value) from None
    if not isinstance(value, date):
        raise _wrong(name, "a date", value)
    return value


def _year(when: date) -> float:
    return when.year + _of_year(when)


def _of_year(when: date) -> float:
    return (when.timetuple().tm_yday - 1 + _of_day(when)) / _DAYS_PER_YEAR


def _of_day(when: date) -> float:
    # The clock where the date comes from decides, so time zones are left alone.
    if not isinstance(when, datetime):
        return 0.0
    return (when.hour + when.minute / 60 + when.second / 3600) / 24


_PARTS: dict[str, Callable[[date], float]] = {
    "years": _year,
    "weekday": lambda when: float(when.weekday()),
    "year": _of_year,
    "day": _of_day,
}
_PART_NAMES = {
    "years": ["years"],
    "weekday": [f"on {day}" for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")],
    "year": ["time of year (sin)", "time of year (cos)"],
    "day": ["time of day (sin)", "time of day (cos)"],
}


def _stacked(features: list[FloatArray], n_rows: int) -> FloatArray:
    return np.column_stack(features) if features else np.empty((n_rows, 0))


def _wrong(name: str, expected: str, value: Any, row: int | None = None) -> ValueError:
    where = "" if row is None else f" in row {row}"
    return ValueError(f"column {name!r} must have {expected}, got {value!r}{where}")
