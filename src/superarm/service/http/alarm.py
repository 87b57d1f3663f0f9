"""Deadlines that are set anew with every request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Alarm:
    """Calls a function when a time has come, unless it is set anew before.

    A timer per request is expensive. So the timer of an alarm stays when the alarm is set to a
    later time, and looks at the time again when it fires.

    Parameters
    ----------
    loop
        The event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = self._fires = 0.0
        self._call: Callable[[], Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float, call: Callable[[], Any]) -> None:
        """Call a function after some time, and forget what was set before."""
        self._due, self._call = self._loop.time() + seconds, call
        if self._timer is None or self._due < self._fires:
            self._start()

    @property
    def is_set(self) -> bool:
        """Whether a function is to be called."""
        return self._call is not None

    def clear(self) -> None:
        """Call nothing."""
        self._call = None

    def close(self) -> None:
        """Call nothing any more."""
        self._call = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires = self._due
        self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        call = self._call
        if call is None:
            return
        if self._loop.time() < self._due:
            self._start()
            return
        self._call = None
        call()
