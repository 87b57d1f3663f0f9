"""A reward that counts its evaluations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray
from superarm.core.optional import evaluations_per_value, is_concave, is_diminishing, is_noisy
from superarm.core.pools import Pools
from superarm.core.protocols import Reward
from superarm.core.stopping import may_stop


class Counted:
    """A reward that counts its evaluations, and refuses answers that are not finite numbers.

    `Policy` wraps it around the reward that it is given. Evaluations are counted nowhere else.
    """

    def __init__(self, reward: Reward) -> None:
        self.uncounted = reward
        self.n_arms = reward.n_arms
        self.evaluations = 0

    def __repr__(self) -> str:
        return f"{self.uncounted!r}"

    lipschitz = property(lambda self: self.uncounted.lipschitz)
    upper = property(lambda self: self.uncounted.upper)
    monotone = property(lambda self: self.uncounted.monotone)
    zero_is_absent = property(lambda self: self.uncounted.zero_is_absent)
    additive = property(lambda self: self.uncounted.additive)
    concave = property(lambda self: is_concave(self.uncounted))
    diminishing = property(lambda self: is_diminishing(self.uncounted))
    noisy = property(lambda self: is_noisy(self.uncounted))
    repeats = property(lambda self: evaluations_per_value(self.uncounted))

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; counts one evaluation, or as many as the reward averages."""
        may_stop()
        self.evaluations += evaluations_per_value(self.uncounted)
        value = float(self.uncounted(arms, means))
        if not np.isfinite(value):
            raise ValueError(
                f"a reward must be a finite number, got {value} for the arms {shown_arms(arms)}"
                f"{self._advice()}"
            )
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; counts one evaluation per set, times ``repeats`` if it has."""
        may_stop()
        self.evaluations += len(pools) * evaluations_per_value(self.uncounted)
        values = np.asarray(self.uncounted.batch(pools, theta), np.float64)
        if values.shape != (len(pools),):
            raise ValueError(
                f"a reward's batch must have shape ({len(pools)},), one value per pool, "
                f"got {values.shape}"
            )
        if not np.isfinite(values).all():
            worst = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"a reward must be a finite number, got {values[worst]} "
                f"for the arms {shown_arms(pools[worst])}{self._advice()}"
            )
        return values

    def _advice(self) -> str:
        """What to do about an answer that is no finite number."""
        can_retry = getattr(self.uncounted, "retries", None) == 0
        return "; if another call may succeed, set retries= of BlackBox" if can_retry else ""


def shown_arms(arms: ArrayLike) -> str:
    """Some arms as an error message shows them."""
    return np.array2string(np.asarray(arms), threshold=10)
