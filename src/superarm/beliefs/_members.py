"""Random arms of groups in several samples, each arm once per sample."""

from __future__ import annotations

import numpy as np

from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._sorted_arms import SortedArms
from superarm.core.arguments import FloatArray, IndexArray


class Members:
    """Arms of groups in random order, from one uniform number per arm.

    The order is that of a shuffle (Fisher, Yates) of the arms of a group, of which only the first
    places are made. So it takes no memory for the others.
    """

    def __init__(self, groups: EqualArms) -> None:
        self._groups = groups
        # What is known of groups: their only arm, or their arms.
        self._single: dict[int, int] = {}
        self._several: dict[int, SortedArms] = {}
        # Per sample and group: how many places are made, and what is not at its place.
        self._made: dict[tuple[int, int], int] = {}
        self._moved: dict[tuple[int, int], dict[int, int]] = {}

    def next(self, row: IndexArray, group: IndexArray, uniform: FloatArray) -> IndexArray:
        """The next arms of some groups of samples, one per uniform number."""
        arms, single, several = list[int](), self._single, self._several
        for at, of, number in zip(row.tolist(), group.tolist(), uniform.tolist(), strict=True):
            if (arm := single.get(of)) is not None:
                arms.append(arm)
                continue
            if (members := several.get(of)) is None:
                members = self._groups.arms_of(of)
                if len(members) == 1:
                    single[of] = members.at(0)
                else:
                    several[of] = members
            arms.append(members.at(self._place(len(members), (at, of), number)))
        return np.array(arms, np.intp)

    def _place(self, n_members: int, key: tuple[int, int], uniform: float) -> int:
        """The next place of a shuffle."""
        if n_members == 1:
            return 0
        n_made, moved = self._made.get(key, 0), self._moved.setdefault(key, {})
        chosen = n_made + int(uniform * (n_members - n_made))
        place = moved.get(chosen, chosen)
        moved[chosen] = moved.get(n_made, n_made)
        self._made[key] = n_made + 1
        return place
