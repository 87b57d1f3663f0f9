"""Evaluations of a reward that may do anything: raise, answer NaN, or return a wrong shape."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pickle import PicklingError
from typing import NamedTuple

import numpy as np

from superarm.advice import settings
from superarm.advice.asking import Ask
from superarm.advice.progress import StopProbing
from superarm.advice.results import Witness
from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.declarations import SameDeclarations
from superarm.core.stopping import may_stop
from superarm.rewards import BlackBox

_LARGE = 10  # batches of at least this many sets are timed, if there are any
_KEPT = 5  # failed questions that are asked again at the end


class _Answer(NamedTuple):
    """Values of one call, what went wrong with the whole call, and its seconds."""

    values: list[float]
    failure: str | None
    took_s: float


# The future of some calls, and which of them it is.
_Place = tuple[Future[list[_Answer]], int]


class Evaluator:
    """Evaluates a reward, counts and times the evaluations, and keeps the first failure.

    Ends the work with `StopProbing` if the reward fails again and again in the same way, and hardly
    ever answers.

    Parameters
    ----------
    reward
        Any reward.
    executor
        Where the calls of one `answer` run, in parallel; here, one after the other, by default.
    before
        Called before every call that runs here, with the number of evaluations that have been
        made. It may raise, which ends the work.

    Attributes
    ----------
    n_evaluated, n_failed
        How many sets were evaluated, and how many of them did not give a finite number.
    failure
        The first set that did not; None if there was none.
    n_again, n_recovered
        How many failed questions were asked again, and how many of them then had an answer.
    """

    def __init__(
        self,
        reward: Reward,
        executor: Executor | None = None,
        before: Callable[[int], None] | None = None,
    ) -> None:
        self.reward = reward
        self.n_arms = int(reward.n_arms)
        self.n_evaluated = self.n_failed = 0
        self.failure: Witness | None = None
        self.n_again = self.n_recovered = 0
        self._n_failures: Counter[str] = Counter()
        self._executor, self._before = executor, before
        self._failed: list[tuple[IndexArray, FloatArray]] = []
        # One failed set fails its whole batch. A black box makes one call per set anyway.
        inner = reward.uncounted if isinstance(reward, SameDeclarations) else reward
        self._splits = isinstance(inner, BlackBox) and inner.executor is None
        self._single_s: list[float] = []
        self._batch_s: list[tuple[float, int]] = []

    def answer(self, asks: Sequence[Ask]) -> list[FloatArray]:
        """The values of each ask, shape (len(ask.sets),); NaN where the reward fails."""
        if self._executor is None:
            return [self._serially(ask) for ask in asks]
        calls = [self._calls(ask) for ask in asks]
        self._look()
        futures = [self._submitted(self._executor, parts) for parts in calls]
        try:
            return self._collected(calls, futures)
        except (PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"the executor can't send the reward to its processes ({error}); use a reward "
                f"made of functions of a module, or a ThreadPoolExecutor"
            ) from error
        finally:
            for future, _ in (one for row in futures for one in row):
                future.cancel()  # which has no effect on finished calls

    def _submitted(self, executor: Executor, parts: list[Ask]) -> list[_Place]:
        """Where the answer to each part will be. Equal questions go to the same worker.

        Workers may have copies of one generator, and noise would be the same in all of them.
        """
        groups: dict[tuple[bytes, ...], list[int]] = {}
        for j, part in enumerate(parts):  # one batch, or single sets
            arms, means = _sorted(part.sets[0], part.means[0])
            groups.setdefault((arms.tobytes(), means.tobytes()), []).append(j)
        places: dict[int, _Place] = {}
        for group in groups.values():
            future = executor.submit(_call_all, self.reward, [parts[j] for j in group])
            places.update((j, (future, number)) for number, j in enumerate(group))
        return [places[j] for j in range(len(parts))]

    def _collected(self, calls: list[list[Ask]], places: list[list[_Place]]) -> list[FloatArray]:
        found = []
        for parts, row in zip(calls, places, strict=True):
            values = [
                self._kept(part, future.result()[number])
                for part, (future, number) in zip(parts, row, strict=True)
            ]
            found.append(np.concatenate(values))
        return found

    def ask_again(self, most: int) -> None:
        """Repeat up to ``most`` failed questions, to see whether they fail every time."""
        if self.n_again:
            return
        for arms, means in self._failed[: max(0, most)]:
            self._look()
            answer = _call(self.reward, Ask([arms], [means], None, [True]))
            self.n_evaluated += 1
            self.n_again += 1
            failed = answer.failure is not None or not math.isfinite(answer.values[0])
            self.n_failed += failed
            self.n_recovered += not failed

    def single_s(self) -> float | None:
        """The median seconds of a single call; None if no call succeeded."""
        return float(np.median(self._single_s)) if self._single_s else None

    def batch_s(self) -> float | None:
        """Seconds per set in a batch; None if no batch succeeded."""
        # The fixed cost of a call would dominate small batches.
        larger = [took for took in self._batch_s if took[1] >= _LARGE] or self._batch_s
        return sum(s for s, _ in larger) / sum(n for _, n in larger) if larger else None

    def _serially(self, ask: Ask) -> FloatArray:
        if ask.theta is not None and not (ask.split and self._splits):
            self._look()
            answer = _call(self.reward, ask)
            if answer.failure is None or not ask.split or len(ask.sets) < 2:
                return self._kept(ask, answer)
            self._splits = True  # from now on, so that one failure does not hide other answers
        values = np.empty(len(ask.sets))
        for j, (arms, means, sort) in enumerate(zip(ask.sets, ask.means, ask.sort, strict=True)):
            self._look()
            value, failure, took_s = _single(self.reward, arms, means, sort)
            self.n_evaluated += 1
            if failure is None:
                self._single_s.append(took_s)
            if not math.isfinite(value):
                value = self._fail(*_sorted(arms, means), failure or f"answered {value}")
            values[j] = value
        return values

    def _look(self) -> None:
        may_stop()
        if self._before is not None:
            self._before(self.n_evaluated)

    def _calls(self, ask: Ask) -> list[Ask]:
        """The calls that run in parallel."""
        return [ask] if ask.theta is not None and not ask.split else _one_by_one(ask)

    def _kept(self, ask: Ask, answer: _Answer) -> FloatArray:
        """The values of one call, counted."""
        n, how = len(ask.sets), "" if ask.theta is None else " in a batch"
        if answer.failure is None and ask.theta is None:
            self._single_s.append(answer.took_s)
        elif answer.failure is None:
            self._batch_s.append((answer.took_s, n))
        values = np.array(answer.values) if answer.failure is None else np.full(n, np.nan)
        # One by one, so that the work ends at the same set, in one batch or in single calls.
        for j, value in enumerate(values.tolist()):
            self.n_evaluated += 1
            if not math.isfinite(value):
                what = answer.failure or f"answered {value}{how}"
                values[j] = self._fail(*_sorted(ask.sets[j], ask.means[j]), what)
        return values

    def _fail(self, arms: IndexArray, means: FloatArray, what: str) -> float:
        self.n_failed += 1
        if len(self._failed) < _KEPT:
            self._failed.append((arms, means))
        if self.failure is None:
            self.failure = Witness.of([arms], [means], [float("nan")], f"the reward {what}")
        # Messages may name arms. What comes before them is the kind of failure.
        kind = what.partition(":")[0].removesuffix(" in a batch")
        self._n_failures[kind] += 1
        n_answers = self.n_evaluated - self.n_failed
        if (
            self._n_failures[kind] >= settings.N_FAILURES
            and n_answers <= (1 - settings.FAILING) * self.n_evaluated
        ):
            raise StopProbing
        return math.nan


def _one_by_one(ask: Ask) -> list[Ask]:
    return [
        Ask([arms], [means], None, [sort])
        for arms, means, sort in zip(ask.sets, ask.means, ask.sort, strict=True)
    ]


def _call_all(reward: Reward, asks: list[Ask]) -> list[_Answer]:
    """Calls one after the other, in another process perhaps."""
    return [_call(reward, ask) for ask in asks]


def _call(reward: Reward, ask: Ask) -> _Answer:
    """One call of the reward: of one set, or of a batch. It may run in another process."""
    if ask.theta is None:
        value, failure, took_s = _single(reward, ask.sets[0], ask.means[0], ask.sort[0])
        return _Answer([] if failure else [value], failure, took_s)
    start = time.perf_counter()
    try:
        pools = Pools.of(ask.sets, reward.n_arms)
        given = np.array(reward.batch(pools, ask.theta.copy()), np.float64)
        if given.shape != (len(ask.sets),):
            what = f"gave a batch of shape {given.shape} for {len(ask.sets)} sets"
            return _Answer([], what, 0.0)
        values = given.tolist()
    except Exception as error:  # any failure is reported, and the inspection goes on
        return _Answer([], _raised(error), 0.0)
    return _Answer(values, None, time.perf_counter() - start)


def _single(
    reward: Reward, arms: IndexArray, means: FloatArray, sort: bool
) -> tuple[float, str | None, float]:
    """The value of one set, what went wrong if there is none, and the seconds of the call."""
    start = time.perf_counter()
    try:
        # Copies, because the reward may write into its arguments.
        arms, means = _sorted(arms, means) if sort else (arms.copy(), means.copy())
        value = float(reward(arms, means))
    except Exception as error:  # any failure is reported, and the inspection goes on
        return math.nan, _raised(error), 0.0
    return value, None, time.perf_counter() - start


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {error}"


def _sorted(arms: IndexArray, means: FloatArray) -> tuple[IndexArray, FloatArray]:
    order = arms.argsort()
    return arms[order], means[order]
