"""The rounds of a log as plain data, and the checks of the arrays of a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray


class Row(NamedTuple):
    """One round: the numbers of its arms, and per arm the outcome (NaN if missing) and p."""

    arms: list[int]
    outcomes: list[float]
    propensities: list[float]
    set_propensity: float | None


def as_row(row: Mapping[str, Any], place: int, numbers: dict[Any, int]) -> Row:
    """A round from plain data. ``numbers`` has the number of each name of an arm."""
    missing = [key for key in ("arms", "outcomes", "propensities") if key not in row]
    if missing:
        raise ValueError(f"round {place} must have {missing[0]!r}, got only {sorted(row)}")
    names = list(row["arms"])
    unknown = [name for name in names if name not in numbers]
    if unknown:
        raise ValueError(f"the arms of round {place} must be among the names, got {unknown[0]!r}")
    outcomes = [np.nan if outcome is None else float(outcome) for outcome in row["outcomes"]]
    propensities = [float(p) for p in row["propensities"]]
    if not len(names) == len(outcomes) == len(propensities):
        raise ValueError(
            f"round {place} must have an outcome and a propensity for each arm, got "
            f"{len(names)} arms, {len(outcomes)} outcomes and {len(propensities)} propensities"
        )
    # Numbers, because estimators index arrays of all arms.
    arms = [numbers[name] for name in names]
    return Row(arms, outcomes, propensities, row.get("set_propensity"))


def as_json(line: str | bytes, place: int) -> Mapping[str, Any]:
    """The JSON object of a line."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {place} must be JSON, got {line[:40]!r}: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {place} must be a JSON object, got {line[:40]!r}")
    return row


def as_sets(arms: ArrayLike, n_arms: int) -> IndexArray:
    """The sets of a log, shape (n_rounds, most), with -1 where a set has fewer arms."""
    given = np.asarray(arms)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(
            f"arms must be whole numbers of shape (n_rounds, most), got {given.dtype} of shape "
            f"{given.shape}; for one arm per round write arms[:, None]"
        )
    # A copy: later changes of the caller must not change a log that was checked.
    sets = given.astype(np.intp)
    if sets.min() < -1 or sets.max() >= n_arms:
        raise ValueError(
            f"arms must be between 0 and {n_arms - 1}, or -1 for none, got {sets.min()} to "
            f"{sets.max()}"
        )
    # Equal neighbours in sorted rows are repeated arms; -1 may repeat.
    ordered = np.sort(sets, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    twice = np.flatnonzero(repeated.any(axis=1))
    if twice.size:
        raise ValueError(
            f"arms must be distinct in a round, got {sets[twice[0]].tolist()} in round "
            f"{twice[0] + 1}"
        )
    return sets


def as_outcomes(outcomes: ArrayLike, there: NDArray[np.bool_]) -> FloatArray:
    """Outcomes in [0, 1] wherever there is an arm, or NaN."""
    return _as_numbers(
        outcomes,
        "outcomes",
        there,
        lambda x: np.isnan(x) | ((x >= 0) & (x <= 1)),
        "in [0, 1], or NaN",
    )


def as_propensities(values: ArrayLike, name: str, there: NDArray[np.bool_]) -> FloatArray:
    """Probabilities above 0 wherever ``there``."""
    return _as_numbers(values, name, there, lambda p: (p > 0) & (p <= 1), "above 0 and at most 1")


def _as_numbers(
    values: ArrayLike,
    name: str,
    there: NDArray[np.bool_],
    is_good: Callable[[FloatArray], NDArray[np.bool_]],
    wanted: str,
) -> FloatArray:
    """Numbers in the places of the arms, good ones wherever there is an arm."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, got dtype {given.dtype}")
    if given.shape != there.shape:
        raise ValueError(
            f"{name} must have shape {there.shape}, as the arms have, got {given.shape}"
        )
    found = given.astype(np.float64)
    bad = found[there & ~is_good(found)]
    if bad.size:
        raise ValueError(f"{name} must be {wanted}, got {bad[0]}")
    return found
