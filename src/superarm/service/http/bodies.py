"""The bodies and queries of requests. Bodies are strict: unknown members are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from superarm.service.bandits import parts


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is a whole number."""
    return int(value) if type(value) is float and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
_MOST_COUNT = 10_000_000
# No control characters: some databases cannot store them, and people cannot see them.
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Count = Annotated[int, Field(ge=1, le=_MOST_COUNT), _WHOLE]
CountOrZero = Annotated[int, Field(ge=0, le=_MOST_COUNT), _WHOLE]
Outcome = Annotated[float, Field(ge=0.0, le=1.0)]
Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0, le=1e12)]
Weight = Annotated[float, Field(ge=0.0, le=1e300)]
# Models of features and contexts multiply these numbers, and lose precision with larger ones.
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Row = Annotated[list[Number], Field(min_length=1)]
Rows = Annotated[list[Row], Field(min_length=1)]
_MOST_PARAMETERS = 32
_MOST_ITEMS = 10_000  # of one request with many
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
        "maxProperties": _MOST_PARAMETERS,
    }
    return WithJsonSchema({"anyOf": [kind, with_parameters]})


class Strict(BaseModel):
    """No conversions, no other members, no NaN and no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class ExpiryBody(Strict):
    """When decisions expire, and what happens then: see `superarm.sessions.Expiry`."""

    after_s: Positive | None = None
    after_rounds: Count | None = None
    late: Literal["refuse", "ignore"] = "refuse"
    missing: Outcome | None = None


class HoldoutBody(Strict):
    """Which decisions the policy does not make: see `superarm.sessions.Holdout`."""

    share: Share
    arms: Annotated[list[Text], Field(min_length=1)] | None = None


class RoundBody(Strict):
    """A round of an older system: the arms in the order of their places, and their outcomes."""

    arms: Annotated[list[Text], Field(min_length=1)]
    outcomes: list[Outcome | None] = Field(description="One per arm; null if it is not known.")


class WarmStartBody(Strict):
    """What is known from before."""

    rounds: Annotated[list[RoundBody], Field(min_length=1)]
    strength: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0, description="The share of the rounds that count, drawn at random."
    )


class CreateBody(Strict):
    """A new bandit."""

    name: Text = Field(description="A name for people. No two bandits have the same name.")
    arms: list[Text] | Count = Field(
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
    expiry: ExpiryBody | None = None
    seed: Annotated[int, Field(ge=0, lt=2**128), _WHOLE] | None = Field(
        None, description="Random by default."
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

    arms: list[Text]
    least: CountOrZero = 0
    most: CountOrZero | None = None


class DecideBody(Strict):
    """Constraints of this round; ``n`` for several decisions at once."""

    n: Annotated[int, Field(ge=1, le=10_000), _WHOLE] | None = None
    k: Count | None = None
    at_most: bool = False
    available: list[Text] | None = None
    must: list[Text] | None = None
    must_not: list[Text] | None = None
    groups: list[GroupBody] | None = None
    weights: dict[Text, Weight] | None = None
    capacity: Weight | None = None
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

    outcomes: Annotated[dict[Text, Outcome], Field(min_length=1)]


class DecideItem(DecideBody):
    """One of many requests for decisions, of any bandits."""

    bandit: Text = Field(description="The id of the bandit.")
    key: Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")] | None = Field(
        None, description="As the header Idempotency-Key: the same key gets the same decision."
    )


class DecideAllBody(Strict):
    """Requests for decisions."""

    decisions: Annotated[list[DecideItem], Field(min_length=1, max_length=_MOST_ITEMS)]


class TellItem(TellBody):
    """Outcomes of one of many decisions."""

    decision: Text = Field(description="The id of the decision.")


class TellAllBody(Strict):
    """Outcomes of many decisions."""

    outcomes: Annotated[list[TellItem], Field(min_length=1, max_length=_MOST_ITEMS)]


class ArmsBody(Strict):
    """Arms to add, or retired arms to restore."""

    arms: Annotated[list[Text], Field(min_length=1)]
    prior: tuple[Positive, Positive] | None = None
    features: Rows | dict[Text, Row] | None = Field(
        None, description="Those of the arms, as for a new bandit. The default is average ones."
    )


_MOST_NUMBER = 2**53  # larger whole numbers are not exact in every JSON reader


class BanditsQuery(BaseModel):
    """Which bandits to list."""

    limit: int = Field(100, ge=1, le=1000)
    after: str | None = Field(None, max_length=100)
    name: str | None = Field(None, max_length=200)


class BanditQuery(BaseModel):
    """Which arms of a bandit to show."""

    top: int = Field(20, ge=0, le=10_000)
    query: str = Field("", max_length=200)


class VerdictQuery(BaseModel):
    """How sure a verdict or an interval must be."""

    delta: float = Field(0.05, gt=0.0, lt=1.0, description="The error probability allowed.")


class HistoryQuery(BaseModel):
    """How many points of a history to show."""

    points: int = Field(200, ge=1, le=1000)


class LogQuery(BaseModel):
    """Which events of a log to read."""

    after: int = Field(0, ge=0, le=_MOST_NUMBER)
    follow: bool = False


class DecisionsQuery(BaseModel):
    """Which decisions to list."""

    status: Literal["open", "told", "expired"] | None = None
    limit: int = Field(50, ge=1, le=1000)
    before: int | None = Field(None, ge=1, le=_MOST_NUMBER)
