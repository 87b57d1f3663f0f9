"""Policies that know something of the arms or of the round: features, and contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.core.arguments import FloatArray

Model = type[LinearBelief] | type[LogisticBelief]

# The logistic model takes O(n_arms · columns²) per round, the linear one O(n_arms · columns).
_MOST_COLUMNS = 100


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beside a table; None where nothing is.

    Attributes
    ----------
    features
        Shape (n_arms, d): what is known of the arms, for the policy "features".
    contexts
        Shape (n_rounds, c): what is known of each row before it is played, for the policy
        "contexts".
    """

    features: FloatArray | None = None
    contexts: FloatArray | None = None


NOTHING = Known()


def model_for(table: NDArray[Any], known: Known) -> Model:
    """The belief for a table: logistic for 0 and 1, unless there are too many columns."""
    n_columns = 1
    for columns in (known.features, known.contexts):
        n_columns *= 1 + (0 if columns is None else columns.shape[1])
    # Tables of 0 and 1 are kept in small numbers, and others in eight bytes per cell.
    return LogisticBelief if table.itemsize < 8 and n_columns <= _MOST_COLUMNS else LinearBelief


def belief_of(
    table: NDArray[Any], k: int, known: Known, *, uses_contexts: bool
) -> LinearBelief | LogisticBelief:
    """A belief about the arms of a table that uses the features, and the contexts if wanted."""
    model = model_for(table, known)
    features = table.shape[1] if known.features is None else known.features
    if known.contexts is None or not uses_contexts:
        return model(features, shared=shared_of(k))
    return model(features, context=known.contexts.shape[1], shared=shared_of(k))


def shared_of(k: int) -> float:
    """The part of the seed that arms share."""
    return max(0.8, 1 - 1 / k)  # as in `thompson`
