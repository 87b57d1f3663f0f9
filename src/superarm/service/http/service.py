"""What all endpoints share: the engine and the settings of a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from superarm.service.bandits.engine import Engine
from superarm.service.bandits.operations import slowly
from superarm.service.http.team import Team
from superarm.service.processes.reading import LONG, Reading
from superarm.service.settings import Limits


@dataclass
class Service:
    """The engine and the settings of a server.

    Attributes
    ----------
    engine
        Runs the operations of requests.
    limits
        The largest requests.
    with_keys
        Whether requests need an API key.
    names
        Host names of a service without keys, besides ``localhost`` and addresses.
    log_requests
        Whether to write one log line per request.
    closing
        Whether the server is about to stop, so that streams must end.
    team
        The workers of the server; None if it has no others.
    reading
        What reads long bodies; None for the event loop.
    """

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    with_keys: bool = False
    names: frozenset[str] = frozenset()
    log_requests: bool = False
    closing: Callable[[], bool] = lambda: False
    team: Team | None = None
    reading: Reading | None = None

    async def read(self, function: Callable[..., Any], raw: bytes, *args: Any) -> Any:
        """What a function makes of a body, elsewhere if the body is long."""
        if self.reading is None or len(raw) <= LONG:
            return function(raw, *args)
        work = self.reading, function, raw, *args
        return await slowly(self.reading.threads, self.engine.deadline_s, *work)
