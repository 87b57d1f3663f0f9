"""One value of a function that is noisy or fails at times: repeats, retries and a time limit."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray, as_answer
from superarm.core.stopping import may_stop

_LONGEST_PAUSE_S = 60.0
_ADVICE = "If another call may succeed, set retries= of BlackBox"
_ADVICE_ON_INDEX = "It gets the means of its arms only: means[i] is that of arms[i]"


@dataclass(frozen=True)
class Once:
    """Evaluates a function, and names the arms if it fails.

    The error stays the function's own, so that a program can go on catching it.
    """

    fn: Callable[[IndexArray, FloatArray], float]

    def __call__(self, arms: IndexArray, means: FloatArray) -> float:
        """The answer."""
        try:
            return as_answer(self.fn(arms, means))
        except Exception as error:  # the function is the user's and may fail in any way
            error.add_note(f"The reward failed for {_shown(arms, means)}. {_advice(error)}.")
            raise


@dataclass(frozen=True)
class Attempts:
    """Evaluates a function ``repeats`` times, each time again if it fails, and averages.

    A plain object, so that executors can send it to other processes.
    """

    fn: Callable[[IndexArray, FloatArray], float]
    repeats: int
    retries: int
    backoff_s: float
    timeout_s: float | None

    def __call__(self, arms: IndexArray, means: FloatArray) -> tuple[float, int]:
        """The mean of the answers, and how many attempts failed."""
        answers, n_failed = [], 0
        for _ in range(self.repeats):
            answer, failed = self._once(arms, means)
            answers.append(answer)
            n_failed += failed
        return math.fsum(answers) / self.repeats, n_failed

    def _once(self, arms: IndexArray, means: FloatArray) -> tuple[float, int]:
        for failed in range(self.retries + 1):
            may_stop()  # outside of `try`: a request to stop is no failed attempt
            try:
                return self._answer(arms, means), failed
            except Exception as error:  # the function is the user's and may fail in any way
                last = error
            if failed < self.retries:
                # Doubled each time, so that an overloaded service can recover.
                time.sleep(min(_LONGEST_PAUSE_S, self.backoff_s * 2**failed))
        said = f"the reward failed for {_shown(arms, means)}"
        why = f"{type(last).__name__}: {last}"
        if self.retries == 0:
            raise RuntimeError(f"{said} with {why}. {_advice(last)}") from last
        raise RuntimeError(
            f"{said} in all {self.retries + 1} attempts, at last with {why}. More attempts: set "
            f"retries= and backoff_s= of BlackBox higher"
        ) from last

    def _answer(self, arms: IndexArray, means: FloatArray) -> float:
        # Copies: an attempt that writes to its arguments must not spoil the next one.
        args = arms.copy(), means.copy()
        limit = self.timeout_s
        answer = self.fn(*args) if limit is None else in_time(self.fn, args, limit)
        value = as_answer(answer)
        if not math.isfinite(value):
            raise ValueError(f"a reward must be a finite number, got {value}")
        return value


def _advice(error: Exception) -> str:
    return _ADVICE_ON_INDEX if isinstance(error, IndexError) else _ADVICE


def _shown(arms: IndexArray, means: FloatArray) -> str:
    shown, at = (np.array2string(np.asarray(each), threshold=10) for each in (arms, means))
    return f"the arms {shown} with means {at}"


def in_time(fn: Callable[..., Any], args: tuple[Any, ...], timeout_s: float) -> Any:
    """What a function returns or raises; TimeoutError if that takes longer.

    Python cannot end a thread. A function that takes too long goes on in the background, and what
    it returns is not used.

    Examples
    --------
    >>> in_time(max, (1, 2), timeout_s=5.0)
    2
    """
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["answer"] = fn(*args)
        except BaseException as error:  # raised below, in the thread of the caller
            outcome["error"] = error

    # A daemon, so that a function that never returns does not keep the program from ending.
    thread = threading.Thread(target=work, name="superarm-evaluation", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if "error" in outcome:
        raise outcome["error"]
    if "answer" not in outcome:
        raise TimeoutError(f"no answer within {timeout_s:g} s")
    return outcome["answer"]
