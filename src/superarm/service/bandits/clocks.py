"""Notice a clock that is set while the server runs."""

from __future__ import annotations

import time
from collections.abc import Callable

_MOST_S = 5.0  # smaller corrections are the daily work of time servers


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


class Clock:
    """The time of the event that is being made or applied."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now
