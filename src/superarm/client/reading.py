"""How far a log has been read, and from where to go on when the connection breaks."""

from __future__ import annotations

import json
from typing import Any

import httpx

from superarm.client import verbs
from superarm.client.answers import Bandit
from superarm.client.errors import UnreachableError, problem_of
from superarm.client.retries import AGAIN, Pause, Request, Retries, failure


class Reading:
    """A log that is being read: no event twice, and none left out, however often the connection breaks."""

    def __init__(self, bandit: Bandit | str, after: int, follow: bool, retries: Retries) -> None:
        self._bandit, self._follow, self._retries = bandit, follow, retries
        self.after = after
        self._n_failed = 0

    @property
    def request(self) -> Request:
        """What asks for the rest."""
        return verbs.log(self._bandit, self.after, self._follow)

    def event(self, line: str) -> dict[str, Any]:
        """The event of a line."""
        try:
            event = json.loads(line)
            self.after, self._n_failed = int(event["seq"]), 0
        except (ValueError, KeyError, TypeError):
            raise UnreachableError(
                f"a line of the log must be an event with a seq, got {line!r:.60}"
            ) from None
        return event

    def failed(self, reply: httpx.Response | httpx.TransportError) -> Pause:
        """How long to wait before the rest is asked for; raises where asking again won't help.

        A followed log that came to an end is no failure: the service was stopped, or something between cut the line.
        """
        self._n_failed += 1
        if isinstance(reply, httpx.Response) and reply.is_success:
            self._n_failed = 0
            return self._retries.pause_after(1, reply)
        if isinstance(reply, httpx.Response) and reply.status_code not in AGAIN:
            raise problem_of(reply)
        if self._n_failed >= self._retries.tries:
            raise failure(self.request, reply, self._n_failed)
        return self._retries.pause_after(self._n_failed, reply)
