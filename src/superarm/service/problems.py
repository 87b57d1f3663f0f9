"""What the service refuses, in the form of RFC 9457: what was expected, what came, how to fix it."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - a problem is what the standard calls it
    """A request that is answered with an error; nothing has changed.

    Parameters
    ----------
    status
        The HTTP status.
    detail
        One sentence for people.
    expected, got, fix
        What should have come, what came, what to do: each where it helps.
    errors
        Places in the body and what is wrong there, where there are several.
    headers
        Headers of the response, such as Retry-After.

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
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}
        self._more = {"expected": expected, "got": got, "fix": fix, "errors": errors}

    def body(self) -> dict[str, Any]:
        """The members of the response."""
        more = {name: value for name, value in self._more.items() if value is not None}
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **more,
        }

    def encoded(self) -> bytes:
        """The bytes of the response."""
        return json.dumps(self.body()).encode()


class Fault(Exception):  # noqa: N818 - not what the caller did wrong
    """Something failed while a bandit was changed, so its state in memory is no longer to be trusted."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def shown(value: Any, most: int = 80) -> str:
    """A value as a problem shows it: short, and printable."""
    text = ascii(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
