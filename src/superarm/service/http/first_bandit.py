"""The bandit that a server makes before it listens: that of ``superarm serve --warm-start``."""

from __future__ import annotations

import contextlib
from typing import Any

from superarm.service.bandits.engine import Engine
from superarm.service.bandits.spec import complete
from superarm.service.http.bodies import CreateBody
from superarm.service.log.store import NameTakenError


def make_first(engine: Engine, first: dict[str, Any], most_arms: int) -> None:
    """Make the bandit of a request. After a restart it exists, and continues."""
    body = CreateBody.model_validate(first)
    if engine.store.bandit_named(body.name) is not None:
        return
    with contextlib.suppress(NameTakenError):  # by a server that starts at the same time
        engine.make(complete(body.model_dump(), engine.own, most_arms=most_arms))
