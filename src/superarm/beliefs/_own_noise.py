"""Normal numbers of very many arms, of which few are ever computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import ndtr, ndtri

# About this many arms of a round have a normal number above the level that bounds all others.
_N_LARGE = 500


class OwnNoise:
    """One standard normal number per arm, computed for any arms at any time.

    The numbers above ``level`` are drawn: how many there are, whose they are, and what they are.
    All others follow from a key and the number of the arm (splitmix64), so that they do not depend
    on which of them are looked at.

    Parameters
    ----------
    n_arms
        How many arms there are.
    rng
        Where the numbers come from.
    """

    def __init__(self, n_arms: int, *, rng: np.random.Generator) -> None:
        above = min(0.5, _N_LARGE / n_arms)
        self.level = float(-ndtri(above))
        n_large = rng.binomial(n_arms, above)
        self.large = np.sort(rng.choice(n_arms, n_large, replace=False, shuffle=False))
        self._values = -ndtri(above * (1 - rng.random(n_large)))
        self._below, self._key = float(ndtr(self.level)), rng.integers(2**64, dtype=np.uint64)

    def of(self, arms: IndexArray) -> FloatArray:
        """The numbers of some arms."""
        bits = (arms.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + self._key
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
        uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        values = np.asarray(ndtri(self._below * uniform), np.float64)
        place, is_large = self._find(arms)
        values[is_large] = self._values[place[is_large]]
        return values

    def is_large(self, arms: IndexArray) -> NDArray[np.bool_]:
        """Whether the numbers of some arms are above the level."""
        return self._find(arms)[1]

    def _find(self, arms: IndexArray) -> tuple[IndexArray, NDArray[np.bool_]]:
        if not len(self.large):
            return arms, np.zeros(len(arms), bool)
        place = np.minimum(np.searchsorted(self.large, arms), len(self.large) - 1)
        return place, self.large[place] == arms
