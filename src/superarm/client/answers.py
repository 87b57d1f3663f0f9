"""What the service answers, as objects. Members that a later service adds are left out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Decision:
    """One set of arms to pull.

    Attributes
    ----------
    id
        What `Client.tell` is given back.
    bandit
        The id of its bandit.
    arms
        The names of the arms.
    values
        What was sampled for each arm; None where the oracle never looked.
    certified
        Whether the oracle proved, in this very round, that the set is what it stands for.
    round, time
        Which round it came from, and when, in Unix seconds.
    status
        "open", "told" or "expired".
    outcomes
        What was told so far, by arm.
    propensities, set_propensity, n_samples
        With which probability each arm was in the set and exactly this set was picked, and of how many samples these
        are shares, if that was asked for. None, None and 0 otherwise.
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

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Decision:
        """From the service's JSON; a fresh one is open, and nothing was told."""
        known = _known(cls, {"status": "open", **answer})
        values = answer["values"]
        known["arms"], known["values"] = (
            tuple(answer["arms"]),
            None if values is None else tuple(values),
        )
        known["outcomes"] = dict(answer.get("outcomes") or {})
        if known.get("propensities") is not None:
            known["propensities"] = tuple(known["propensities"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Bandit:
    """A bandit of the service.

    Attributes
    ----------
    id, name, n_arms, k, created
        What it is, and since when, in Unix seconds.
    rounds, decisions, evaluations, open, told, expired
        How much has happened: rounds and the decisions of them, evaluations of the reward, and how many decisions are
        open, told about and expired.
    spec, retired, events, posterior
        What it was made of, the arms that are not picked, the number of its last event, and what is known of the best
        arms; None in a list of bandits, which leaves them out.
    """

    id: str
    name: str
    n_arms: int
    k: int
    created: float
    rounds: int
    decisions: int
    evaluations: int
    open: int
    told: int
    expired: int
    spec: dict[str, Any] | None = None
    retired: list[str] | None = None
    events: int | None = None
    posterior: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Bandit:
        """From the service's JSON."""
        return cls(**_known(cls, answer))


def _known(cls: type, answer: dict[str, Any]) -> dict[str, Any]:
    return {field.name: answer[field.name] for field in fields(cls) if field.name in answer}
