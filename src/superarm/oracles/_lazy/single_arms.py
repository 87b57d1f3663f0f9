"""What a reward answered about single arms, and what the answers showed about its declarations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray, as_finite
from superarm.core.optional import is_concave
from superarm.oracles._lazy.audits import Audits
from superarm.oracles._lazy.remembered import Remembered

# Two answers to the same question may differ by this share: batches and single calls round
# differently.
_ROUNDING = 1e-9
# An arm with at most this many answers is new.
_NEW = 2
# B is plainly too large if the answers use less than this share of it.
_PLAINLY_TOO_LARGE = 0.5
# How far to go towards the mean that would settle an arm: a little less, since this mean is a
# guess.
_SHORT_OF = 0.95
# The weight of a new answer in the average share of B that the answers use.
_NEW_SHARE = 0.05
# By what factor a B of 0 is raised, and a margin for rounding when B is raised.
_RAISE_ZERO, _MARGIN = 2.0, 1 + 1e-9
# Keeps a division by a slope finite when the slope is 0.
_TINY = 1e-300


class SingleArms:
    """What is known about f_i, the value of arm i alone, for all arms i of one reward.

    Attributes
    ----------
    memory
        The answers.
    lipschitz
        Shape (n_arms,): the B_i, as declared, or raised when an answer contradicts the declaration.
    monotone, concave
        Whether the f_i are non-decreasing, and concave: as declared, until an answer contradicts
        it.
    used
        What share of B the answers use, on average.
    warned
        Whether a warning about a wrong declaration was given: there is at most one.
    empty
        The value of the empty set; None if it was not evaluated.
    audits
        What was audited.
    """

    def __init__(
        self, memory: Remembered, lipschitz: FloatArray, *, monotone: bool, concave: bool
    ) -> None:
        self.memory, self.lipschitz, self.n_arms = memory, lipschitz, len(lipschitz)
        self.monotone, self.concave = monotone, concave
        self.used, self.warned = 1.0, False
        self.empty: float | None = None
        self.audits = Audits()

    @classmethod
    def new(cls, reward: Reward, n_points: int) -> SingleArms:
        """Nothing is known but what the reward declares."""
        lipschitz = np.array(np.broadcast_to(reward.lipschitz, reward.n_arms), np.float64)
        memory = Remembered(reward.n_arms, n_points)
        return cls(memory, lipschitz, monotone=reward.monotone, concave=is_concave(reward))

    def bounds(
        self, theta: FloatArray, most: float, arms: IndexArray | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of f_i(theta_i) for some arms; 0 and ``most`` where nothing is known."""
        lower, upper = self.memory.bounds(
            theta, self.lipschitz[arms], monotone=self.monotone, concave=self.concave, arms=arms
        )
        # Only a budget leaves arms without an answer. For these, assumption 4 gives the bounds.
        known = np.isfinite(lower)
        return np.where(known, lower, 0.0), np.where(known, upper, most)

    def can_look_ahead(self, arms: IndexArray) -> bool:
        """Whether `look_ahead` moves any arm: it needs new arms, and a B that is too large."""
        return self.used <= _PLAINLY_TOO_LARGE and bool((self.memory.n[arms] <= _NEW).any())

    def look_ahead(
        self, arms: IndexArray, theta: FloatArray, low: float, high: float
    ) -> FloatArray:
        """At which means to evaluate arms: new ones at means whose answers serve longer.

        The value at the last place of the set is between ``low`` and ``high``. Judged by the slopes
        so far, an arm that will be left out can be evaluated at a higher mean, and one that will be
        in at a lower mean. The answer then settles all rounds with means in between.
        """
        n, at = self.memory.n[arms], np.arange(len(arms))
        xs, fs = self.memory.x[:, arms], self.memory.f[:, arms]
        right = (xs <= theta).sum(axis=0)
        left = np.maximum(right - 1, 0)
        slope = np.maximum(self.used * self.lipschitz[arms], _TINY)
        # The value at theta, if the slope is as it was so far.
        guess = fs[left, at] + slope * (theta - xs[left, at])
        wanted = theta + _SHORT_OF * (np.clip(guess, low, high) - guess) / slope
        # The answer must be between the neighbours of theta, or it would not bound f_i(theta_i).
        ceiling = np.where(right < n, xs[np.minimum(right, len(xs) - 1), at], 1.0)
        x = np.clip(wanted, xs[left, at], np.minimum(ceiling, 1.0))
        return np.where((n <= _NEW) & (right > 0), x, theta)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {
            "memory": {**self.memory.state(), "lipschitz": self.lipschitz.tolist()},
            "monotone": self.monotone,
            "concave": self.concave,
            "used": self.used,
            "warned": self.warned,
            "empty": self.empty,
            "audits": self.audits.state(),
        }

    @classmethod
    def of(cls, state: dict[str, Any], n_points: int) -> SingleArms:
        """What ``state()`` described."""
        memory = Remembered.of(state["memory"], n_points)
        declared = state["memory"].get("lipschitz", [])
        lipschitz = as_finite(declared, "state's lipschitz", ndim=1, least=0.0)
        if lipschitz.shape != memory.n.shape:
            raise ValueError(
                f"state must have a lipschitz for each of {len(memory.n)} arms, "
                f"got {len(lipschitz)}"
            )
        monotone, concave = bool(state["monotone"]), bool(state["concave"])
        known = cls(memory, lipschitz, monotone=monotone, concave=concave)
        known.used, known.warned = float(state["used"]), bool(state["warned"])
        known.empty = None if state.get("empty") is None else float(state["empty"])
        known.audits = Audits.of(state.get("audits"))
        return known


class Questions:
    """The evaluations of one round: asks the reward, remembers the answers, and compares them."""

    def __init__(self, reward: Reward, known: SingleArms, budget: int | None) -> None:
        self.reward, self.known, self.budget = reward, known, budget
        self.evaluations = 0

    def left(self) -> int:
        """How many evaluations may still be made."""
        return self.reward.n_arms if self.budget is None else max(0, self.budget - self.evaluations)

    def ask_empty(self) -> None:
        """Evaluate the empty set, unless it was evaluated before or the budget is used up."""
        if self.known.empty is None and self.left():
            self.evaluations += 1
            self.known.empty = self.reward([], [])

    def ask(self, arms: IndexArray, x: FloatArray) -> bool:
        """Evaluate arms alone at the means ``x``. Whether a declaration turned out to be wrong."""
        means = np.zeros(self.reward.n_arms)
        means[arms] = x
        values = self.reward.batch(Pools.singletons(arms, len(means)), means)
        self.evaluations += len(arms)
        changed = self.known.concave and self._is_bent(arms, x, values)
        for arm, mean, value in zip(arms.tolist(), x.tolist(), values.tolist(), strict=True):
            for neighbour in self.known.memory.neighbours(arm, mean):
                changed |= self._compare(arm, (mean, value), neighbour)
            self.known.memory.add(arm, mean, value)
        return changed

    def _is_bent(self, arms: IndexArray, x: FloatArray, values: FloatArray) -> bool:
        """Whether an answer is on the wrong side of a chord: the arm is not concave."""
        known, slack = self.known, _ROUNDING * np.abs(values)
        lipschitz, monotone = known.lipschitz[arms], known.monotone
        lower, upper = known.memory.bounds(x, lipschitz, monotone=monotone, concave=True, arms=arms)
        wide_lower, wide_upper = known.memory.bounds(
            x, lipschitz, monotone=monotone, concave=False, arms=arms
        )
        off = (values < lower - slack) | (values > upper + slack)
        # An answer beyond the wide bounds contradicts B or monotone, not concave.
        off &= (values >= wide_lower - slack) & (values <= wide_upper + slack)
        if off.any():
            known.concave = False
            first = np.argmax(off)
            self._warn(
                f"the reward declares concave, but arm {int(arms[first])} alone is worth "
                f"{values[first]!r} at {x[first]!r}, which is beyond a chord of its other values"
            )
        return bool(off.any())

    def _compare(self, arm: int, new: tuple[float, float], old: tuple[float, float]) -> bool:
        """Whether two answers contradict what the reward declares, which is then corrected."""
        (x, f), (x0, f0), known = new, old, self.known
        rise, reach = f - f0, known.lipschitz[arm] * abs(x - x0)
        slack = _ROUNDING * max(abs(f), abs(f0))
        # Points that are too close show nothing about the slope.
        if reach > slack:
            known.used += _NEW_SHARE * (min(1.0, abs(rise) / reach) - known.used)
        too_steep = abs(rise) > reach + slack
        falling = known.monotone and rise * (x - x0) < 0 and abs(rise) > slack
        if not (too_steep or falling):
            return False
        self._refuse_noise(arm, x0, f0, slack)
        what = f"arm {arm} alone is worth {f0!r} at {x0!r} and {f!r} at {x!r}"
        if too_steep:
            factor = abs(rise) / reach if reach > 0 else _RAISE_ZERO
            known.lipschitz *= max(factor, 1.0) * _MARGIN
            # A B of 0 stays 0 under any factor.
            known.lipschitz[arm] = max(known.lipschitz[arm], _MARGIN * abs(rise / (x - x0)))
            self._warn(
                f"the declared lipschitz is too small, by a factor of {factor:.3g} at least: {what}"
            )
        if falling:
            known.monotone = False
            self._warn(f"the reward declares monotone, but {what}")
        return True

    def _refuse_noise(self, arm: int, x: float, f: float, slack: float) -> None:
        """Evaluate an arm once more at the same mean: another answer means a noisy reward."""
        if not self.left():
            return
        self.evaluations += 1
        again = self.reward([arm], [x])
        if abs(again - f) > slack:
            raise ValueError(
                f"the reward answered {f!r} and then {again!r} for arm {arm} alone with mean "
                f"{x!r}: it is noisy or changing (or declares zero_is_absent wrongly), so "
                "remembered answers prove nothing; use Singletons"
            )

    def _warn(self, message: str) -> None:
        if not self.known.warned:
            warnings.warn(f"{message}. LazySingletons corrects the value", stacklevel=6)
        self.known.warned = True
