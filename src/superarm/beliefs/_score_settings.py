"""The settings of scores: what raises them, and what varies them.

`LearnedBetaBelief`, `LinearBelief` and `LogisticBelief` share these settings.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from superarm.beliefs._scores import SharedScores
from superarm.core.arguments import FloatArray, as_count, as_finite, as_fraction

# So much of the rounds to come counts for optimism.
LOOK_AHEAD = 0.3


@dataclass(frozen=True)
class ScoreSettings:
    """z_i = optimism · log(1 + 0.3 t / n_i) + spread · (sqrt(shared) z_0 + sqrt(1 - shared) e_i).

    t is the number of rounds to come, and n_i how many outcomes the knowledge of arm i is worth.

    Attributes
    ----------
    shared, optimism, spread, horizon
        As in `LearnedBetaBelief`.
    """

    shared: float
    optimism: float
    spread: float
    horizon: int | None

    @classmethod
    def checked(cls, shared: Any, optimism: Any, spread: Any, horizon: Any) -> ScoreSettings:
        """The settings, or ValueError or TypeError."""
        return cls(
            as_fraction(shared, "shared", low="[", high="]"),
            _as_width(optimism, "optimism"),
            _as_width(spread, "spread"),
            None if horizon is None else as_count(horizon, "horizon", least=1),
        )

    @property
    def law(self) -> SharedScores:
        """The law of the scores without optimism."""
        return SharedScores(self.shared, self.spread)

    def rise(
        self, per_outcome: FloatArray, rounds: int, discount: float = 1.0, more: float = 0.0
    ) -> FloatArray:
        """What raises the scores after some rounds, for the values 1 / n_i.

        ``discount`` is what an outcome is worth after one more round. As many rounds as so far, and
        ``more``, are expected to come if there is no horizon.
        """
        to_come = rounds + 1 + more if self.horizon is None else max(1.0, self.horizon - rounds)
        if discount < 1:
            # What is learned is forgotten after this many rounds, so it can't be used for longer.
            to_come = min(to_come, 1 / (1 - discount))
        return self.optimism * np.log1p(LOOK_AHEAD * to_come * per_outcome)

    def state(self) -> dict[str, Any]:
        """The settings by their names."""
        return asdict(self)


class OfScores:
    """An attribute of a belief that is the setting of this name in its ``scores``."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, belief: Any, owner: type) -> Any:
        return self if belief is None else getattr(belief.scores, self._name)


NAMES = tuple(field.name for field in fields(ScoreSettings))


def _as_width(value: Any, name: str) -> float:
    return float(as_finite([value], name, ndim=1, least=0.0)[0])
