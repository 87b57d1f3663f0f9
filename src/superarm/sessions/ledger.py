"""Which decisions a session remembers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

from superarm.core.arguments import as_count
from superarm.errors import UnknownDecisionError
from superarm.sessions.decisions import Decision, Record
from superarm.sessions.expiry import Expiry


class Ledger:
    """The open decisions, the oldest first, and the last ``keep`` closed ones."""

    def __init__(self, keep: int) -> None:
        self.keep = as_count(keep, "keep")
        self.open: OrderedDict[str, Record] = OrderedDict()
        self.closed: OrderedDict[str, Record] = OrderedDict()

    def add(self, record: Record) -> None:
        """Add a decision that was issued. One with no arms is complete at once."""
        self.open[record.decision.id] = record
        if not len(record.arms):
            self.close(record, "told")

    def find(self, decision: Decision | str) -> Record:
        """The record of a decision or of its id."""
        id = decision.id if isinstance(decision, Decision) else decision
        # An id of another type may not be hashable, so it is not looked up.
        record = self.open.get(id) or self.closed.get(id) if isinstance(id, str) else None
        if record is None:
            raise UnknownDecisionError(
                f"id must be that of a decision of this session, got {id!r}; besides its "
                f"{len(self.open)} open decisions the session remembers the last {self.keep} "
                f"closed ones (keep)"
            )
        return record

    def close(self, record: Record, status: Literal["told", "expired"]) -> None:
        """Close a decision, and forget the oldest closed one if there are too many."""
        del self.open[record.decision.id]
        record.status = status
        self.closed[record.decision.id] = record
        while len(self.closed) > self.keep:
            self.closed.popitem(last=False)

    def due(self, expiry: Expiry, *, now: float, rounds: int) -> list[Record]:
        """The open decisions that have expired."""
        found = []
        for record in self.open.values():
            if not expiry.is_due(record.decision, now=now, rounds=rounds):
                break  # decisions are issued in order, so all later ones are not due either
            found.append(record)
        return found
