"""A thread that syncs an edge bandit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from superarm.sessions.pace import Pace

_EARLIER = 0.25  # at most such a part of a wait is cut off at random


class Syncs:
    """Calls ``sync`` in a thread of its own, at the times of a pace.

    Attributes
    ----------
    error
        Why the last sync failed; None if it did not.
    """

    def __init__(self, sync: Callable[[], object], n_unsent: Callable[[], int], pace: Pace) -> None:
        self._sync, self._n_unsent, self._pace = sync, n_unsent, pace
        self._wake, self._end = threading.Event(), threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="superarm-edge", daemon=True)

    def saw(self, n_known: int) -> None:
        """A snapshot was taken now. Waits are cut at random: not all clients sync at once."""
        self._pace.saw(n_known, time.monotonic(), cut=_EARLIER * random.random())

    def closed(self, n_unsent: int) -> None:
        """A decision was closed, so that there are this many to send."""
        if n_unsent == self._pace.n_much:
            self._wake.set()

    def start(self) -> None:
        """Begin to sync."""
        self._thread.start()

    def end(self) -> None:
        """Stop, after the sync that is under way."""
        self._end.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.is_set():
            wait_s = self._pace.due_at(self._n_unsent()) - time.monotonic()
            if wait_s > 0:
                self._wake.wait(wait_s)
                self._wake.clear()
                continue
            try:
                self._sync()
                self.error = None
            except Exception as error:  # whatever it is, the thread must not end unnoticed
                # The client has tried several times by now. The next sync sends the same batch.
                self.error = error
                # Not for `_wake`: decisions that close do not make the service better.
                self._end.wait(self._pace.wait_s)
