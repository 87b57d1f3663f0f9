"""How far an inspection is, what it may still cost, and how it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from superarm.advice.text import shown_s

_EVERY_S = 0.1  # between two lines on a terminal


class StopProbing(Exception):  # noqa: N818 (no error: the report is made of what is known)
    """The caller wants the inspection to end."""


@dataclass(frozen=True)
class Progress:
    """How far an inspection is.

    Attributes
    ----------
    evaluations, most
        How many evaluations have been made, and how many there may be.
    about
        What is being probed.
    first_s
        Seconds that the first evaluation took; None before it.
    elapsed_s
        Seconds since the start.
    each
        How many evaluations one value takes: ``repeats`` of the reward.
    """

    evaluations: int
    most: int
    about: str
    first_s: float | None
    elapsed_s: float
    each: int = 1

    @property
    def most_s(self) -> float | None:
        """Seconds that all evaluations may take, one after the other, by the first one."""
        return None if self.first_s is None else self.most * self.first_s

    def __str__(self) -> str:
        if self.first_s is None:
            return f"at most {self.most:,} evaluations"
        if self.evaluations <= self.each:
            return (
                f"at most {self.most:,} evaluations, about {shown_s(self.most_s)} in all, "
                f"since the first took {shown_s(self.first_s)}"
            )
        return f"{self.evaluations:,} of at most {self.most:,} evaluations: {self.about}"


Shows = Callable[[Progress], None]


class ProgressLine:
    """Shows progress on one line of a terminal or a notebook, and the cost on a line before it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._last_s, self._width = -_EVERY_S, 0

    def __call__(self, progress: Progress) -> None:
        """Show it."""
        stream = self._stream or sys.stderr  # looked up late: notebooks replace it
        done = progress.evaluations >= progress.most
        soon = progress.elapsed_s - self._last_s < _EVERY_S
        if progress.evaluations > progress.each and not done and soon:
            return
        self._last_s = progress.elapsed_s
        text = str(progress)
        # Blanks cover what is left of a longer text.
        stream.write(f"\r{text.ljust(self._width)}")
        self._width = len(text)
        if progress.evaluations == progress.each:
            stream.write("\n")
            self._width = 0
        stream.flush()


class Watch:
    """Looks before every value whether to stop, and shows how far the inspection is.

    ``most`` is the largest number of values, and ``each`` how many evaluations a value takes.
    """

    def __init__(
        self,
        most: int,
        should_stop: Callable[[], bool] | None,
        shows: Shows | None,
        each: int = 1,
    ) -> None:
        for name, given in (("should_stop", should_stop), ("progress", shows)):
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be a function, got {given!r:.60}")
        self.most, self.about, self.each = most, "ordinary values", each
        self.first_s: float | None = None
        self._should_stop, self._shows = should_stop, shows
        self._start = time.perf_counter()

    def look(self, n_evaluated: int) -> None:
        """Show the progress; raise `StopProbing` if the work is to stop."""
        self.show(n_evaluated)
        if self._should_stop is not None and self._should_stop():
            raise StopProbing

    def show(self, n_evaluated: int) -> None:
        """Show the progress."""
        if self._shows is not None:
            elapsed_s = time.perf_counter() - self._start
            first_s = None if self.first_s is None else self.first_s / self.each
            n, most = self.each * n_evaluated, self.each * self.most
            self._shows(Progress(n, most, self.about, first_s, elapsed_s, self.each))

    def end(self, n_evaluated: int) -> None:
        """Show that the inspection has ended."""
        self.most, self.about = n_evaluated, "done"
        self.show(n_evaluated)
