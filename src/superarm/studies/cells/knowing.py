"""Policies that know something of the arms or of the round: features, and contexts."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.core.arguments import FloatArray

Model = type[LinearBelief] | type[LogisticBelief]

# The logistic model takes O(n_arms · columns²) per round, the linear one O(n_arms · columns).
_MOST_COLUMNS = 100


def model_for(
    table: NDArray[Any], features: FloatArray | None, contexts: FloatArray | None
) -> Model:
    """The belief for a table: logistic for 0 and 1, unless there are too many columns."""
    n_columns = 1
    for known in (features, contexts):
        n_columns *= 1 + (0 if known is None else known.shape[1])
    # Tables of 0 and 1 are kept in small numbers, and others in eight bytes per cell.
    return LogisticBelief if table.itemsize < 8 and n_columns <= _MOST_COLUMNS else LinearBelief


def belief_of(
    model: Model,
    table: NDArray[Any],
    k: int,
    features: FloatArray | None,
    contexts: FloatArray | None,
) -> LinearBelief | LogisticBelief:
    """A belief about the arms of a table that uses what is given."""
    known = table.shape[1] if features is None else features
    if contexts is None:
        return model(known, shared=shared_of(k))
    return model(known, context=contexts.shape[1], shared=shared_of(k))


def shared_of(k: int) -> float:
    """The part of the seed that arms share."""
    return max(0.8, 1 - 1 / k)  # as in `thompson`
