"""Which decisions a session remembers, what is known of each, and why the last ones were made."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from superarm.core import FeasibleSets, Report, Sample
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_fraction
from superarm.core.optional import HasPosterior, Posterior, kind_has
from superarm.errors import ConflictError, UnknownDecisionError
from superarm.sessions.decisions import Decision, Name, Status
from superarm.sessions.expiry import Expiry

SAMPLED = ("propensities", "set_propensity", "n_samples")  # one list in a session file


@dataclass(slots=True)
class Record:
    """A decision with the numbers of its arms, shape (k,), its outcomes by number and its status.

    The numbers are in the order of the decision's arms. The status is "told" once all outcomes are
    known.
    """

    decision: Decision
    arms: IndexArray
    outcomes: dict[int, float] = field(default_factory=dict)
    status: Status = "open"

    def new_outcomes(self, given: Mapping[Name, Any]) -> dict[int, float]:
        """The outcomes that were not known before, by number, in the order of the decision.

        Refuses what is not feedback for this decision.
        """
        if type(given) is not dict:
            given = _as_mapping(given)
        new, n_found = {}, 0
        for name, number in zip(self.decision.arms, self.arms.tolist(), strict=True):
            if name not in given:
                continue
            n_found += 1
            outcome, before = _as_outcome(given[name], name), self.outcomes.get(number)
            # The same outcome again is no error: clients repeat a request after a timeout.
            if before is None:
                new[number] = outcome
            elif before != outcome:
                raise ConflictError(
                    f"arm {name!r} of decision {self.decision.id} already has the outcome "
                    f"{before}, got {outcome}; an outcome cannot be changed"
                )
        if n_found < len(given):
            other = next(name for name in given if name not in self.decision.arms)
            raise ValueError(
                f"outcomes must be of the arms {self.decision.arms}, got one of {other!r}"
            )
        return new

    def context(self, n_arms: int) -> FloatArray | None:
        """The context of the decision, with a row of zeros for each arm that came later."""
        if self.decision.context is None:
            return None
        given = np.array(self.decision.context, np.float64)
        if given.ndim == 1:
            return given
        return np.vstack([given, np.zeros((n_arms - len(given), given.shape[1]))])

    def missing(self) -> list[int]:
        """The numbers of the arms without an outcome, in the order of the decision."""
        return [arm for arm in self.arms.tolist() if arm not in self.outcomes]

    def state(self) -> dict[str, Any]:
        """The record as plain JSON, as session files have it: with numbers instead of names."""
        plain = self.decision.as_dict()
        sampled = [plain.pop(name) for name in SAMPLED if name in plain]
        state = {
            **plain,
            "arms": self.arms.tolist(),
            "outcomes": [[arm, outcome] for arm, outcome in self.outcomes.items()],
            "status": self.status,
        }
        return {**state, "propensities": sampled} if sampled else state

    @classmethod
    def from_state(cls, state: dict[str, Any], names: list[Name]) -> Record:
        """The record that `state` described."""
        numbers = np.array(state["arms"], np.intp)
        # Without propensities there is nothing to zip, so the members stay out.
        sampled = dict(zip(SAMPLED, state.get("propensities", ()), strict=False))
        named = {**state, **sampled, "arms": [names[arm] for arm in numbers.tolist()]}
        outcomes = {int(arm): float(outcome) for arm, outcome in state["outcomes"]}
        return cls(Decision.from_dict(named), numbers, outcomes, state["status"])


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


def _as_mapping(given: Any) -> Mapping[Any, Any]:
    """Outcomes by name: a mapping, or a Series of pandas, which is one in all but name."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "items") and hasattr(given, "to_dict"):
        return dict(given.items())
    raise TypeError(f"outcomes must be a mapping from arms to outcomes, got {given!r:.60}")


def _as_outcome(outcome: Any, name: str | int) -> float:
    """An outcome in [0, 1]; clicks may be booleans."""
    if type(outcome) in (float, int) and 0 <= outcome <= 1:  # the usual case
        return float(outcome)
    # Clicks often come as booleans, which as_fraction refuses because elsewhere they are mistakes.
    number = float(outcome) if isinstance(outcome, bool | np.bool_) else outcome
    return as_fraction(number, f"the outcome of {name!r}", low="[", high="]")
