"""Errors of the client.

ClientError             base class of all
  UnreachableError      no answer, or no readable answer, after all retries
  ProblemError          the service refused; carries the service's explanation
    InvalidError        400, 413, 415, 422: the request is malformed or impossible
    NotAllowedError     401, 403: the key is missing, unknown, or lacks the role
    NotFoundError       404: no such bandit, decision or arm
    ConflictError       409: contradicts the known state, such as another outcome for the same arm
    ExpiredError        410: the decision has expired
    TooManyError        429: too many requests, after all retries
    ServerError         5xx: the service failed; the request may or may not have taken effect

After any ProblemError except ServerError nothing has changed in the service.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

_LONGEST_DETAIL = 500  # characters of an answer that is not JSON, such as a proxy's HTML page


class ClientError(Exception):
    """Any failure of a request to the service."""


class UnreachableError(ClientError):
    """The service gave no readable answer in all tries.

    The request may have taken effect. Sending it again is safe.
    """


class ProblemError(ClientError):
    """The service refused the request.

    Attributes
    ----------
    status
        The HTTP status, such as 409.
    title, detail
        The problem, in short and in full.
    problem
        The whole answer: the members of RFC 9457, and ``expected``, ``got``, ``fix``, ``errors``.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.title = str(problem.get("title") or f"status {status}")
        self.detail = str(problem.get("detail") or self.title)
        super().__init__(self.detail)


class InvalidError(ProblemError, ValueError):
    """The request is malformed, or asks for something impossible."""


class NotAllowedError(ProblemError):
    """The key is missing, unknown, or lacks the role for this request."""


class NotFoundError(ProblemError):
    """The bandit, decision or arm does not exist."""


class ConflictError(ProblemError):
    """The request contradicts the known state, such as another outcome for the same arm."""


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


def error_from(response: httpx.Response) -> ProblemError:
    """Make the error for an answer, whether or not the answer has the form of RFC 9457."""
    try:
        problem = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        # Proxies answer with HTML. The status still says what kind of error it is.
        problem = None
    if not isinstance(problem, dict):
        problem = {"title": response.reason_phrase, "detail": response.text[:_LONGEST_DETAIL]}
    return problem_error(response.status_code, problem)


def problem_error(status: int, problem: dict[str, Any]) -> ProblemError:
    """Make the error for a problem document."""
    # Unknown statuses: from 500 on the service is to blame, below it the request.
    default = ServerError if status >= 500 else InvalidError
    return _BY_STATUS.get(status, default)(status, problem)
