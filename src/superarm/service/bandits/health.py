"""What the operator of a server should know: failing writes, and a clock that was set."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from superarm.service.log.store import Store, StoreError

_MOST_S = 5.0  # smaller corrections of a clock are the daily work of time servers
_HEALTHY_S = 5.0  # a successful write counts as a sign of health for this long


class Health:
    """The last failure of a database, and when a write last succeeded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failing: StoreError | None = None
        self._written = -math.inf

    def succeeded(self) -> None:
        """A write succeeded."""
        self._failing, self._written = None, time.monotonic()

    def failed(self, error: BaseException) -> None:
        """Something failed; only the database matters here."""
        if isinstance(error, StoreError):
            self._failing = error

    def look(self) -> Literal["ok", "read_only", "failing"]:
        """Whether events can be written. Tries a write if the last one failed or is long ago."""
        if self._failing is not None or time.monotonic() - self._written >= _HEALTHY_S:
            try:
                self._store.check()
                self.succeeded()
            except StoreError as error:
                self.failed(error)
        if self._failing is None:
            return "ok"
        return "read_only" if self._failing.read_only else "failing"


class ClockWatch:
    """Compares a clock with one that is never set.

    Events are never older than the ones before them, so after a jump back they all have one time,
    and after a jump forward open decisions expire. An operator should know.

    Examples
    --------
    >>> now = [100.0]
    >>> watch = ClockWatch(lambda: now[0], steady=lambda: 1.0)
    >>> now[0] = 40.0
    >>> watch.jump(), watch.jump()
    (-60.0, 0.0)
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._steady = clock, steady
        self._ahead = clock() - steady()

    def jump(self) -> float:
        """Seconds by which the clock was set since the last call; 0 for none that matters."""
        ahead = self._clock() - self._steady()
        jumped = ahead - self._ahead
        if abs(jumped) <= _MOST_S:
            return 0.0
        self._ahead = ahead
        return jumped
