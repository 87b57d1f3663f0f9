"""Features and contexts, as requests give them, and the sizes of the models that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from superarm.service.bandits import parts
from superarm.service.bandits.sizes import Answered
from superarm.service.problems import Problem, shown

Rows: TypeAlias = list[list[float]]
Given: TypeAlias = Rows | Mapping[str, list[float]]  # in the order of the arms, or by name
# Limits that protect a server: a decision takes a matrix of all arms and columns, and the model
# takes the time of a cube of the columns.
_MOST_COLUMNS = 1_000
_MOST_NUMBERS = 100_000_000
_MOST_PLACES = 100  # an update takes time and memory for places times arms of the list
_MOST_COUNTS = 10_000_000  # a belief about places counts failures per arm and place


def rows_of(given: Given, arms: Sequence[str], belief: Mapping[str, Any]) -> Rows:
    """One row per arm, in their order. Raises Problem if they do not fit the arms or the belief."""
    if belief.get("kind") not in parts.FEATURED:
        takes = " and ".join(parts.FEATURED)
        raise Problem(
            422,
            f"features are for the beliefs {takes}, got some for {shown(belief.get('kind'))}",
            fix="leave out the features, or take another belief",
        )
    rows = given if isinstance(given, list) else _in_order(given, arms)
    if len(rows) != len(arms):
        raise Problem(
            422, f"features must have one row for each of {len(arms)} arms, got {len(rows)} rows"
        )
    _check_lengths(rows, "features")
    return rows


def _check_lengths(rows: Rows, what: str) -> None:
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise Problem(
            422, f"rows of {what} must have the same length, got {lengths[0]} and {lengths[-1]}"
        )


def _in_order(given: Mapping[str, list[float]], arms: Sequence[str]) -> Rows:
    for name in arms:
        if name not in given:
            raise Problem(422, f"features must be of every arm, got none of {shown(name)}")
    unknown = given.keys() - set(arms)
    if unknown:
        raise Problem(422, f"features must be of the arms, got some of {shown(min(unknown))}")
    return [given[name] for name in arms]


def check_size(spec: Mapping[str, Any], n_arms: int) -> None:
    """Raise Problem if the model of places, or of features and contexts, would be too large."""
    belief = spec["belief"]
    _check_places(belief.get("weights"), n_arms)
    if belief.get("kind") not in parts.FEATURED:
        return
    n_features = len(spec["features"][0]) if "features" in spec else 0
    context = belief.get("context")
    # The belief itself refuses what is not a number.
    width = 1 + (context if type(context) is int else 0)
    n_columns = (1 + n_features) * width
    if n_columns > _MOST_COLUMNS:
        raise Problem(
            422,
            f"features and context must make at most {_MOST_COLUMNS:,} columns, (1 + features) "
            f"times (1 + context), got {n_columns:,}",
        )
    structure = belief.get("structure") or _default_structure(belief["kind"], n_features)
    # Each arm has a model of the context of its own.
    n_numbers = n_arms * n_columns * (width if structure in ("disjoint", "hybrid") else 1)
    if n_numbers > _MOST_NUMBERS:
        raise Problem(
            422,
            f"arms times columns of features and context must be at most {_MOST_NUMBERS:,}, "
            f"got {n_numbers:,}",
            fix="take fewer features, a shorter context, or the structure shared or bilinear",
        )


def _check_places(weights: Any, n_arms: int) -> None:
    """Raise Problem if a list has too many places. The belief itself checks the weights."""
    n_places = len(weights) if isinstance(weights, list) else 0
    if n_places > _MOST_PLACES or n_places * n_arms > _MOST_COUNTS:
        raise Problem(
            422,
            f"weights must be of at most {_MOST_PLACES} places, and places times arms at most "
            f"{_MOST_COUNTS:,}, got {n_places} places of {n_arms:,} arms",
        )


def _default_structure(kind: str, n_features: int) -> str:
    if kind == "logistic":
        return "hybrid"
    return "bilinear" if n_features else "disjoint"


def check_context(asked: Mapping[str, Any]) -> None:
    """Raise Problem if rows of the context differ, or if decisions would repeat too much of it.

    The belief checks whether the context is one for its arms.
    """
    context = asked.get("context")
    if context is not None and isinstance(context[0], list):
        _check_lengths(context, "a context")
    # Every answer has context and metadata, and every open decision in a checkpoint the context.
    Answered().add(asked)
