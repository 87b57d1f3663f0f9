"""Stop long work from outside.

Work that may take long calls `may_stop` between its pieces: before every evaluation of a reward,
every decision and every sample. A program that wants to stop such work, such as a server whose
client has left, runs it in ``with stopping(look)``, and ``look`` raises when it is time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

# What `may_stop` calls. A context variable: threads and tasks that work at the same time each have
# their own.
LOOK: ContextVar[Callable[[], None] | None] = ContextVar("superarm_look", default=None)


def may_stop() -> None:
    """Raise if the work of this thread is to stop; otherwise do nothing."""
    look = LOOK.get()
    if look is not None:
        look()


class stopping:  # noqa: N801 - used like a function
    """Let ``look`` stop the work in the block by raising an exception.

    Results do not depend on it: the work is done as without it, or not at all.

    Examples
    --------
    >>> import numpy as np
    >>> import superarm as sa
    >>> looks = []
    >>> with stopping(lambda: looks.append("looked")):
    ...     arms = sa.cts(sa.LinearReward(4), k=2).ask(rng=np.random.default_rng(0))
    >>> looks
    ['looked', 'looked']
    """

    # A class, because a context manager that is a generator takes several times as long.
    __slots__ = ("_before", "_look")

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def __enter__(self) -> None:
        self._before = LOOK.set(self._look)

    def __exit__(self, *_: object) -> None:
        LOOK.reset(self._before)
