"""When to send a request again, and after how long.

The functions here are generators that say what to do next and do no input or output themselves,
so that the blocking and the asynchronous client share them.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import httpx

from superarm.client.errors import ClientError, UnreachableError, error_from
from superarm.client.requests import Request
from superarm.core.arguments import as_count, as_positive

T = TypeVar("T")

# Overloaded, or not reachable behind a proxy. Other statuses would come again.
RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_MOST_DOUBLINGS = 60  # keeps 2**n within floating point for any number of tries


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for ``seconds`` before the next try."""

    seconds: float


Steps: TypeAlias = Generator[Request, Any, T]
"""A verb: yields requests, receives the JSON of each answer, and returns the result."""


@dataclass(frozen=True)
class Retries:
    """How often a request is tried, and the pauses between tries.

    The full length of the n-th pause is ``first_s * 2**(n - 1)``, but at most ``most_s``. The
    actual pause is drawn uniformly between half of the full length and the full length, so that
    many clients do not come back at the same moment. A longer Retry-After of the service is
    respected up to ``longest_s``.

    A request is sent again if it got no answer, or the status 429, 502, 503 or 504. This is safe,
    because the service carries out each request once, even if it arrives several times. Of a
    request with many items, those are sent again that got such a status.

    Examples
    --------
    >>> Retries(tries=1)  # never send a request again
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
        """Give the pause after ``n_failed`` failed tries, the last of which got ``reply``."""
        full = min(self.most_s, self.first_s * 2 ** min(n_failed - 1, _MOST_DOUBLINGS))
        # Not numpy's generator: pauses must not depend on anybody's seed.
        seconds = full * random.uniform(0.5, 1.0)
        # A service that asks for more time gets it, but not so much that a program seems to hang.
        return Pause(max(seconds, min(_retry_after(reply), self.longest_s)))


def _retry_after(reply: httpx.Response | Exception) -> float:
    """Read Retry-After in seconds. 0 if absent, or if it is a date, which we do not use."""
    value = reply.headers.get("Retry-After", "") if isinstance(reply, httpx.Response) else ""
    return float(value) if value.isascii() and value.isdigit() else 0.0


def with_retries(
    steps: Steps[T], retries: Retries, *, of_items: bool = True
) -> Generator[Request | Pause, Any, T]:
    """Run a verb: yields what to do next, receives the response or the transport error.

    Without ``of_items``, items of a request that got an answer are not sent again.
    """
    try:
        request = next(steps)
        while True:
            answer = yield from _try(request, retries, of_items)
            request = steps.send(answer)
    except StopIteration as end:
        return end.value


def _try(
    request: Request, retries: Retries, of_items: bool
) -> Generator[Request | Pause, Any, Any]:
    many = None if request.many is None else _Many(request.body[request.many])
    for n_failed in range(1, retries.tries + 1):
        # The same object each time, so that all tries carry the same Idempotency-Key.
        reply = yield request
        if isinstance(reply, httpx.Response) and reply.status_code not in RETRIED_STATUSES:
            if many is None:
                return _json_of(reply)
            try:
                left = many.take(_json_of(reply)["results"])
            except ClientError:
                if many.results is None:
                    raise
                break  # what is known of the items counts
            if not (left and of_items):
                break
            request = replace(request, body={request.many: left})
        # No pause after the last try: nothing would follow it.
        if n_failed < retries.tries:
            yield retries.pause_after(n_failed, reply)
    if many is not None and many.results is not None:
        return {"results": many.results}
    raise error_after(request, reply, retries.tries)


class _Many:
    """The items of a request, and the last result of each. None before the first results.

    A result that is final is kept, whatever becomes of the other items: sent again, the outcomes
    of an item would be none that are new.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self._items, self._left = items, list(range(len(items)))
        self.results: list[Any] | None = None

    def take(self, results: Sequence[Any]) -> list[Any]:
        """Take the results of the items that were sent. Returns those that may succeed later."""
        if len(results) != len(self._left):  # nobody knows whose they are
            raise UnreachableError(
                f"the service must answer one result per item, got {len(results)} for "
                f"{len(self._left)}; sending them again is safe"
            )
        self.results = self.results or [None] * len(self._items)
        for place, one in zip(self._left, results, strict=True):
            self.results[place] = one
        said = zip(self._left, results, strict=True)
        self._left = [place for place, one in said if _fails_for_now(one)]
        return [self._items[place] for place in self._left]


def _fails_for_now(result: dict[str, Any]) -> bool:
    problem = result.get("problem")
    return problem is not None and problem["status"] in RETRIED_STATUSES


def _json_of(response: httpx.Response) -> Any:
    if not response.is_success:
        raise error_from(response)
    if response.status_code == httpx.codes.NO_CONTENT:
        return None
    try:
        return response.json()
    except ValueError:
        raise UnreachableError(
            f"the answer must be JSON, got {response.text!r:.60}; "
            "check that the URL is the address of the service"
        ) from None


def error_after(request: Request, reply: httpx.Response | Exception, tries: int) -> ClientError:
    """Make the error for a request whose last try got ``reply``."""
    if isinstance(reply, httpx.Response):
        return error_from(reply)
    error = UnreachableError(
        f"{request.method} {request.path} must get an answer, "
        f"got {type(reply).__name__} ({reply}) in {tries} tries; "
        "check that the service is running, then send it again: that is safe"
    )
    error.__cause__ = reply
    return error
