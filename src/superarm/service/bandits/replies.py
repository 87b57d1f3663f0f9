"""What a request waits for: the answers to its operations."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
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

    Examples
    --------
    >>> class Printed(Reply):
    ...     def end(self, answers):
    ...         print(answers)
    >>> reply = Printed(2)
    >>> reply.put(1, "second")
    >>> reply.put(0, "first")
    ['first', 'second']
    >>> reply.is_over
    True
    """

    def __init__(self, n: int) -> None:
        self._answers, self._n_missing = [_MISSING] * n, n

    def end(self, answers: list[Any]) -> None:
        """Called with all answers, once."""
        raise NotImplementedError

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return not self._n_missing

    def put(self, place: int, answer: Any) -> None:
        """Add the answer of one operation, which may be an exception."""
        if not self._n_missing:  # given up
            return
        self._answers[place] = answer
        self._n_missing -= 1
        if not self._n_missing:
            answers, self._answers = self._answers, []  # a request may live longer than its answers
            self.end(answers)

    def give_up(self, problem: Problem) -> None:
        """Answer all operations that have no answer yet."""
        if self._n_missing:
            self._n_missing = 0
            answers, self._answers = self._answers, []
            self.end([problem if one is _MISSING else one for one in answers])


class Awaited(Reply):
    """The reply to the request of the task that runs. ``future`` has the answers."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._has_left = CLIENT_GONE.get()

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        # A task that is cancelled cancels the future.
        return self.future.done() or self._has_left()

    def end(self, answers: list[Any]) -> None:
        """Fulfil the future."""
        if not self.future.done():
            self.future.set_result(answers)


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
