"""The values of the chosen sets at the true means."""

from __future__ import annotations

import math

import numpy as np

from superarm.core import Environment, Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import KnownBest, KnownMeans


class TrueValues:
    """The value of each round's set, and the best value, at the true means of that round.

    Rounds with the same means are valued together once the means change, so memory does not grow
    with the number of changes.

    Parameters
    ----------
    environment, reward
        The environment, and the reward of the sets.
    arms, outcomes
        Shape (T, k): the arrays that `simulate` fills round by round.
    """

    def __init__(
        self, environment: Environment, reward: Reward, arms: IndexArray, outcomes: FloatArray
    ) -> None:
        # Checked once: these checks take microseconds, and `before_round` is called in each round.
        self._with_mu = environment if isinstance(environment, KnownMeans) else None
        self._with_best = environment if isinstance(environment, KnownBest) else None
        self.reward, self.arms, self.outcomes = reward, arms, outcomes
        self.values, self.best = np.empty(len(arms)), np.empty(len(arms))
        self._start = 0
        self._mu: FloatArray | None = None
        self._best_value = math.nan

    def before_round(self, t: int) -> None:
        """Note the true means and the best value that round t is played with."""
        mu = None if self._with_mu is None else self._with_mu.mu
        best_value = math.nan if self._with_best is None else self._with_best.best_value
        # The same object in almost every round, which is quicker to see than equality.
        is_same_best = best_value is self._best_value or np.array_equal(
            best_value, self._best_value, equal_nan=True
        )
        if mu is not self._mu or not is_same_best:
            self._finish(t)
            self._mu, self._best_value = mu, best_value

    def result(self) -> tuple[FloatArray, float | FloatArray]:
        """The values, shape (T,), and the best value: one number if it never changed."""
        self._finish(len(self.arms))
        constant = np.full(len(self.best), self._best_value)
        is_constant = np.array_equal(self.best, constant, equal_nan=True)
        return self.values, self._best_value if is_constant else self.best

    def _finish(self, stop: int) -> None:
        """Value the rounds since the last change, up to but not including ``stop``."""
        rounds = slice(self._start, stop)
        if self._start < stop:
            self.values[rounds] = _values(
                self.reward, self._mu, self.arms[rounds], self.outcomes[rounds]
            )
            self.best[rounds] = self._best_value
        self._start = stop


def _values(
    reward: Reward, mu: FloatArray | None, arms: IndexArray, outcomes: FloatArray
) -> FloatArray:
    """The values of sets at the means mu; without mu, at the outcomes that were seen."""
    if mu is None:
        is_seen = ~np.isnan(outcomes)
        rows = zip(arms, outcomes, is_seen, strict=True)
        return np.array([reward(row[seen], did[seen]) for row, did, seen in rows])
    # The same sets return again and again; an expensive reward is evaluated once for each of them.
    distinct, which = np.unique(np.sort(arms, axis=1), axis=0, return_inverse=True)
    is_arm = distinct >= 0
    offsets = np.append(0, np.cumsum(is_arm.sum(axis=1)))
    return reward.batch(Pools(distinct[is_arm], offsets, reward.n_arms), mu)[which.ravel()]
