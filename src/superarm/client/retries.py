"""When to ask again, and after how long: the same for both clients, since it says what to do and does not do it."""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import httpx

from superarm.client.errors import ClientError, UnreachableError, problem_of
from superarm.core.arguments import as_count, as_positive

T = TypeVar("T")
AGAIN = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: a method, a path, a query, a body for JSON, and the Idempotency-Key of all its retries."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """What is done before the next try: nothing, for so long."""

    seconds: float


Steps: TypeAlias = Generator[Request, Any, T]
"""A verb: requests go out, the JSON of their answers comes in, and at the end there is the result."""


@dataclass(frozen=True)
class Retries:
    """How often a request is tried, and how long is waited between.

    The n-th pause is a random share, from a half to all, of ``first_s * 2**(n - 1)`` or ``most_s``, whichever is less;
    longer if the service says so in Retry-After, up to ``longest_s``. Tried again are requests that got no answer, and
    those that were answered with 429, 502, 503 or 504. That is safe: everything that the service does for a client it
    does once, however often it is asked.

    Examples
    --------
    >>> Retries(tries=1)  # once, and no more
    Retries(tries=1, first_s=0.1, most_s=5.0, longest_s=60.0)
    """

    tries: int = 6
    first_s: float = 0.1
    most_s: float = 5.0
    longest_s: float = 60.0

    def __post_init__(self) -> None:
        as_count(self.tries, "tries", least=1)
        for name in ("first_s", "most_s", "longest_s"):
            as_positive(getattr(self, name), name)

    def pause_after(self, n_failed: int, reply: httpx.Response | Exception) -> Pause:
        """How long to wait when so many tries have failed, the last one with this reply."""
        seconds = min(self.most_s, self.first_s * 2 ** min(n_failed - 1, 60)) * random.uniform(
            0.5, 1
        )
        if isinstance(reply, httpx.Response):
            asked = reply.headers.get("Retry-After", "")
            if asked.isascii() and asked.isdigit():
                seconds = max(seconds, min(float(asked), self.longest_s))
        return Pause(seconds)


def retried(steps: Steps[T], retries: Retries) -> Generator[Request | Pause, Any, T]:
    """What to do for a verb, one thing after the other; sent in is the response, or the error that came instead."""
    try:
        request = next(steps)
        while True:
            answer = yield from _tried(request, retries)
            request = steps.send(answer)
    except StopIteration as end:
        return end.value


def _tried(request: Request, retries: Retries) -> Generator[Request | Pause, Any, Any]:
    for n_failed in range(1, retries.tries + 1):
        reply = yield request
        if isinstance(reply, httpx.Response) and reply.status_code not in AGAIN:
            return read(reply)
        if n_failed < retries.tries:
            yield retries.pause_after(n_failed, reply)
    raise failure(request, reply, retries.tries)


def read(response: httpx.Response) -> Any:
    """The JSON of an answer that says yes; the error of one that says no."""
    if not response.is_success:
        raise problem_of(response)
    try:
        return response.json()
    except ValueError:
        raise UnreachableError(
            f"the answer must be JSON, got {response.text!r:.60}; is the address that of the service?"
        ) from None


def failure(request: Request, reply: httpx.Response | Exception, tries: int) -> ClientError:
    """What is raised after the last try."""
    if isinstance(reply, httpx.Response):
        return problem_of(reply)
    error = UnreachableError(
        f"{request.method} {request.path} must get an answer, got {type(reply).__name__} ({reply}) in {tries} tries; "
        f"see that the service is up, and ask again: that is safe"
    )
    error.__cause__ = reply
    return error
