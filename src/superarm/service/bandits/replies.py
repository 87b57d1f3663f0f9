"""What a request waits for: the answers to its operations."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from superarm.service.bandits.patience import CLIENT_GONE, too_late
from superarm.service.problems import Problem

_MISSING: Any = object()


class Reply:
    """The answers to the operations of one request, in their order.

    Only the event loop changes it. Threads look at `is_over`.

    Parameters
    ----------
    n
        The number of operations.
    gone
        Says whether the client has left.
    end
        Called with all answers, once.

    Examples
    --------
    >>> reply = Reply(2, gone=lambda: False, end=print)
    >>> reply.put(1, "second")
    >>> reply.put(0, "first")
    ['first', 'second']
    >>> reply.is_over
    True
    """

    __slots__ = ("_answers", "_end", "_gone", "_n_missing")

    def __init__(self, n: int, gone: Callable[[], bool], end: Callable[[list[Any]], None]) -> None:
        self._answers, self._n_missing = [_MISSING] * n, n
        self._gone, self._end = gone, end

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return not self._n_missing or self._gone()

    def put(self, place: int, answer: Any) -> None:
        """Add the answer of one operation, which may be an exception."""
        if not self._n_missing:  # given up
            return
        self._answers[place] = answer
        self._n_missing -= 1
        if not self._n_missing:
            self._finish(self._answers)

    def give_up(self, problem: Problem) -> None:
        """Answer all operations that have no answer yet."""
        if self._n_missing:
            self._n_missing = 0
            self._finish([problem if one is _MISSING else one for one in self._answers])

    def _finish(self, answers: list[Any]) -> None:
        end, self._end, self._answers = self._end, _nothing, []
        # Nothing refers to the request any more, so the garbage collector has no work with it.
        self._gone = _over
        end(answers)


def _nothing(answers: list[Any]) -> None:
    """Do nothing with answers."""


def _over() -> bool:
    return True


def awaited(n: int) -> tuple[asyncio.Future[list[Any]], Reply]:
    """A future of n answers for the task that runs, and the reply that fulfils it."""
    future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
    has_left = CLIENT_GONE.get()

    def gone() -> bool:
        # A task that is cancelled cancels the future.
        return future.done() or has_left()

    def end(answers: list[Any]) -> None:
        if not future.done():
            future.set_result(answers)

    return future, Reply(n, gone, end)


@contextlib.contextmanager
def within(seconds: float, reply: Reply) -> Iterator[None]:
    """Give a reply up after some time; 0 for never."""
    if not seconds:
        yield
        return
    timer = asyncio.get_running_loop().call_later(seconds, lambda: reply.give_up(too_late(seconds)))
    try:
        yield
    finally:
        timer.cancel()


def only(answers: list[Any]) -> Any:
    """The answer to the only operation of a request. Raises it if it is an exception."""
    (answer,) = answers
    if isinstance(answer, Exception):
        raise answer
    return answer
