"""Long bodies of requests, read in another process, so that no other request waits for that.

A parser holds the interpreter until it has read all of a body: 64 MiB of small numbers take
seconds. The other process sends what it has read in many small pieces, and other threads may run
between any two of them.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

from superarm.core.stopping import may_stop
from superarm.service.processes.child import Wanted
from superarm.service.processes.pool import Helpers

LONG = 512 << 10  # bytes of a body; a shorter one takes milliseconds
_MODULE = "superarm.service.http.app"  # imported by the processes once, before the first body
_PIECE_ITEMS = 500  # the most items of a list in one piece
_PIECE_BYTES = 256 << 10  # items that take more are cut again


class Reading:
    """Calls functions in other processes, which are started when they are first needed.

    Parameters
    ----------
    most
        How many processes there may be.

    Attributes
    ----------
    threads
        One thread per process, so that bodies that wait for a process take no thread of a bandit.
    """

    def __init__(self, most: int) -> None:
        self._helpers = Helpers(_MODULE, most, "read the body", "repeat, or send less at once")
        self.threads = ThreadPoolExecutor(most, "superarm-body")

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function returns in another process. Raises what it raises."""
        may_stop()  # it may have waited for long
        return loads(self._helpers.ask(Wanted(None, {}, "call", (function, *args))))

    def close(self) -> None:
        """End the processes."""
        self._helpers.close()
        self.threads.shutdown()


class _Pickler(pickle.Pickler):
    """Replaces long lists, tuples and dicts by their pieces."""

    def persistent_id(self, one: Any) -> Any:
        if type(one) not in (list, tuple, dict) or len(one) <= _PIECE_ITEMS:
            return None
        items = list(one.items()) if type(one) is dict else one
        starts = range(0, len(items), _PIECE_ITEMS)
        pieces = [piece for i in starts for piece in _pieces(items[i : i + _PIECE_ITEMS])]
        return type(one), pieces


class _Unpickler(pickle.Unpickler):
    """Reads pieces one after the other."""

    def persistent_load(self, pid: Any) -> Any:
        kind, pieces = pid
        items: list[Any] = []
        for piece in pieces:
            items += loads(piece)  # other threads may run after each
        return items if kind is list else kind(items)


def dumps(one: Any) -> bytes:
    """The bytes of a value whose long lists are in pieces."""
    to = io.BytesIO()
    _Pickler(to, protocol=pickle.HIGHEST_PROTOCOL).dump(one)
    return to.getvalue()


def loads(pieces: bytes) -> Any:
    """The value of which `dumps` made the bytes."""
    return _Unpickler(io.BytesIO(pieces)).load()


def _pieces(items: Sequence[Any]) -> list[bytes]:
    whole = dumps(items)
    if len(whole) <= _PIECE_BYTES or len(items) == 1:
        return [whole]
    half = len(items) // 2
    return [*_pieces(items[:half]), *_pieces(items[half:])]


def opened(most: int) -> AbstractContextManager[Reading | None]:
    """Processes that read long bodies, at most one per core; None for none."""
    # Windows cannot fork.
    if not most or not hasattr(os, "fork"):
        return nullcontext()
    return closing(Reading(min(most, os.cpu_count() or 1)))
