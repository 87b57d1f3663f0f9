"""The bodies of requests. They are strict: unknown members are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from superarm.service.bandits import parts
from superarm.service.bandits.sizes import MOST_DECISIONS
from superarm.service.http import misfits


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is a whole number."""
    return int(value) if type(value) is float and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
_Item = TypeVar("_Item")
# Up to the first wrong item: to describe a million of them would take longer than a minute.
List = Annotated[list[_Item], Field(fail_fast=True)]
_MOST_COUNT = 10_000_000
# No control characters: some databases cannot store them, and people cannot see them.
Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=misfits.NO_CONTROLS)]
Count = Annotated[int, Field(ge=1, le=_MOST_COUNT), _WHOLE]
CountOrZero = Annotated[int, Field(ge=0, le=_MOST_COUNT), _WHOLE]
Outcome = Annotated[float, Field(ge=0.0, le=1.0)]
Probability = Annotated[float, Field(gt=0.0, le=1.0)]  # of what was picked
Time = Annotated[float, Field(ge=0.0, le=2e11)]  # until the year 8307
Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0, le=1e12)]
Weight = Annotated[float, Field(ge=0.0, le=1e300)]
# Models of features and contexts multiply these numbers, and lose precision with larger ones.
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Row = Annotated[List[Number], Field(min_length=1)]
Rows = Annotated[List[Row], Field(min_length=1)]
MOST_NUMBER = 2**53  # larger whole numbers are not exact in every JSON reader
Seed = (
    Annotated[int, Field(ge=0, le=MOST_NUMBER), _WHOLE]
    | Annotated[str, StringConstraints(pattern=misfits.DIGITS)]
)
_Words = Annotated[str, StringConstraints(max_length=1000)]
# Ids of 64 bits are kept as they are, though not every JSON reader has them exactly. As floats,
# different ids would be the same in the log, so that a float is none of the whole numbers.
_Integer = Annotated[int, Field(ge=-(2**64), le=2**64)]
_Float = Annotated[float, BeforeValidator(lambda value: "" if type(value) is int else value)]
Metadata = Annotated[dict[Text, _Words | bool | _Integer | _Float | None], Field(max_length=32)]
_MOST_PARAMETERS = 32
MOST_ITEMS = 10_000  # of one request with many
PartObject = Annotated[dict[str, Any], Field(min_length=1, max_length=_MOST_PARAMETERS)]


def _one_of(names: Iterable[str]) -> Any:
    """The description of a part: a name, or an object with the name as kind.

    The parts themselves are checked when the bandit is made.
    """
    kind = {"type": "string", "enum": sorted(names)}
    with_parameters = {
        "type": "object",
        "properties": {"kind": kind},
        "required": ["kind"],
        "additionalProperties": True,  # said, because generators of clients assume the opposite
        "maxProperties": _MOST_PARAMETERS,
    }
    return WithJsonSchema({"anyOf": [kind, with_parameters]})


class Strict(BaseModel):
    """No conversions, no other members, no NaN and no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class ExpiryBody(Strict):
    """When decisions expire, and what happens then: see `superarm.sessions.Expiry`."""

    after_s: Positive | None = Field(None, description="Seconds until a decision expires.")
    after_rounds: Count | None = Field(None, description="Later rounds until it expires.")
    late: Literal["refuse", "ignore"] = Field(
        "refuse", description="What happens to outcomes that come later."
    )
    missing: Outcome | None = Field(
        None, description="The outcome that is learned for arms without one."
    )


class HoldoutBody(Strict):
    """Which decisions the policy does not make: see `superarm.sessions.Holdout`."""

    share: Share = Field(description="The probability that a decision is of the hold-out.")
    arms: Annotated[List[Text], Field(min_length=1)] | None = Field(
        None, description="The arms that it gets, in their order. Random by default."
    )


class RoundBody(Strict):
    """A round of an older system: the arms in the order of their places, and their outcomes."""

    arms: Annotated[List[Text], Field(min_length=1)] = Field(description="Names of arms.")
    outcomes: List[Outcome | None] = Field(description="One per arm; null if it is not known.")


class WarmStartBody(Strict):
    """What is known from before."""

    rounds: Annotated[List[RoundBody], Field(min_length=1)] = Field(description="Oldest first.")
    strength: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0, description="The share of the rounds that count, drawn at random."
    )


class CreateBody(Strict):
    """A new bandit."""

    name: Text = Field(description="A name for people. No two bandits have the same name.")
    arms: List[Text] | Count = Field(
        description='Distinct names, or a number n for the names "0" to "n - 1".'
    )
    k: Count = Field(description="Number of arms per decision.")
    belief: Annotated[str | PartObject, _one_of(parts.BELIEFS)] | None = Field(
        None,
        description="A name, or an object with kind and parameters. "
        "The default is that of Thompson sampling with a learned prior: see `superarm.thompson`.",
    )
    features: Rows | dict[Text, Row] | None = Field(
        None,
        description="What is known of the arms, for the beliefs linear and logistic: "
        "one row of numbers per arm, in the order of the arms or by name.",
    )
    oracle: Annotated[str | PartObject, _one_of(parts.ORACLES)] | None = Field(
        None,
        description="A name, or an object with kind and parameters. "
        "The default is top_k for additive rewards, and lazy_singletons otherwise.",
    )
    reward: str | PartObject = Field(
        "linear", description="A name, or an object with name and parameters."
    )
    prior: Literal["learned", "flat"] | tuple[Positive, Positive] | None = Field(
        None,
        description="The prior of the belief, for every arm: two numbers. "
        "Without a belief, and for the belief beta, also learned or flat.",
    )
    warm_start: WarmStartBody | None = Field(
        None, description="Rounds that the bandit learns before its first decision."
    )
    expiry: ExpiryBody | None = Field(None, description="Never by default.")
    seed: Seed | None = Field(
        None,
        description="Random by default. Above 2^53 as text, because not every JSON reader has such "
        "numbers.",
    )
    keep: Annotated[int, Field(ge=0, le=1_000_000), _WHOLE] = Field(
        1000, description="Number of closed decisions in memory. The log keeps all of them."
    )
    explain_last: Annotated[int, Field(ge=0, le=10_000), _WHOLE] | None = Field(
        None,
        description="Number of decisions that can be explained in full. "
        "The default depends on the number of arms.",
    )
    holdout: Share | HoldoutBody | None = Field(
        None,
        description="The share of decisions that get a random set, or an object with share and "
        "arms for a fixed one. The lift says what the policy gains over them.",
    )


class GroupBody(Strict):
    """A group of arms. A set has at least ``least`` and at most ``most`` of them."""

    arms: List[Text] = Field(description="Names of arms.")
    least: CountOrZero = Field(0, description="How many of them a set has at least.")
    most: CountOrZero | None = Field(None, description="How many a set has at most.")


class DecideBody(Strict):
    """Constraints of this round; ``n`` for several decisions at once."""

    n: Annotated[int, Field(ge=1, le=MOST_DECISIONS), _WHOLE] | None = Field(
        None, description="Number of decisions, answered as a list: all are issued or none."
    )
    k: Count | None = Field(None, description="Number of arms, if not the bandit's own.")
    at_most: bool = Field(False, description="Whether a set may have fewer than k arms.")
    available: List[Text] | None = Field(None, description="The arms that exist in this round.")
    must: List[Text] | None = Field(None, description="Arms that every set has.")
    must_not: List[Text] | None = Field(None, description="Arms that no set has.")
    groups: List[GroupBody] | None = Field(
        None, description="Groups of arms with limits, which may overlap."
    )
    weights: dict[Text, Weight] | None = Field(None, description="Weights by arm; others have 0.")
    capacity: Weight | None = Field(None, description="The most that a set may weigh.")
    metadata: Metadata | None = Field(
        None, description="Anything that you want to find again with the decision, and in the log."
    )
    context: Row | Rows | None = Field(
        None,
        description="What is known of this round, for a belief made with context: "
        "numbers, or one row of numbers per arm.",
    )
    propensities: Count | None = Field(
        None,
        description="Estimate the probabilities of the arms and of the set from this many samples. "
        "The server limits the number of samples per request, for all its n decisions together.",
    )


class TellBody(Strict):
    """Outcomes of some arms of a decision."""

    outcomes: Annotated[dict[Text, Outcome], Field(min_length=1)] = Field(
        description="Outcomes from 0 to 1, by arm."
    )


class DecideItem(DecideBody):
    """One of many requests for decisions, of any bandits."""

    bandit: Text = Field(description="The id of the bandit.")
    key: Annotated[str, StringConstraints(pattern=misfits.VISIBLE)] | None = Field(
        None, description="As the header Idempotency-Key: the same key gets the same decision."
    )


class DecideAllBody(Strict):
    """Requests for decisions."""

    decisions: Annotated[List[DecideItem], Field(min_length=1, max_length=MOST_ITEMS)] = Field(
        description="One item per request. The result at the same place answers it."
    )


class TellItem(TellBody):
    """Outcomes of one of many decisions."""

    decision: Text = Field(description="The id of the decision.")


class TellAllBody(Strict):
    """Outcomes of many decisions."""

    outcomes: Annotated[List[TellItem], Field(min_length=1, max_length=MOST_ITEMS)] = Field(
        description="One item per decision. The result at the same place answers it."
    )


class ArmsBody(Strict):
    """Arms to add, or retired arms to restore."""

    arms: Annotated[List[Text], Field(min_length=1)] = Field(description="Names of arms.")
    prior: tuple[Positive, Positive] | None = Field(
        None, description="The prior of new arms, for beliefs that do not learn theirs."
    )
    known_only: bool = Field(
        False, description="Refuse arms that the bandit does not have, instead of adding them."
    )
    features: Rows | dict[Text, Row] | None = Field(
        None, description="Those of the arms, as for a new bandit. The default is average ones."
    )


class RemoteDecision(Strict):
    """A decision that a client made with a snapshot, with all its outcomes."""

    id: Text = Field(description="Begins with the id of the snapshot.")
    arms: List[Text] = Field(description="Best first, if they are ranked.")
    outcomes: dict[Text, Outcome] = Field(
        description="By arm. An arm without one has expired: nothing comes later."
    )
    values: List[float] | None = Field(None, description="The sampled value of each arm.")
    certified: bool = Field(False, description="Whether the oracle has proved its promise.")
    round: CountOrZero = Field(description="Of the client.")
    time: Time = Field(description="Seconds since 1970, by the clock of the client.")
    propensities: List[Probability] | None = Field(
        None, description="The probability of each arm to be in the set."
    )
    set_propensity: Probability | None = Field(None, description="The probability of the set.")
    n_samples: CountOrZero = Field(0, description="Number of samples behind the probabilities.")
    context: Row | Rows | None = Field(None, description="What was known of the round.")
    ranked: bool = Field(False, description="Whether the arms are best first.")
    holdout: bool = Field(False, description="Whether the decision is of the hold-out.")


class BatchBody(Strict):
    """Decisions that a client made with snapshots. They are learned in this order."""

    version: Annotated[str, StringConstraints(pattern=misfits.VERSION)] = Field(
        description="That of the last snapshot that the client took before it made the batch."
    )
    decisions: Annotated[List[RemoteDecision], Field(min_length=1, max_length=MOST_ITEMS)] = Field(
        description="Each decision is in one batch only."
    )
