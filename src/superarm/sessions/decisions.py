"""A decision as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import IndexArray
from superarm.offpolicy import Propensities

Name: TypeAlias = str | int
Context: TypeAlias = tuple[Any, ...]
Status: TypeAlias = Literal["open", "told", "expired"]
_SHOWN = 10  # arms of a decision in one line

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
