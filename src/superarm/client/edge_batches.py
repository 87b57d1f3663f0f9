"""What an edge bandit sends to the service."""

from __future__ import annotations

from typing import Any, NamedTuple

from superarm.sessions import Decision
from superarm.sessions.decisions import Name


class Made(NamedTuple):
    """A decision and its outcomes so far."""

    decision: Decision
    outcomes: dict[Name, float]

    def as_dict(self) -> dict[str, Any]:
        """The decision as a batch has it."""
        plain = self.decision.as_dict()
        if plain["values"] is None:
            del plain["values"]
        return {**plain, "outcomes": self.outcomes}


class Batch(NamedTuple):
    """Decisions on their way to the service. It is sent again as it is, until it arrives."""

    key: str
    version: str
    made: list[Made]
