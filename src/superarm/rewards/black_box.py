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


class BlackBox:
    """A function of a set as a reward: a simulator, a model, a paid call.

    What it declares (``lipschitz``, ``upper``, ``monotone``, ``zero_is_absent``, ...) is taken on trust: an oracle that
    relies on a wrong declaration gives wrong answers.

    Parameters
    ----------
    fn
        ``fn(arms, means) -> float``; the arms ascend, and ``means[j]`` is the mean of ``arms[j]``.
    n_arms
        How many arms there are.
    lipschitz
        B of assumption 2, one number or one for each arm.
    upper
        M of assumption 4.
    monotone
        Whether the value of each single arm is non-decreasing in its mean.
    zero_is_absent
        Whether an arm of mean 0 is worth the same as an absent one.
    concave
        Whether the value of each single arm is concave in its mean.
    diminishing
        Whether raising a mean never lowers the value of a set, and raises it by less where that mean or others are
        higher, an absent arm being one of mean 0.
    executor
        Evaluates the sets of a batch side by side: any ``concurrent.futures.Executor``. Without one, one by one.
        The answers come in the same order either way. Processes need a picklable ``fn``.

    Examples
    --------
    >>> reward = BlackBox(lambda arms, means: float(max(means, default=0.0)), n_arms=3, lipschitz=1, upper=1)
    >>> reward.batch(Pools.of([[0, 1], [2], []], 3), [0.25, 0.5, 0.125])
    array([0.5  , 0.125, 0.   ])
    """

    additive = False

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
        """The values of many sets, through the executor if there is one."""
        theta = as_theta(theta, self.n_arms, pools)
        # Copies: a function that writes into its arguments must not change the pools.
        sets = [arms.copy() for arms in pools]
        means = [theta[arms] for arms in sets]
        if self.executor is None:
            return np.fromiter(map(self.fn, sets, means), np.float64, len(sets))
        # A few chunks a worker: a message for each set would cost more than a quick function, and one for each worker
        # would leave it waiting for the slowest. The standard library's pools know how many they are.
        n_chunks = 4 * getattr(self.executor, "_max_workers", 16)
        answers = self.executor.map(self.fn, sets, means, chunksize=max(1, len(sets) // n_chunks))
        return np.fromiter(answers, np.float64, len(sets))

    def _as_lipschitz(self, lipschitz: ArrayLike) -> float | FloatArray:
        if np.ndim(lipschitz) == 0:
            return as_positive(lipschitz, "lipschitz")
        each = as_finite(lipschitz, "lipschitz", ndim=1, least=0.0)
        if len(each) != self.n_arms or not each.any():
            raise ValueError(
                f"lipschitz must be a number above 0, or {self.n_arms} of them, got shape {each.shape}"
            )
        return each
