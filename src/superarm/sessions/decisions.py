"""Decisions that were given out, and what was told about them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from superarm.core.arguments import IndexArray, as_count, as_fraction, as_positive
from superarm.errors import ConflictError, UnknownDecisionError

Name: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Decision:
    """One set of arms to pull.

    Attributes
    ----------
    id
        What `Session.tell` is given back.
    arms
        The names of the arms, in the order of their numbers.
    values
        What was sampled for each arm, the theta that the oracle saw; None where the oracle never looked.
    certified
        Whether the oracle proved, in this very round, that the set is what it stands for.
    round
        Which call of `Session.ask` it came from, from 1 on.
    time
        When it was given out, by the session's clock.
    propensities, set_propensity
        With which probability each of the arms was in the set, and this very set was picked, if `Session.ask` was to
        find out: shares of samples, this decision counted as one of them. None otherwise.
    n_samples
        How many samples these are shares of: p has the standard error (p (1 - p) / n_samples)^(1/2).
    """

    id: str
    arms: tuple[Name, ...]
    values: tuple[float, ...] | None
    certified: bool
    round: int
    time: float
    propensities: tuple[float, ...] | None = None
    set_propensity: float | None = None
    n_samples: int = 0


@dataclass(frozen=True)
class Expiry:
    """When decisions expire, and what becomes of them.

    Parameters
    ----------
    after_s
        So many seconds after it was given out, by the session's clock; None for never.
    after_rounds
        So many calls of `Session.ask` later; None for never.
    late
        Feedback for an expired decision: "refuse" it with an `ExpiredDecisionError`, or "ignore" it.
    missing
        What the arms count as that were not told about in time: nothing (None), or an outcome in [0, 1], such as 0 for
        items that nobody clicked.

    Examples
    --------
    >>> Expiry(after_rounds=100, missing=0.0)
    Expiry(after_s=None, after_rounds=100, late='refuse', missing=0.0)
    """

    after_s: float | None = None
    after_rounds: int | None = None
    late: Literal["refuse", "ignore"] = "refuse"
    missing: float | None = None

    def __post_init__(self) -> None:
        if self.after_s is not None:
            object.__setattr__(self, "after_s", as_positive(self.after_s, "after_s"))
        if self.after_rounds is not None:
            object.__setattr__(
                self, "after_rounds", as_count(self.after_rounds, "after_rounds", least=1)
            )
        if self.late not in ("refuse", "ignore"):
            raise ValueError(f'late must be "refuse" or "ignore", got {self.late!r}')
        if self.missing is not None:
            object.__setattr__(
                self, "missing", as_fraction(self.missing, "missing", low="[", high="]")
            )

    def is_due(self, decision: Decision, *, now: float, rounds: int) -> bool:
        """Whether a decision has expired, ``rounds`` being the calls of ask so far."""
        if self.after_s is not None and now - decision.time >= self.after_s:
            return True
        return self.after_rounds is not None and rounds - decision.round >= self.after_rounds


@dataclass(slots=True)
class Record:
    """A decision, the numbers of its arms, shape (k,), what was told by arm number, and what became of it."""

    decision: Decision
    arms: IndexArray
    outcomes: dict[int, float] = field(default_factory=dict)
    status: Literal["open", "told", "expired"] = "open"

    def news(self, told: Mapping[Name, Any]) -> dict[int, float]:
        """What of the feedback is new, by arm number, ascending. Refuses what is not feedback for this decision."""
        if type(told) is not dict and not isinstance(told, Mapping):
            raise TypeError(f"outcomes must be a mapping from arms to outcomes, got {told!r:.60}")
        new, n_found = {}, 0
        for name, number in zip(self.decision.arms, self.arms.tolist(), strict=True):
            if name not in told:
                continue
            n_found += 1
            value, before = _as_outcome(told[name], name), self.outcomes.get(number)
            if before is None:
                new[number] = value
            elif before != value:
                raise ConflictError(
                    f"arm {name!r} of decision {self.decision.id} was told as {before} before, got {value}; an outcome "
                    f"is told once"
                )
        if n_found < len(told):
            others = [name for name in told if name not in self.decision.arms]
            raise ValueError(
                f"outcomes must be of the arms {self.decision.arms}, got one of {others[0]!r}"
            )
        return new

    def missing(self) -> IndexArray:
        """The numbers of the arms that nothing was told about, ascending."""
        return np.array([arm for arm in self.arms.tolist() if arm not in self.outcomes], np.intp)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON; the names are left to the numbers."""
        decision = self.decision
        state = {
            "id": decision.id,
            "arms": self.arms.tolist(),
            "values": None if decision.values is None else list(decision.values),
            "certified": decision.certified,
            "round": decision.round,
            "time": decision.time,
            "outcomes": [[arm, outcome] for arm, outcome in self.outcomes.items()],
            "status": self.status,
        }
        if decision.propensities is None:
            return state
        found = [list(decision.propensities), decision.set_propensity, decision.n_samples]
        return {**state, "propensities": found}

    @classmethod
    def of(cls, state: dict[str, Any], names: list[Name]) -> Record:
        """What ``state()`` described."""
        arms = np.array(state["arms"], np.intp)
        values = (
            None if state["values"] is None else tuple(float(value) for value in state["values"])
        )
        decision = Decision(
            id=state["id"],
            arms=tuple(names[arm] for arm in arms.tolist()),
            values=values,
            certified=bool(state["certified"]),
            round=int(state["round"]),
            time=float(state["time"]),
            **_sampled(state.get("propensities")),
        )
        return cls(
            decision, arms, {int(arm): float(x) for arm, x in state["outcomes"]}, state["status"]
        )


class Ledger:
    """The open decisions, the oldest first, and the last ``keep`` that were closed."""

    def __init__(self, keep: int) -> None:
        self.keep = as_count(keep, "keep")
        self.open: OrderedDict[str, Record] = OrderedDict()
        self.closed: OrderedDict[str, Record] = OrderedDict()

    def add(self, record: Record) -> None:
        """A decision that was given out; one of no arms has nothing to wait for."""
        self.open[record.decision.id] = record
        if not len(record.arms):
            self.close(record, "told")

    def find(self, id: str) -> Record:
        """The record of an id."""
        record = self.open.get(id) or self.closed.get(id) if isinstance(id, str) else None
        if record is None:
            raise UnknownDecisionError(
                f"id must be that of a decision of this session, got {id!r}; besides {len(self.open)} open decisions "
                f"the last {self.keep} closed ones are remembered (keep)"
            )
        return record

    def close(self, record: Record, status: Literal["told", "expired"]) -> None:
        """Everything is told, or it has expired: room is made for it among the closed ones."""
        del self.open[record.decision.id]
        record.status = status
        self.closed[record.decision.id] = record
        while len(self.closed) > self.keep:
            self.closed.popitem(last=False)

    def due(self, expiry: Expiry, *, now: float, rounds: int) -> list[Record]:
        """The open decisions that have expired. They are given out in order, so those come first."""
        found = []
        for record in self.open.values():
            if not expiry.is_due(record.decision, now=now, rounds=rounds):
                break
            found.append(record)
        return found


def _sampled(found: list[Any] | None) -> dict[str, Any]:
    """What a decision knows of its probabilities, from its record."""
    if found is None:
        return {}
    of_arms, of_set, n_samples = found
    return {
        "propensities": tuple(float(p) for p in of_arms),
        "set_propensity": float(of_set),
        "n_samples": int(n_samples),
    }


def _as_outcome(outcome: Any, name: Name) -> float:
    if type(outcome) is float and 0.0 <= outcome <= 1.0:  # what comes almost always
        return outcome
    number = float(outcome) if isinstance(outcome, bool | np.bool_) else outcome
    return as_fraction(number, f"the outcome of {name!r}", low="[", high="]")
