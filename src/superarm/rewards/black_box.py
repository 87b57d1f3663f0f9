"""Any function as a reward."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_finite,
    as_positive,
    as_set,
    as_theta,
)
from superarm.core.showing import one_line
from superarm.core.stopping import may_stop

_CHUNKS_PER_WORKER = 4
# For executors other than the standard library's, which have an attribute for it.
_USUAL_WORKERS = 16


class BlackBox:
    """Any function of a set as a reward: a simulator, a model, a paid call.

    The declarations (``lipschitz``, ``upper``, ``monotone``, ``zero_is_absent``, ...) are not
    checked. An oracle that relies on a wrong declaration gives wrong answers;
    ``superarm.testing.check_reward`` finds many of them.

    Parameters
    ----------
    fn
        ``fn(arms, means) -> float``. The arms ascend, and ``means[j]`` is the mean of ``arms[j]``.
    n_arms
        How many arms there are.
    lipschitz
        B of assumption 2: one number, or one per arm.
    upper
        M of assumption 4.
    monotone
        Whether the value of each single arm is non-decreasing in its mean.
    zero_is_absent
        Whether an arm of mean 0 has the same effect as an absent arm.
    concave
        Whether the value of each single arm is concave in its mean.
    diminishing
        Whether a higher mean never lowers the value of a set, and raises it by less when that mean
        or other means are already higher. An absent arm counts as an arm of mean 0.
    executor
        Any ``concurrent.futures.Executor``, to evaluate the sets of a batch in parallel. The
        results do not depend on it. Processes need a picklable ``fn``.

    Examples
    --------
    >>> def largest(arms, means):
    ...     return float(max(means, default=0.0))
    >>> reward = BlackBox(largest, n_arms=3, lipschitz=1, upper=1)
    >>> reward.batch(Pools.of([[0, 1], [2], []], 3), [0.25, 0.5, 0.125])
    array([0.5  , 0.125, 0.   ])
    """

    additive = False

    __repr__ = one_line

    def __init__(
        self,
        fn: Callable[[IndexArray, FloatArray], float],
        *,
        n_arms: int,
        lipschitz: ArrayLike,
        upper: float,
        monotone: bool = False,
        zero_is_absent: bool = False,
        concave: bool = False,
        diminishing: bool = False,
        executor: Executor | None = None,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable as fn(arms, means), got {fn!r}")
        self.fn = fn
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.lipschitz = self._as_lipschitz(lipschitz)
        self.upper = as_positive(upper, "upper")
        self.monotone = monotone
        self.zero_is_absent = zero_is_absent
        self.concave = concave
        self.diminishing = diminishing
        self.executor = executor

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        arms, means = as_set(arms, means, self.n_arms)
        order = np.argsort(arms)
        return float(self.fn(arms[order], means[order]))

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, with the executor if there is one."""
        theta = as_theta(theta, self.n_arms, pools)
        # Copies: a function that writes to its arguments must not change the pools.
        sets = [arms.copy() for arms in pools]
        means = [theta[arms] for arms in sets]
        if self.executor is None:
            values = map(self._value, sets, means)
            return np.fromiter(values, np.float64, len(sets))
        # One message per set would cost more than a quick function. One message per worker would
        # leave workers waiting for the slowest one.
        n_workers = getattr(self.executor, "_max_workers", _USUAL_WORKERS)
        n_chunks = _CHUNKS_PER_WORKER * n_workers
        answers = self.executor.map(self.fn, sets, means, chunksize=max(1, len(sets) // n_chunks))
        return np.fromiter(answers, np.float64, len(sets))

    def _value(self, arms: IndexArray, means: FloatArray) -> float:
        may_stop()  # a batch of slow evaluations may take long
        return self.fn(arms, means)

    def _as_lipschitz(self, lipschitz: ArrayLike) -> float | FloatArray:
        if np.ndim(lipschitz) == 0:
            return as_positive(lipschitz, "lipschitz")
        each = as_finite(lipschitz, "lipschitz", ndim=1, least=0.0)
        if len(each) != self.n_arms or not each.any():
            raise ValueError(
                f"lipschitz must be a number above 0, or {self.n_arms} of them, "
                f"got shape {each.shape}"
            )
        return each
