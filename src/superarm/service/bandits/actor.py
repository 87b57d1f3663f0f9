"""A bandit and the operations that wait for it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import GivenUpError
from superarm.service.bandits.replies import Reply
from superarm.service.log.events import Bandit
from superarm.service.log.store import Turn

_log = logging.getLogger("superarm.service")
_MOST_TAKEN = 512  # operations that are taken at once

# What a request does to a bandit, or reads from it. Returns the answer.
Operation = Callable[[Live, Turn], Any]
# An operation with the id of its bandit, or why it cannot be carried out.
Wanted = tuple[str, Operation] | Exception


class Waiting(NamedTuple):
    """An operation of a request.

    Attributes
    ----------
    operation
        What it does.
    reply, place
        Where its answer goes.
    reads, deletes
        Whether it changes nothing, and whether it deletes the bandit instead of an operation.
    """

    operation: Operation
    reply: Reply
    place: int = 0
    reads: bool = False
    deletes: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.reply.is_over

    def look(self) -> None:
        """Raise if nobody waits for the answer any more."""
        if self.is_over:
            raise GivenUpError("nobody waits for the answer any more")


class Actor:
    """A bandit with a queue of operations. At most one thread works for it at a time."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit = bandit
        self.live: Live | None = None
        self.is_deleted = False
        self._queue: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def put(self, group: Iterable[Waiting]) -> bool:
        """Add operations. Returns whether the caller has to send a thread."""
        with self._lock:
            self._queue.extend(group)
            # The lock makes the check and the change one step: two threads never work for a bandit.
            idle, self._busy = not self._busy, True
            return idle

    def claim(self) -> bool:
        """Keep other threads away. Returns False if a thread is already at work."""
        with self._lock:
            idle, self._busy = not self._busy, True
            return idle

    def take(self) -> list[Waiting]:
        """The operations that wait now. If there are none, the thread may leave."""
        with self._lock:
            # Under the same lock as `put`, so no operation is left behind by a thread that leaves.
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_TAKEN))]
            self._busy = bool(taken)
            return taken


def look_all(batch: list[Waiting]) -> None:
    """Raise if nobody waits for any of these answers any more."""
    if all(waiting.is_over for waiting in batch):
        raise GivenUpError("nobody waits for the answers any more")


def resolve(done: list[Waiting], answers: list[Any]) -> None:
    """Give operations their answers, which may be exceptions."""
    for waiting, answer in zip(done, answers, strict=True):
        try:
            waiting.reply.put(waiting.place, answer)
        except Exception:  # the answers behind it belong to other requests
            _log.exception("answer_failed")
