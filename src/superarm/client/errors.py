"""What may go wrong between a client and the service.

ClientError             all of it
  UnreachableError      no answer, or none that can be read, after all retries
  ProblemError          an answer that says no; has the service's words for it
    InvalidError        400, 413, 415, 422: the request was not understood or not possible
    NotAllowedError     401, 403: no key, an unknown one, or one without the right
    NotFoundError       404: no such bandit, decision or arm
    ConflictError       409: contradicts what is there, as another outcome for the same arm
    ExpiredError        410: the decision has expired
    TooManyError        429: too many requests, after all retries
    ServerError         5xx: the service failed; nothing that was not acknowledged is promised

All but the last of the problems leave everything as it was.
"""

from __future__ import annotations

import json
from typing import Any

import httpx


class ClientError(Exception):
    """Anything that goes wrong between a client and the service."""


class UnreachableError(ClientError):
    """The service did not answer, however often it was asked. What was sent may have happened: asking again is safe."""


class ProblemError(ClientError):
    """The service said no.

    Attributes
    ----------
    status
        The status of the answer, as 409.
    title, detail
        What is wrong, in short and in full.
    problem
        All that the service said, RFC 9457's members and its own ``expected``, ``got``, ``fix`` and ``errors``.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.title = str(problem.get("title") or f"status {status}")
        self.detail = str(problem.get("detail") or self.title)
        super().__init__(self.detail)


class InvalidError(ProblemError):
    """The request was not understood, or asks for what is not possible."""


class NotAllowedError(ProblemError):
    """No key, an unknown one, or one without the right to do this."""


class NotFoundError(ProblemError):
    """There is no such bandit, decision or arm."""


class ConflictError(ProblemError):
    """The request contradicts what is there, as another outcome for the same arm."""


class ExpiredError(ProblemError):
    """The decision has expired."""


class TooManyError(ProblemError):
    """Too many requests, and waiting did not help."""


class ServerError(ProblemError):
    """The service failed."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    429: TooManyError,
}


def problem_of(response: httpx.Response) -> ProblemError:
    """The error that an answer stands for, whether or not it is in the form of RFC 9457."""
    try:
        found = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        found = None
    problem = (
        found
        if isinstance(found, dict)
        else {"title": response.reason_phrase, "detail": response.text[:500]}
    )
    usual = ServerError if response.status_code >= 500 else InvalidError
    return _BY_STATUS.get(response.status_code, usual)(response.status_code, problem)
