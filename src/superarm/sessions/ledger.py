"""Which decisions a session remembers, and what it keeps of the last ones to explain them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from superarm.core import FeasibleSets, Report, Sample
from superarm.core.arguments import IndexArray, as_count
from superarm.core.optional import HasPosterior, Posterior, kind_has
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


@runtime_checkable
class HasContributions(Protocol):
    """A belief that says what features and contexts add to means."""

    def contributions(self, arms: IndexArray) -> Any:
        """``base``, a number, ``columns`` and ``own``, with one row per arm, and ``name_of``."""


@runtime_checkable
class HasPrior(Protocol):
    """A posterior that follows from a prior which was learned from all arms."""

    prior: Any
    """What was learned; as a string, it is a sentence for people."""


@dataclass(slots=True)
class Evidence:
    """What a session keeps of a decision so that it can be explained.

    Attributes
    ----------
    arms, ranked
        The numbers of the chosen arms, ascending, and in the order of the decision.
    theta
        The sample that the oracle saw.
    report
        The oracle's report on this round. None if the oracle did not report on it.
    posterior
        The posterior of the chosen arms before the decision. None if the belief has none.
    feasible
        The sets that could have been chosen.
    contributions
        What added up to the means of the chosen arms. None if the belief does not say.
    first
        The place of the first of the arms in the posterior, which may be of several decisions.
    """

    arms: IndexArray
    ranked: IndexArray
    theta: Sample
    report: Report | None
    posterior: Posterior | None
    feasible: FeasibleSets
    contributions: Any = None
    first: int = 0


def known_of(belief: Any, arms: IndexArray) -> tuple[Posterior | None, Any]:
    """The posterior of some arms, and what adds up to their means, if the belief has them."""
    kind = type(belief)
    return (
        belief.posterior(arms) if kind_has(kind, HasPosterior) else None,
        belief.contributions(arms) if kind_has(kind, HasContributions) else None,
    )
