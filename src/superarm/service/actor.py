"""A bandit and the requests that wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from superarm.service.events import Bandit
from superarm.service.live import Live
from superarm.service.store import Turn

_TOGETHER = 512  # at most so many requests are taken at once
# What a request does; whether it changes anything; and who waits for its answer.
Operation = Callable[[Live, Turn], Any]
Waiting = tuple[Operation, bool, "asyncio.Future[Any]"]


class Actor:
    """A bandit, what waits for it, and whether a thread is at it."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit = bandit
        self.live: Live | None = None
        self._queue: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def put(self, waiting: Waiting) -> bool:
        """One more request; says whether a thread has to be sent."""
        with self._lock:
            self._queue.append(waiting)
            idle, self._busy = not self._busy, True
            return idle

    def claim(self) -> bool:
        """Keep threads away, if none is at it."""
        with self._lock:
            idle, self._busy = not self._busy, True
            return idle

    def take(self) -> list[Waiting]:
        """What waits now; nothing, and the thread may go."""
        with self._lock:
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), _TOGETHER))]
            self._busy = bool(taken)
            return taken
