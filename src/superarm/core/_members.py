"""The members of pools as flat arrays: what is checked of them, and how they are numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import IndexArray, refuse_masked

# Up to this many arms per member, arms are found by marks instead of sorting.
_FEW_PER_MEMBER = 64


def checked(members: ArrayLike, offsets: ArrayLike, n_arms: int) -> tuple[IndexArray, IndexArray]:
    """Members and offsets as the user gave them, refused if they are not those of pools."""
    members, offsets = _flat(members, "members"), _flat(offsets, "offsets")
    # Compared before the conversion, and without differences: unsigned numbers would wrap around.
    has_ends = offsets.size and offsets[0] == 0 and offsets[-1] == len(members)
    if not has_ends or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(
            f"offsets must rise from 0 to {len(members)} (the number of members), "
            f"got {offsets.tolist()[:9]}"
        )
    if members.size and not (members.min() >= 0 and members.max() < n_arms):
        raise ValueError(
            f"members must be between 0 and {n_arms - 1}, got {members.min()} to {members.max()}"
        )
    members, offsets = members.astype(np.intp), offsets.astype(np.intp)
    # Members need not ascend from the end of one pool to the start of the next.
    starts = np.zeros(len(members) + 1, bool)
    starts[offsets] = True
    unordered = np.flatnonzero((np.diff(members) <= 0) & ~starts[1:-1])
    if unordered.size:
        at = unordered[0]
        raise ValueError(
            f"members must ascend within a pool, got {members[at]} before {members[at + 1]}; "
            "Pools.of sorts for you"
        )
    return members, offsets


def _flat(given: ArrayLike, name: str) -> NDArray[Any]:
    """A copy of a flat array of whole numbers."""
    if isinstance(given, MaskedArray):
        refuse_masked(given, name)
    numbers = np.array(given)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise TypeError(
            f"{name} must be a flat array of whole numbers, "
            f"got {numbers.dtype} of shape {numbers.shape}"
        )
    return numbers


def numbered(members: IndexArray, n_arms: int) -> tuple[IndexArray, IndexArray]:
    """The arms that occur, ascending, and for each member the place of its arm among them."""
    if n_arms > _FEW_PER_MEMBER * len(members):
        return np.unique(members, return_inverse=True)
    # Marks are several times faster than sorting, unless most arms do not occur.
    occurs, place = np.zeros(n_arms, bool), np.empty(n_arms, np.intp)
    occurs[members] = True
    arms = occurs.nonzero()[0]
    place[arms] = np.arange(len(arms))
    return arms, place[members]


def offsets_of(sizes: IndexArray) -> IndexArray:
    """Where pools of these sizes begin, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.intp)
    sizes.cumsum(out=offsets[1:])
    return offsets
