"""The arms of a `BetaBelief` in groups of equal posteriors, kept from call to call.

`SharedSeedBelief` and `SingleSeedBelief` draw the k largest values from such groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._equal_arms import EqualArms, Key
from superarm.beliefs._scores import PlainPosteriors, SharedScores
from superarm.beliefs._top_of_groups import TopOfGroups
from superarm.beliefs.beta import BetaBelief
from superarm.core.arguments import FloatArray, IndexArray, as_feedback

# With fewer arms, a whole sample costs about as much as the groups.
FEWEST_ARMS = 2048


class KnownGroups:
    """Groups that are built at the first draw, and follow the updates.

    They are valid for one pair of arrays a and b, which are read-only from the first draw on, so
    that they can't change unnoticed.
    """

    def __init__(self) -> None:
        self._groups: EqualArms | None = None
        self._a: FloatArray | None = None
        self._b: FloatArray | None = None

    def top(
        self, posteriors: BetaBelief, k: int, scores: SharedScores, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values."""
        if not self._describes(posteriors):
            self._build(posteriors)
        groups: Any = self._groups
        a, b = groups.columns()
        shift, held = np.zeros(len(a)), np.zeros(len(a), bool)
        bounds = PlainPosteriors(a, b)
        top = TopOfGroups(bounds, shift, held, groups, scores)
        return top.draw(k, rng=rng)

    def update(
        self,
        posteriors: BetaBelief,
        arms: ArrayLike,
        outcomes: ArrayLike,
        *,
        rng: np.random.Generator,
    ) -> None:
        """Update the posteriors of some arms, and their groups."""
        if self._groups is None or not self._describes(posteriors):
            posteriors.update(arms, outcomes, rng=rng)
            return
        arms, outcomes = as_feedback(arms, outcomes, posteriors.n_arms)
        before = _keys(posteriors, arms)
        _lock(posteriors, False)
        posteriors.update(arms, outcomes, rng=rng)
        _lock(posteriors, True)
        self._groups.move(arms.tolist(), before, _keys(posteriors, arms))

    def _build(self, posteriors: BetaBelief) -> None:
        # Copies: a view could be changed through the array that it is a view of.
        posteriors.a, posteriors.b = posteriors.a.copy(), posteriors.b.copy()
        _lock(posteriors, True)
        self._a, self._b = posteriors.a, posteriors.b
        self._groups = EqualArms(self._a, self._b)

    def _describes(self, posteriors: BetaBelief) -> bool:
        """Whether the groups are those of the posteriors, and nobody can have written to these."""
        a, b = posteriors.a, posteriors.b
        return self._a is a and self._b is b and not (a.flags.writeable or b.flags.writeable)

    def __getstate__(self) -> dict[str, Any]:
        # The posteriors determine the groups, which are large.
        return KnownGroups().__dict__


def _lock(posteriors: BetaBelief, locked: bool) -> None:
    posteriors.a.flags.writeable = posteriors.b.flags.writeable = not locked


def _keys(posteriors: BetaBelief, arms: IndexArray) -> list[Key]:
    return list(zip(posteriors.a[arms].tolist(), posteriors.b[arms].tolist(), strict=True))
