"""Decisions: their plain data, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.errors import ConflictError
from superarm.offpolicy import Propensities

Name: TypeAlias = str | int
Context: TypeAlias = tuple[Any, ...]
Status: TypeAlias = Literal["open", "told", "expired"]
_SHOWN = 10  # arms of a decision in one line
_SAMPLED = ("propensities", "set_propensity", "n_samples")  # one list in a session file

# What explanations say of a decision that the oracle certified.
CERTIFIED = "certified given the declarations"


@dataclass(frozen=True, slots=True)
class Decision:
    """One set of arms to pull.

    Attributes
    ----------
    id
        What `Session.tell` needs to know which decision the outcomes belong to.
    arms
        The names of the arms, best first: the order in which to show them.
    values
        The theta that the oracle saw, for each of the arms. None if the oracle did not look at it.
    certified
        Whether the oracle proved in this round that the set is the one it looks for, given what the
        reward declares.
    round
        Which call of `Session.ask` issued the decision, counted from 1.
    time
        When the decision was issued, by the session's clock.
    propensities, set_propensity
        The probability of each arm to be in the set, and of exactly this set, if `Session.ask`
        was asked for propensities; None otherwise. Both are shares of ``n_samples`` samples, of
        which this decision is one.
    n_samples
        The number of samples. A share p has the standard error (p (1 - p) / n_samples)^(1/2).
    context
        What was known of the round: numbers, or one tuple of numbers per arm. None without one.
    ranked
        Whether the arms are best first. False for decisions of files and logs from before
        decisions were ranked: their arms are in the order of their numbers.
    holdout
        Whether the decision is of the hold-out, so that the policy did not make it.

    Examples
    --------
    >>> decision = Decision("shop-7", ("bee", "ant"), (0.5, 0.25), True, round=7, time=0.0)
    >>> decision.number, decision.places
    (7, {'bee': 0, 'ant': 1})
    >>> Decision.from_dict(decision.as_dict()) == decision
    True
    """

    id: str
    arms: tuple[Any, ...]  # names, so that a program whose names are all strings may say so
    values: tuple[float, ...] | None
    certified: bool
    round: int
    time: float
    propensities: tuple[float, ...] | None = None
    set_propensity: float | None = None
    n_samples: int = 0
    context: Context | None = None
    ranked: bool = True
    holdout: bool = False

    def __repr__(self) -> str:
        arms = ", ".join(map(str, self.arms[:_SHOWN]))
        more = f", ... {len(self.arms)} in all" if len(self.arms) > _SHOWN else ""
        return f"Decision({self.id!r}: {arms}{more})"

    def _repr_html_(self) -> str:
        from superarm.sessions.tables import decision_html  # which knows decisions

        return decision_html(self)

    @property
    def number(self) -> int:
        """Which decision of its session it is, counted from 1."""
        return decision_number(self.id)

    @property
    def places(self) -> dict[Name, int]:
        """The place of each arm, 0 for the first; empty if the arms are not ranked."""
        return {arm: place for place, arm in enumerate(self.arms)} if self.ranked else {}

    def as_dict(self) -> dict[str, Any]:
        """The decision as plain JSON; propensities and context are left out if there are none."""
        return self.record({"round": self.round, "time": self.time}, self.context)

    def record(
        self, more: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> dict[str, Any]:
        """The decision without round, time and context, but with what is given."""
        # The digests of logs depend on the order of the members.
        plain: dict[str, Any] = {
            "id": self.id,
            "arms": list(self.arms),
            "values": None if self.values is None else list(self.values),
            "certified": self.certified,
        }
        if more is not None:
            plain.update(more)
        if self.propensities is not None:
            plain["propensities"] = list(self.propensities)
            plain["set_propensity"] = self.set_propensity
            plain["n_samples"] = self.n_samples
        if context is not None:
            plain["context"] = np.array(context).tolist()
        if self.ranked:  # older versions did not write it
            plain["ranked"] = True
        if self.holdout:
            plain["holdout"] = True
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Decision:
        """The decision that `as_dict` described. Other keys are ignored."""
        # JSON has no tuples, and may have a whole number where there was a float.
        values, shares = plain["values"], plain.get("propensities")
        sampled: dict[str, Any] = {}
        if shares is not None:
            sampled = {
                "propensities": tuple(float(share) for share in shares),
                "set_propensity": float(plain["set_propensity"]),
                "n_samples": int(plain["n_samples"]),
            }
        return cls(
            id=plain["id"],
            arms=tuple(plain["arms"]),
            values=None if values is None else tuple(float(value) for value in values),
            certified=bool(plain["certified"]),
            round=int(plain["round"]),
            time=float(plain["time"]),
            context=as_plain_context(plain.get("context")),
            ranked=bool(plain.get("ranked", False)),
            holdout=bool(plain.get("holdout", False)),
            **sampled,
        )


def as_plain_context(context: ArrayLike | None) -> Context | None:
    """A context as tuples of floats, for a decision."""
    if context is None:
        return None
    numbers = np.asarray(context, np.float64).tolist()
    return tuple(tuple(one) if isinstance(one, list) else one for one in numbers)


def decision_number(id: str) -> int:
    """The number of a decision, the last part of its id.

    Examples
    --------
    >>> decision_number("shop.left-7")
    7
    """
    return int(id.rpartition("-")[2])


def shares_of(drawn: Propensities, ranked: IndexArray) -> dict[str, Any]:
    """What a decision says of the probabilities of its arms, which are in its order."""
    arms = np.sort(ranked)
    sampled = drawn.counting(arms)
    return {
        "propensities": tuple(sampled.arms[ranked].tolist()),
        "set_propensity": sampled.set_probability(arms),
        "n_samples": sampled.n_samples,
    }


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
                    f"arm {name!r} of decision {self.decision.id} was told as {before} before, "
                    f"got {outcome}; an outcome cannot be changed"
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
        sampled = [plain.pop(name) for name in _SAMPLED if name in plain]
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
        sampled = dict(zip(_SAMPLED, state.get("propensities", ()), strict=False))
        named = {**state, **sampled, "arms": [names[arm] for arm in numbers.tolist()]}
        outcomes = {int(arm): float(outcome) for arm, outcome in state["outcomes"]}
        return cls(Decision.from_dict(named), numbers, outcomes, state["status"])


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
