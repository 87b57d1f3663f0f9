"""What parts may offer about contexts; the other optional Protocols are in `optional`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray


@runtime_checkable
class Contextual(Protocol):
    """A belief whose means depend on the context of a round; `Policy` uses this."""

    def at(self, context: ArrayLike | None) -> Any:
        """The belief of a round: ``n_arms``, ``sample``, ``update``, and what else it offers.

        A context is a vector, or a matrix with one row per arm; None is a round without one, which
        a belief may refuse. An update of the result is an update of this.
        """


@runtime_checkable
class MayLackContexts(Protocol):
    """A contextual belief that can also be made without contexts; off-policy estimates use this."""

    @property
    def average_context(self) -> FloatArray | None:
        """Shape (c,): the mean of the contexts of feedback so far; None if made without any."""


@runtime_checkable
class GivesContext(Protocol):
    """An environment whose rounds have contexts; `simulate` passes them to the policy."""

    def context(self, *, rng: np.random.Generator) -> FloatArray:
        """Begin the next round, and return its context; ``mu`` and ``pull`` are then of it."""


def uses_contexts(belief: object) -> bool:
    """Whether a belief takes contexts: it has ``at``, and was not made without contexts."""
    if isinstance(belief, MayLackContexts) and belief.average_context is None:
        return False
    return isinstance(belief, Contextual)
