"""What parts may offer about the places of arms; the other optional Protocols are in `optional`.

A set is a set: oracles select and rewards value it without an order. A list that people read from
the top has an order as well. Sessions show the arms of a decision best first (`ranking`), in the
places 0, 1, 2, ..., and tell the places to beliefs that learn from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import IndexArray

if TYPE_CHECKING:
    from superarm.core.policy import Sample


@runtime_checkable
class Ranks(Protocol):
    """An oracle with a rule of its own for the order of the arms; sessions use this."""

    def rank(self, arms: IndexArray, theta: Sample) -> ArrayLike:
        """The arms of the set that was just selected, the first to be shown first."""


@runtime_checkable
class LearnsPlaces(Protocol):
    """A belief that learns from the place of each arm; `Policy.tell` uses this."""

    @property
    def n_places(self) -> int:
        """How many places a list has."""

    def update(
        self,
        arms: ArrayLike,
        outcomes: ArrayLike,
        *,
        rng: np.random.Generator,
        places: ArrayLike | None = None,
    ) -> None:
        """The same as `Belief.update`; arm ``arms[j]`` was in place ``places[j]``, from 0 on.

        None means the places 0, 1, 2, ...
        """
