"""What the routes share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from superarm.service.engine import Engine
from superarm.service.events import Bandit
from superarm.service.problems import Problem, shown
from superarm.service.reading import bandit_id


@dataclass(frozen=True)
class Limits:
    """What one server takes.

    Attributes
    ----------
    body
        The most bytes of a body.
    arms
        The most arms of a bandit.
    open
        The most open decisions of a bandit.
    samples
        The most samples that a request for decisions may draw for their propensities; 0 for none.
    rate
        The most requests a second of one client, on average; 0 for any number.
    """

    body: int = 64 << 20
    arms: int = 2_000_000
    open: int = 100_000
    samples: int = 10_000
    rate: float = 0.0


@dataclass
class Service:
    """A server's engine and settings.

    Attributes
    ----------
    engine, limits
        What does the work, and how much of it.
    with_keys
        Whether requests need a key.
    names
        Names by which browsers may know the service, besides ``localhost`` and addresses; for a server without keys.
    log_requests
        Whether each request is a line of the log.
    closing
        Whether the server is about to end, so that streams must.
    """

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    with_keys: bool = False
    names: frozenset[str] = frozenset()
    log_requests: bool = False
    closing: Callable[[], bool] = lambda: False

    async def find(self, id: str) -> Bandit:
        """The bandit of an id."""
        found = await self.engine.in_thread(self.engine.store.bandit, bandit_id(id))
        if found is None:
            raise Problem(
                404, f"no bandit has the id {shown(id)}", fix="GET /v1/bandits lists them"
            )
        return found


def answer(members: Mapping[str, Any], status: int = 200) -> Response:
    """A response of JSON."""
    return Response(json.dumps(members, allow_nan=False), status, media_type="application/json")
