"""When a request is no longer worth its work: its client has left, or its time is over.

The event loop answers a request whose time is over, and a cancelled request has no answer: both
end its reply. The thread that works for the request looks at the reply, and at the connection,
between the pieces of its work (`superarm.core.stopping`), and gives up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from superarm.service.problems import Problem

# Whether the client of the request that runs in this task has closed its connection.
CLIENT_GONE: ContextVar[Callable[[], bool]] = ContextVar(
    "superarm_client_gone", default=lambda: False
)


class GivenUpError(Exception):
    """Nobody waits for the answer any more."""


class CanBeGivenUp(Protocol):
    """The reply to a request: see `superarm.service.bandits.actor.Reply`."""

    def give_up(self, problem: Problem) -> None:
        """Answer what has no answer yet."""


@contextlib.contextmanager
def within(seconds: float, reply: CanBeGivenUp) -> Iterator[None]:
    """Give a reply up after some time; 0 for never."""
    if not seconds:
        yield
        return
    timer = asyncio.get_running_loop().call_later(seconds, lambda: reply.give_up(too_late(seconds)))
    try:
        yield
    finally:
        timer.cancel()


def given_up() -> Problem:
    """The answer to a request whose client has left, which only the server's log shows."""
    return Problem(499, "the client has closed its connection, so the request was given up")


def too_late(seconds: float) -> Problem:
    """The answer to a request whose time is over."""
    return Problem(
        504,
        f"the answer took longer than {seconds:g} seconds, so the request was given up",
        fix="ask for less, or serve with --deadline; a request with an Idempotency-Key may be "
        "repeated",
        kind="deadline-exceeded",
    )
