"""Reading a log of events across broken connections."""

from __future__ import annotations

import json
from typing import Any

import httpx

from superarm.client import verbs
from superarm.client.answers import Bandit
from superarm.client.errors import UnreachableError, error_from
from superarm.client.requests import Request
from superarm.client.retries import RETRIED_STATUSES, Pause, Retries, error_after


class LogReader:
    """The position in a log: each event is delivered exactly once, even if connections break."""

    def __init__(self, bandit: Bandit | str, after: int, follow: bool, retries: Retries) -> None:
        self._bandit, self._follow, self._retries = bandit, follow, retries
        self.after = after
        self._n_failed = 0

    @property
    def request(self) -> Request:
        """The request for all events not read yet."""
        return verbs.log(self._bandit, self.after, self._follow)

    @property
    def for_httpx(self) -> dict[str, Any]:
        """The request as arguments for `httpx.Client.stream`."""
        return self.request.for_following() if self._follow else self.request.for_httpx()

    def event(self, line: str) -> dict[str, Any]:
        """Read the event in a line, and move past it."""
        try:
            event = json.loads(line)
            # The position moves with every event, so that a new connection starts after the last
            # event that was delivered. An event is a success, so that failures are counted anew.
            self.after, self._n_failed = int(event["seq"]), 0
        except (ValueError, KeyError, TypeError):
            raise UnreachableError(
                f"a line of the log must be an event with a seq, got {line!r:.60}"
            ) from None
        return event

    def pause_after(self, reply: httpx.Response | httpx.TransportError) -> Pause:
        """Give the pause before the next request, or raise if another request would not help.

        The end of a followed log is not a failure: the service stopped, or a proxy closed the
        connection.
        """
        self._n_failed += 1
        if isinstance(reply, httpx.Response) and reply.is_success:
            self._n_failed = 0
            # A pause all the same: a proxy that closes at once would otherwise get requests in a
            # loop.
            return self._retries.pause_after(1, reply)
        if isinstance(reply, httpx.Response) and reply.status_code not in RETRIED_STATUSES:
            raise error_from(reply)
        if self._n_failed >= self._retries.tries:
            raise error_after(self.request, reply, self._n_failed)
        return self._retries.pause_after(self._n_failed, reply)
