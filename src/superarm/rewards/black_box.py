"""Any function as a reward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_finite,
    as_flag,
    as_positive,
    as_set,
    as_theta,
)
from superarm.core.progress import Round, RoundLine, Shows, current_round, one_round
from superarm.core.showing import one_line
from superarm.core.stopping import may_stop
from superarm.rewards._attempts import Attempts, Once

T = TypeVar("T")

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
    noisy
        Whether the same set at the same means can have different values. Oracles that remember
        answers, such as `LazySingletons`, refuse a noisy reward at once.
    repeats
        How many calls of ``fn`` are averaged for one value. Each call counts as an evaluation.
    retries
        How often a call is repeated that raises, takes too long, or returns no finite number. After
        the last retry, RuntimeError names the arms. Without retries the error is that of ``fn``,
        with a note that names the arms.
    backoff_s
        How many seconds to wait before the first retry. The wait doubles with each retry.
    timeout_s
        After how many seconds a call has failed; None for no limit. Such a call goes on in the
        background, because Python cannot end it.
    progress
        True shows how far the evaluations of a round are, in one line of the error stream, if the
        round takes longer than a second. A function is called with a `RoundProgress` instead, up to
        ten times per second and when the round ends. The results do not depend on it.

    Attributes
    ----------
    n_failed
        How many calls have failed so far and were repeated. They do not count as evaluations.

    Examples
    --------
    >>> def largest(arms, means):
    ...     return float(max(means, default=0.0))
    >>> reward = BlackBox(largest, n_arms=3, lipschitz=1, upper=1)
    >>> reward.batch(Pools.of([[0, 1], [2], []], 3), [0.25, 0.5, 0.125])
    array([0.5  , 0.125, 0.   ])

    A simulator with noise, whose values are averages of 100 calls:

    >>> rng = np.random.default_rng(0)
    >>> def simulator(arms, means):
    ...     return float(means.sum() + rng.normal(0, 0.1))
    >>> reward = BlackBox(
    ...     simulator, n_arms=3, lipschitz=1, upper=3, noisy=True, repeats=100, retries=2
    ... )
    >>> round(reward([0, 2], [0.5, 0.25]), 1)
    0.8
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
        noisy: bool = False,
        repeats: int = 1,
        retries: int = 0,
        backoff_s: float = 0.1,
        timeout_s: float | None = None,
        progress: bool | Shows = False,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable as fn(arms, means), got {fn!r}")
        self.fn = fn
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.lipschitz = self._as_lipschitz(lipschitz)
        self.upper = as_positive(upper, "upper")
        self.monotone = as_flag(monotone, "monotone")
        self.zero_is_absent = as_flag(zero_is_absent, "zero_is_absent")
        self.concave = as_flag(concave, "concave")
        self.diminishing = as_flag(diminishing, "diminishing")
        self.executor = executor
        self.noisy = as_flag(noisy, "noisy")
        self.repeats = as_count(repeats, "repeats", least=1)
        self.retries = as_count(retries, "retries")
        self.backoff_s = as_positive(backoff_s, "backoff_s")
        self.timeout_s = None if timeout_s is None else as_positive(timeout_s, "timeout_s")
        if not (isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress must be True, False or a function, got {progress!r}")
        self.progress, self._line = progress, RoundLine()
        self.n_failed = 0

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        arms, means = as_set(arms, means, self.n_arms)
        order = np.argsort(arms)
        arms, means = arms[order], means[order]
        # A single value outside of a round is not worth a line of progress.
        now = current_round() if self.progress else None
        if now is not None:
            now.ask(self.repeats, self._shows)
        if self._is_plain:
            value = Once(self.fn)(arms, means)
        else:
            value = self._averages([self._attempts(arms, means)])[0]
        if now is not None:
            now.done(self.repeats)
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, with the executor if there is one."""
        theta = as_theta(theta, self.n_arms, pools)
        # Copies: a function that writes to its arguments must not change the pools.
        sets = [arms.copy() for arms in pools]
        means = [theta[arms] for arms in sets]
        if not self.progress:
            return self._values(sets, means, None)
        with one_round() as now:
            now.ask(
                len(sets) * self.repeats, self._line if self.progress is True else self.progress
            )
            return self._values(sets, means, now)

    def _values(
        self, sets: list[IndexArray], means: list[FloatArray], now: Round | None
    ) -> FloatArray:
        if self._is_plain:
            answers = self._counted(self._map(Once(self.fn), sets, means), now)
            return np.fromiter(answers, np.float64, len(sets))
        tried = self._counted(self._map(self._attempts, sets, means), now)
        return np.array(self._averages(tried), np.float64)

    def _counted(self, answers: Iterator[T], now: Round | None) -> Iterator[T]:
        return answers if now is None else _showing(answers, now, self.repeats)

    @property
    def _shows(self) -> Shows:
        return self.progress if callable(self.progress) else self._line

    @property
    def _is_plain(self) -> bool:
        return self.repeats == 1 and self.retries == 0 and self.timeout_s is None

    @property
    def _attempts(self) -> Attempts:
        return Attempts(self.fn, self.repeats, self.retries, self.backoff_s, self.timeout_s)

    def _map(
        self,
        evaluate: Callable[[IndexArray, FloatArray], T],
        sets: list[IndexArray],
        means: list[FloatArray],
    ) -> Iterator[T]:
        if self.executor is None:
            return map(_stoppable(evaluate), sets, means)
        # One message per set would cost more than a quick function. One message per worker would
        # leave workers waiting for the slowest one.
        n_workers = getattr(self.executor, "_max_workers", _USUAL_WORKERS)
        n_chunks = _CHUNKS_PER_WORKER * n_workers
        return self.executor.map(evaluate, sets, means, chunksize=max(1, len(sets) // n_chunks))

    def _averages(self, answers: Iterable[tuple[float, int]]) -> list[float]:
        """The averages; the failed attempts are added to ``n_failed``."""
        values = []
        for value, n_failed in answers:
            values.append(value)
            self.n_failed += n_failed
        return values

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


def _showing(answers: Iterator[T], now: Round, n_each: int) -> Iterator[T]:
    """The answers as they come, each counted in the progress of the round."""
    for answer in answers:
        now.done(n_each)
        yield answer


def _stoppable(evaluate: Callable[[IndexArray, FloatArray], T]) -> Callable[..., T]:
    def value(arms: IndexArray, means: FloatArray) -> T:
        may_stop()  # a batch of slow evaluations may take long
        return evaluate(arms, means)

    return value
