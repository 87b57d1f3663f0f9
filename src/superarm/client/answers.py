"""The service's answers as objects. Fields that this version does not know are ignored."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from superarm.service.summary import Summary


@dataclass(frozen=True, slots=True)
class Decision:
    """One set of arms to pull.

    Attributes
    ----------
    id
        The id to pass to `Client.tell`.
    bandit
        The id of the bandit that decided.
    arms
        The names of the arms, best first: the order in which to show them.
    values
        The value sampled for each arm. None if the oracle did not use sampled values.
    certified
        Whether the oracle proved in this round that the set is the one it promises, given what the
        reward declares.
    round, time
        The round of the decision, and its time in Unix seconds.
    status
        "open", "told" (all outcomes are known) or "expired".
    outcomes
        The outcomes known so far, by arm.
    propensities, set_propensity, n_samples
        The probability of each arm to be in the set, the probability of exactly this set, and
        the number of samples behind these estimates. None, None and 0 unless requested.
    context
        What was known of the round: numbers, or one tuple of numbers per arm. None without one.
    metadata
        What `ask` was given to be kept with the decision; None without it.
    ranked
        Whether the arms are best first. False for decisions from before they were ranked.
    holdout
        Whether the decision is of the hold-out, so that the policy did not make it.
    """

    id: str
    bandit: str
    arms: tuple[str, ...]
    values: tuple[float, ...] | None
    certified: bool
    round: int
    time: float
    status: Literal["open", "told", "expired"]
    outcomes: dict[str, float]
    propensities: tuple[float, ...] | None = None
    set_propensity: float | None = None
    n_samples: int = 0
    context: tuple[Any, ...] | None = None
    metadata: dict[str, Any] | None = None
    ranked: bool = False
    holdout: bool = False

    @property
    def places(self) -> dict[str, int]:
        """The place of each arm, 0 for the first; empty if the arms are not ranked."""
        return {arm: place for place, arm in enumerate(self.arms)} if self.ranked else {}

    @classmethod
    def from_json(cls, answer: dict[str, Any]) -> Decision:
        """Read the service's JSON. A new decision comes without status and outcomes."""
        # A decision is open when it is issued, so that the answer of `ask` does not say it.
        known = _known_fields(cls, {"status": "open", **answer})
        known["arms"] = tuple(answer["arms"])
        known["values"] = _tuple_or_none(answer["values"])
        known["outcomes"] = dict(answer.get("outcomes") or {})
        known["propensities"] = _tuple_or_none(answer.get("propensities"))
        known["context"] = _tuple_or_none(answer.get("context"))
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Bandit(Summary):
    """A bandit of the service.

    Attributes
    ----------
    id, name, n_arms, k, created
        Identity and size. ``created`` is in Unix seconds.
    rounds, decisions, evaluations
        Numbers of rounds, of decisions in these rounds, and of evaluations of the reward. A request
        for n decisions is one round.
    open, told, expired
        Numbers of decisions that wait for outcomes, have all outcomes, and have expired.
    spec, retired, events, posterior
        The settings it was created with, the arms that are not picked at present, the number of
        its last event, and the posterior of its best arms. None in a list of bandits.
    merged
        Number of decisions of `EdgeBandit` that were sent. The other numbers do not count them.
        None in a list of bandits.
    """

    spec: dict[str, Any] | None = None
    retired: list[str] | None = None
    events: int | None = None
    posterior: list[dict[str, Any]] | None = None
    merged: int | None = None

    @classmethod
    def from_json(cls, answer: dict[str, Any]) -> Bandit:
        """Read the service's JSON."""
        return cls(**_known_fields(cls, answer))


def _known_fields(cls: type, answer: dict[str, Any]) -> dict[str, Any]:
    # A newer service may send more members. A client must not fail because of them.
    return {field.name: answer[field.name] for field in fields(cls) if field.name in answer}


def _tuple_or_none(values: list[Any] | None) -> tuple[Any, ...] | None:
    if values is None:
        return None
    return tuple(tuple(one) if isinstance(one, list) else one for one in values)
