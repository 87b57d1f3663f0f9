"""One step of lazy greedy: what is known while an arm is added to a base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.core import Pools, top_k
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._lazy.gains import Base

# A bound that is closer than this share to what it must beat is not trusted to beat it.
_TIE = 1e-12


class Stage:
    """What is known while one arm is added. Arrays have shape (n_arms,), except base and closed.

    Attributes
    ----------
    base, worth, theta
        The arms so far, ascending, their value, and the means.
    closed
        The arms that cannot be added: those of the base by default.
    alone, upper
        Upper bounds on what each arm adds alone, and to the base. ``upper`` is lowered in place
        when answers come in.
    exact
        The value of the base with each arm, as answered; -inf for arms that were not evaluated.
    tried
        Which arms were evaluated in a group.
    assumed
        Which bounds rest on more than submodularity.
    here
        The answers of this step, to be remembered.
    """

    def __init__(
        self,
        base: IndexArray,
        worth: float,
        theta: FloatArray,
        alone: FloatArray,
        upper: FloatArray,
        assumed: NDArray[np.bool_],
        closed: IndexArray | None = None,
    ) -> None:
        self.base, self.worth, self.theta = base, worth, theta
        self.alone, self.upper, self.assumed = alone, upper, assumed
        self.closed = base if closed is None else closed
        self.exact = np.full(len(theta), -np.inf)
        self.tried = np.zeros(len(theta), bool)
        self.here = Base(base, theta[base], worth)

    def with_each(self, arms: IndexArray) -> Pools:
        """The base with each of some arms."""
        rows = np.empty((len(arms), len(self.base) + 1), np.intp)
        rows[:, :-1], rows[:, -1] = self.base, arms
        rows.sort(axis=1)
        # All of these arms were checked before: a second check would cost more than the rest.
        return Pools._trusted_rows(rows, len(self.theta))

    def with_groups(self, arms: IndexArray, sizes: IndexArray) -> Pools:
        """The base with each group of arms, one group after the other."""
        n_base, numbers = len(self.base), np.arange(len(sizes))
        members = np.concatenate([np.tile(self.base, len(sizes)), arms])
        group = np.concatenate([np.repeat(numbers, n_base), np.repeat(numbers, sizes)])
        offsets = np.concatenate([np.zeros(1, np.intp), np.cumsum(sizes + n_base)])
        return Pools._trusted(members[np.lexsort((members, group))], offsets, len(self.theta))

    def gain(self) -> float:
        """What the best arm so far adds; -inf before the first answer."""
        return float(self.exact.max()) - self.worth

    def in_question(self, gain: float) -> NDArray[np.bool_]:
        """Which arms may still add ``gain`` or more, by their bounds."""
        open_to = (self.upper >= self._at_least(gain)) & (self.exact == -np.inf)
        open_to[self.closed] = False
        return open_to

    def still_in_question(self, arms: IndexArray, gain: float) -> IndexArray:
        """Which of some arms are in question, if all were and only bounds have changed since."""
        return arms[self.upper[arms] >= self._at_least(gain)]

    def _at_least(self, gain: float) -> float:
        # A gain is the difference of two values, whose rounding errors it has.
        return gain - (_TIE * (abs(self.worth) + abs(gain)) if gain > -np.inf else 0.0)

    def lower(self, arms: IndexArray, bounds: FloatArray, *, assumed: bool = False) -> None:
        """Take over bounds where they are lower; an arm may occur more than once."""
        before = self.upper[arms]
        np.minimum.at(self.upper, arms, bounds)
        self.assumed[arms[self.upper[arms] < before]] = assumed

    def winner(self, *, rng: np.random.Generator) -> int:
        """The best of the arms that were evaluated; without any, the arm of the largest bound."""
        known = self.exact if np.isfinite(self.exact).any() else self.upper
        return int(top_k(known, 1, rng=rng)[0])
