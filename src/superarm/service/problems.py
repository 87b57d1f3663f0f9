"""Problem documents (RFC 9457): what was expected, what came, and how to fix it."""

from __future__ import annotations

import json
from http import HTTPStatus
from itertools import islice
from typing import Any

MEDIA_TYPE = "application/problem+json"
# Problems of these kinds share their status with other ones.
KINDS = (
    "name-taken",
    "key-taken",
    "outcome-differs",
    "arm-needed",
    "arm-unknown",
    "constraints-refused",
    "decision-expired",
    "bandit-unknown",
    "bandit-deleted",
    "decision-unknown",
    "snapshot-unknown",
    "rate-exceeded",
    "too-many-open",
    "database-full",
    "database-failing",
    "deadline-exceeded",
)
# A status of nginx, for logs and metrics: nobody is there to read the answer.
_OTHER_TITLES = {499: "Client Closed Request"}
_LONGEST_MESSAGE = 500  # characters of an error of the library that clients see


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """A request that is answered with an error. Nothing has changed.

    Parameters
    ----------
    status
        The HTTP status.
    detail
        One sentence for people.
    expected, got, fix
        What should have come, what came, what to do. Each is left out if it does not help.
    errors
        Places in the request and what is wrong there, if there are several.
    headers
        Headers of the response, such as Retry-After.
    kind
        One of `KINDS`, so that programs can tell problems of one status apart; None for none.

    Examples
    --------
    >>> Problem(404, "no bandit has the id x", fix="list them with GET /v1/bandits").body()["title"]
    'Not Found'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        fix: str | None = None,
        errors: list[dict[str, Any]] | None = None,
        headers: dict[str, str] | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status, self.detail, self.headers = status, detail, headers or {}
        self._more = {"expected": expected, "got": got, "fix": fix, "errors": errors}

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, which may find it."""
        return Problem, (self.status, self.detail), self.__dict__

    def body(self) -> dict[str, Any]:
        """The members of the response."""
        more = {name: value for name, value in self._more.items() if value is not None}
        return {
            # A name that never changes, not an address where something could be read.
            "type": "about:blank" if self.kind is None else f"urn:superarm:{self.kind}",
            "title": _OTHER_TITLES.get(self.status) or HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **more,
        }

    def encoded(self) -> bytes:
        """The bytes of the response."""
        return json.dumps(self.body()).encode()


class Fault(Exception):  # noqa: N818 - not the fault of the caller
    """Something failed while a bandit was changed, so its state in memory may be wrong."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def server_failed() -> Problem:
    """The answer to a request that the server failed at."""
    return Problem(500, "the server failed", fix="the log of the server says how")


def shown(value: Any, most: int = 80) -> str:
    """A value as a problem shows it: short and printable."""
    text = repr(_beginning(value, most))  # which escapes what cannot be printed
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _beginning(value: Any, most: int) -> Any:
    """A value of which hardly more than the beginning is left: the text of all may take seconds."""
    if isinstance(value, str | bytes):
        return value[: most + 1]
    if type(value) in (list, tuple):
        return type(value)(_beginning(one, most) for one in value[:most])
    if isinstance(value, dict):
        return {name: _beginning(one, most) for name, one in islice(value.items(), most)}
    return value


def shown_error(error: Exception) -> str:
    """The message of an error of the library: short and printable."""
    text = str(error) or type(error).__name__
    text = text if text.isprintable() else text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 3]}..."
