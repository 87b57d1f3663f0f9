"""The settings that all oracles for noisy rewards have, checked and kept in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from superarm.core import KOrSets
from superarm.core.arguments import IndexArray, as_count, as_finite, as_fraction
from superarm.core.showing import one_line
from superarm.core.states import as_saved_number
from superarm.oracles._noise import Symmetric, as_noise

Per = Literal["run", "round"]


@dataclass(eq=False, repr=False)
class NoisySettings:
    """What certifies a decision, and what is known about the noise. The oracles describe it."""

    delta: float = 0.05
    _: KW_ONLY
    noise_std: float | None = None
    answers_in: tuple[float, float] | None = None
    tolerance: float = 0.0
    budget: int = 100_000

    __repr__ = one_line

    def __post_init__(self) -> None:
        self.delta = as_fraction(self.delta, "delta")
        self._noise = as_noise(self.noise_std, self.answers_in)
        self.tolerance = float(as_finite([self.tolerance], "tolerance", ndim=1, least=0.0)[0])
        self.budget = as_count(self.budget, "budget", least=1)

    def _variance(self) -> float | None:
        """How large symmetric noise is, about; None if that is not known, or not needed."""
        return self._noise.variance if isinstance(self._noise, Symmetric) else None

    def _guess_variance(self, variance: float | None) -> None:
        """Take this for the variance, if the noise is symmetric. None: it is learned again."""
        if isinstance(self._noise, Symmetric):
            self._noise.variance = variance


@dataclass(eq=False, repr=False, kw_only=True)
class ContestSettings(NoisySettings):
    """Settings of oracles of contests, which share the error probability among rounds."""

    per: Per = "run"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per not in ("run", "round"):
            raise ValueError(f'per must be "run" or "round", got {self.per!r}')
        self._n_rounds = 0

    def adopt(self, arms: IndexArray, k: KOrSets, n_arms: int) -> None:
        """Count the round of a set that another run picked, whose answers are not known."""
        self._n_rounds += 1

    @property
    def must_replay(self) -> bool:
        """Whether the noise, or the start of a search, is learned from answers."""
        return True

    def forget(self) -> None:
        """Forget how large the noise is. Rounds are counted on: delta is for all of them."""
        self._guess_variance(None)

    def _share_of_next_round(self) -> float:
        self._n_rounds += 1
        return share_of_round(self.delta, self._n_rounds, self.per)

    def _memory(self) -> dict[str, Any]:
        return {"n_rounds": self._n_rounds, "variance": self._variance()}

    def _remember(self, memory: dict[str, Any], inner: Callable[[], None] | None = None) -> None:
        """Load what `_memory` returned, after ``inner`` if this is not refused."""
        n_rounds = as_count(memory["n_rounds"], "state['n_rounds']")
        variance = saved_variance(memory["variance"])
        if inner is not None:
            inner()
        self._n_rounds = n_rounds
        self._guess_variance(variance)


def saved_variance(value: Any) -> float | None:
    """The variance in a state; None if it was not known."""
    return None if value is None else as_saved_number(value, "variance", least=0.0)


def share_of_round(delta: float, t: int, per: Per) -> float:
    """The error probability of round t: the shares of all rounds add up to delta."""
    return delta if per == "round" else delta * 6 / (np.pi * t) ** 2
