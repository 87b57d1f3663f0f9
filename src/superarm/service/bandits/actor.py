"""A bandit and the requests that wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import GivenUpError
from superarm.service.log.events import Bandit
from superarm.service.log.store import Turn

_MOST_TAKEN = 512  # requests that are taken at once

# What a request does to a bandit, or reads from it. Returns the answer.
Operation = Callable[[Live, Turn], Any]


class Waiting(NamedTuple):
    """A request.

    Attributes
    ----------
    operation, writes
        What it does, and whether that changes anything.
    future
        That of its answer. If it has ended, nobody waits for the answer any more.
    gone
        Whether the client has left.
    deletes
        Whether it deletes the bandit, instead of an operation.
    """

    operation: Operation
    writes: bool
    future: asyncio.Future[Any]
    gone: Callable[[], bool]
    deletes: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.future.done() or self.gone()

    def look(self) -> None:
        """Raise if nobody waits for the answer any more."""
        if self.is_over:
            raise GivenUpError("nobody waits for the answer any more")


class Actor:
    """A bandit with a queue of requests. At most one thread works for it at a time."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit = bandit
        self.live: Live | None = None
        self.is_deleted = False
        self._queue: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def put(self, waiting: Waiting) -> bool:
        """Add a request. Returns whether the caller has to send a thread."""
        with self._lock:
            self._queue.append(waiting)
            # The lock makes the check and the change one step: two threads never work for a bandit.
            idle, self._busy = not self._busy, True
            return idle

    def claim(self) -> bool:
        """Keep other threads away. Returns False if a thread is already at work."""
        with self._lock:
            idle, self._busy = not self._busy, True
            return idle

    def take(self) -> list[Waiting]:
        """The requests that wait now. If there are none, the thread may leave."""
        with self._lock:
            # Under the same lock as `put`, so no request is left behind by a thread that leaves.
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_TAKEN))]
            self._busy = bool(taken)
            return taken


def look_all(batch: list[Waiting]) -> None:
    """Raise if nobody waits for any of these answers any more."""
    if all(waiting.is_over for waiting in batch):
        raise GivenUpError("nobody waits for the answers any more")


def resolve(done: list[Waiting], answers: list[Any]) -> None:
    """Give requests their answers, which may be exceptions."""
    for waiting, answer in zip(done, answers, strict=True):
        if waiting.future.done():  # the client has gone
            continue
        if isinstance(answer, Exception):
            waiting.future.set_exception(answer)
        else:
            waiting.future.set_result(answer)
