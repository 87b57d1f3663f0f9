"""The rounds of a log as plain data, and the checks of the arrays of a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_finite


@dataclass(frozen=True, eq=False)
class Columns:
    """The rounds of a log as arrays, for `Log`."""

    arms: IndexArray  # (n_rounds, most), -1 where there is none
    outcomes: FloatArray  # the same shape, NaN where missing
    propensities: FloatArray
    set_propensities: list[float] | None
    n_samples: list[int] | None
    contexts: FloatArray | None


def as_columns(rows: Sequence[Mapping[str, Any]], numbers: dict[Any, int]) -> Columns:
    """Rounds of plain data as arrays. ``numbers`` has the number of each name of an arm."""
    if not rows:
        raise ValueError("a log must have at least one round, got none")
    try:
        sets = [row["arms"] for row in rows]
        sizes = np.fromiter(map(len, sets), np.intp, len(sets))
        flat = np.array([numbers[name] for name in chain.from_iterable(sets)], np.float64)
        # None becomes NaN.
        cells = {name: _flat(rows, name, sizes) for name in ("outcomes", "propensities")}
    except (KeyError, TypeError, ValueError):
        for place, row in enumerate(rows, start=1):
            _check_row(row, place, numbers)
        raise
    there = np.arange(max(1, int(sizes.max()))) < sizes[:, None]
    arms, outcomes, propensities = (_padded(there, given) for given in (flat, *cells.values()))
    return Columns(
        np.where(there, arms, -1).astype(np.intp),
        outcomes,
        propensities,
        # All or none: an estimator of sets needs the propensity of every round.
        _of_all(rows, "set_propensity"),
        _of_all(rows, "n_samples"),
        _contexts(rows, len(numbers)),
    )


def _flat(rows: Sequence[Mapping[str, Any]], name: str, sizes: IndexArray) -> FloatArray:
    given = [row[name] for row in rows]
    if not np.array_equal(np.fromiter(map(len, given), np.intp, len(given)), sizes):
        raise ValueError(name)  # `_check_row` says in which round
    return np.array(list(chain.from_iterable(given)), np.float64)


def _padded(there: NDArray[np.bool_], flat: FloatArray) -> FloatArray:
    cells = np.full(there.shape, np.nan)
    cells[there] = flat
    return cells


def _of_all(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    given = [found for row in rows if (found := row.get(name)) is not None]
    return given if len(given) == len(rows) else None


def _contexts(rows: Sequence[Mapping[str, Any]], n_arms: int) -> FloatArray | None:
    """The contexts of all rounds, or None if there are none."""
    given = [row.get("context") for row in rows]
    lacking = next((place for place, one in enumerate(given, start=1) if one is None), None)
    if lacking is not None:
        if any(one is not None for one in given):
            raise ValueError(
                f"all rounds must have a context, or none, got none in round {lacking}"
            )
        return None
    found = [np.asarray(one, np.float64) for one in given]
    if any(one.ndim == 2 for one in found):
        found = [_with_all_arms(one, n_arms) for one in found]
    for place, one in enumerate(found, start=1):
        if one.shape != found[0].shape:
            raise ValueError(
                f"contexts must have one shape in all rounds, got {found[0].shape} and, in round "
                f"{place}, {one.shape}"
            )
    return np.array(found)


def _with_all_arms(context: FloatArray, n_arms: int) -> FloatArray:
    """One row per arm: zeros for arms that came later, and a vector as the row of every arm."""
    if context.ndim < 2:
        return np.tile(context, (n_arms, 1))
    return np.vstack([context, np.zeros((max(0, n_arms - len(context)), context.shape[1]))])


def _check_row(row: Mapping[str, Any], place: int, numbers: dict[Any, int]) -> None:
    """Say what is wrong with a round, if anything is."""
    missing = [key for key in ("arms", "outcomes", "propensities") if key not in row]
    if missing:
        raise ValueError(f"round {place} must have {missing[0]!r}, got only {sorted(row)}")
    names, outcomes, propensities = (list(row[key]) for key in ("arms", "outcomes", "propensities"))
    unknown = [name for name in names if name not in numbers]
    if unknown:
        raise ValueError(f"the arms of round {place} must be among the names, got {unknown[0]!r}")
    if not len(names) == len(outcomes) == len(propensities):
        raise ValueError(
            f"round {place} must have an outcome and a propensity for each arm, got "
            f"{len(names)} arms, {len(outcomes)} outcomes and {len(propensities)} propensities"
        )


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
    try:
        given = np.asarray(arms)
    except ValueError:  # rows of different length
        raise ValueError(
            "arms must be whole numbers of shape (n_rounds, most), got sets of different sizes; "
            "fill smaller sets with -1, or use Log.of, which takes sets of any size"
        ) from None
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


def as_contexts(contexts: ArrayLike, n_rounds: int, n_arms: int) -> FloatArray:
    """Contexts, shape (n_rounds, c); or (n_rounds, n_arms, c), one row per arm."""
    n_dims = np.ndim(contexts)
    shape = np.shape(contexts)
    if n_dims not in (2, 3) or shape[0] != n_rounds or (n_dims == 3 and shape[1] != n_arms):
        raise ValueError(
            f"contexts must have shape ({n_rounds}, c), or ({n_rounds}, {n_arms}, c) with one row "
            f"per arm, got {shape}"
        )
    return as_finite(contexts, "contexts", ndim=n_dims)


def as_samples(n_samples: ArrayLike, n_rounds: int) -> IndexArray:
    """How many samples the propensities of each round are shares of."""
    given = np.asarray(n_samples)
    if given.dtype.kind not in "iu" or (given.size and given.min() < 1):
        raise ValueError(f"n_samples must be whole numbers of at least 1, got {n_samples!r:.60}")
    if given.shape not in ((), (n_rounds,)):
        raise ValueError(
            f"n_samples must be a number, or one for each of {n_rounds} rounds, got shape "
            f"{given.shape}"
        )
    return np.array(np.broadcast_to(given, n_rounds), np.intp)
