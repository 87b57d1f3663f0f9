"""What parts may offer about the places of arms; the other optional Protocols are in `optional`.

A set is a set: oracles select and rewards value it without an order. A list that people read from
the top has an order as well. Sessions show the arms of a decision best first (`best_first`), in the
places 0, 1, 2, ..., and tell the places to beliefs that learn from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core.arguments import IndexArray

if TYPE_CHECKING:
    from superarm.core.policy import Sample

# The place of each arm, from 0 on; None means the places 0, 1, 2, ...
Places = ArrayLike | None


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
        self, arms: ArrayLike, outcomes: ArrayLike, *, rng: Generator, places: Places = None
    ) -> None:
        """The same as `Belief.update`; arm ``arms[j]`` was in place ``places[j]``, from 0 on.

        None means the places 0, 1, 2, ...
        """


@runtime_checkable
class LearnsLists(LearnsPlaces, Protocol):
    """A belief for which an outcome depends on those above it; `Policy.tell` uses this.

    Outcomes of one list may be told in parts. The belief then gets those of the earlier parts once
    more, so that it can look at the list as a whole.
    """

    def update_list(
        self, arms: ArrayLike, outcomes: ArrayLike, *, rng: Generator, places: Places, n_before: int
    ) -> None:
        """The same as ``update``, where the first ``n_before`` outcomes were learned earlier."""


def as_places(places: Places, n: int, n_places: int, what: str = "places") -> IndexArray:
    """The place of each of n arms, from 0 to n_places - 1; None means 0, 1, 2, ..."""
    where = np.arange(n) if places is None else np.asarray(places)
    if where.shape != (n,) or (n and where.dtype.kind not in "iu"):
        raise ValueError(f"places must be {n} whole numbers, one for each arm, got {places!r}")
    if n and not (where.min() >= 0 and where.max() < n_places):
        raise ValueError(
            f"places must be between 0 and {n_places - 1} (there are {n_places} {what}), "
            f"got {where.min()} to {where.max()}"
        )
    return where.astype(np.intp)
