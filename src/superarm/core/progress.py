"""How far the evaluations of one round are.

A reward that is asked to show progress counts its evaluations in the current `one_round`. Policies
begin a round per decision. Oracles say how many evaluations there can be at most, and what is still
undecided. Nothing is drawn, kept or decided here, so results do not depend on it.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

_EVERY_S = 0.1  # between two calls of a function that shows progress
_AFTER_S = 1.0  # before the first line: quick rounds show nothing
_LOG_EVERY_S = 30.0  # between two lines in a file, where they can't replace each other


@dataclass(frozen=True)
class RoundProgress:
    """How far the evaluations of one round are.

    Attributes
    ----------
    evaluations
        How many evaluations of this round are done.
    asked
        How many the oracle has asked for so far. It may ask for more later.
    most
        How many the oracle may ask for at most; None if it has no budget.
    undecided
        What the oracle does not know yet, such as "3 of 40 arms"; empty if it does not say.
    elapsed_s
        Seconds since the first evaluation of the round was asked for.
    ended
        Whether the round is over.
    failed
        Whether it ended with an error, or was interrupted.

    Examples
    --------
    >>> print(RoundProgress(1200, 1300, 100_000, "3 of 40 arms", 30.0))
    1,200 of at most 100,000 evaluations, 40/s, undecided: 3 of 40 arms
    """

    evaluations: int
    asked: int
    most: int | None
    undecided: str
    elapsed_s: float
    ended: bool = False
    failed: bool = False

    @property
    def per_s(self) -> float:
        """Evaluations per second."""
        return self.evaluations / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def __str__(self) -> str:
        of = f"{self.asked:,}" if self.most is None else f"at most {self.most:,}"
        rate = f"{self.per_s:,.0f}" if self.per_s >= 10 else f"{self.per_s:.2g}"
        said = f"{self.evaluations:,} of {of} evaluations, {rate}/s"
        return f"{said}, undecided: {self.undecided}" if self.undecided else said


Shows = Callable[[RoundProgress], None]


class Round:
    """The evaluations of a round, as rewards count them and oracles explain them."""

    __slots__ = ("_last_s", "_shows", "_start", "asked", "evaluations", "most", "undecided")

    def __init__(self) -> None:
        self.evaluations = self.asked = 0
        self.most: int | None = None
        self.undecided: Callable[[], str] | None = None
        self._shows: Shows | None = None
        self._start = self._last_s = 0.0

    def budget(self, most: int) -> None:
        """Say how many evaluations there are at most. Of nested oracles, the outermost knows."""
        self.most = most if self.most is None else self.most

    def ask(self, n: int, shows: Shows) -> None:
        """Begin n evaluations that are to be shown."""
        if self._shows is None:
            self._start = self._last_s = time.perf_counter()
        self._shows = shows
        self.asked += n

    def done(self, n: int) -> None:
        """Count n evaluations, and show them now and then."""
        self.evaluations += n
        now = time.perf_counter()
        if now - self._last_s >= _EVERY_S:
            self._last_s = now
            self._show(now)

    def end(self, *, failed: bool) -> None:
        """Show how the round ended, if its evaluations are shown at all."""
        self._show(time.perf_counter(), ended=True, failed=failed)

    def _show(self, now: float, **how: bool) -> None:
        if self._shows is not None:
            undecided = "" if self.undecided is None else self.undecided()
            counts = self.evaluations, self.asked, self.most
            self._shows(RoundProgress(*counts, undecided, now - self._start, **how))


# A context variable: threads and tasks that work at the same time each have their own round.
_ROUND: ContextVar[Round | None] = ContextVar("superarm_round", default=None)


def current_round() -> Round | None:
    """The round that goes on in this thread; None between rounds."""
    return _ROUND.get()


class one_round:  # noqa: N801 - used like a function
    """The round that goes on, or a new one that ends with the block.

    Examples
    --------
    >>> with one_round() as outer:
    ...     with one_round() as inner:
    ...         print(inner is outer)
    True
    """

    # A class, because a context manager that is a generator takes several times as long.
    __slots__ = ("_before", "_own")

    def __enter__(self) -> Round:
        now = _ROUND.get()
        self._own: Round | None = None
        if now is None:
            now = self._own = Round()
            self._before = _ROUND.set(now)
        return now

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._own is not None:
            _ROUND.reset(self._before)
            self._own.end(failed=kind is not None)


class RoundLine:
    """Shows a round in one line of the error stream, if it takes longer than a second.

    On a terminal and in a notebook the line is replaced, and removed when the round ends. In a file
    there is a new line every 30 seconds.
    """

    def __init__(self) -> None:
        self._width, self._next_s = 0, _LOG_EVERY_S

    def __call__(self, progress: RoundProgress) -> None:
        """Show it."""
        stream = sys.stderr  # looked up late: notebooks replace it
        if stream is None:
            return  # a program without a console
        if not _replaces_lines(stream):
            if progress.ended:
                self._next_s = _LOG_EVERY_S
            elif progress.elapsed_s >= self._next_s:
                self._next_s = progress.elapsed_s + _LOG_EVERY_S
                print(progress, file=stream, flush=True)
        elif not progress.ended:
            if progress.elapsed_s >= _AFTER_S:
                # A line that is broken into two could not be replaced.
                text = str(progress)[: shutil.get_terminal_size().columns - 1]
                stream.write(f"\r{text.ljust(self._width)}")  # blanks cover a longer text
                stream.flush()
                self._width = len(text)
        elif self._width:
            # After an interruption the line stays, above the error.
            stream.write("\n" if progress.failed else f"\r{' ' * self._width}\r")
            stream.flush()
            self._width = 0


def _replaces_lines(stream: Any) -> bool:
    """Whether a stream is a terminal or a cell of a notebook."""
    return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel")
