"""The bodies of requests and answers, strict: what is not named here is refused."""

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

from superarm.service import registry


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is a whole one."""
    return int(value) if type(value) is float and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
# No control characters: some databases cannot store them, and people cannot see them.
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Count = Annotated[int, Field(ge=1, le=10_000_000), _WHOLE]
Outcome = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0, le=1e12)]
Weight = Annotated[float, Field(ge=0.0, le=1e300)]
Named = Annotated[dict[str, Any], Field(min_length=1, max_length=32)]


def _one_of(names: Iterable[str]) -> Any:
    """In the description: one of these names, or an object with one of them as kind. Checked when it is made."""
    kind = {"type": "string", "enum": sorted(names)}
    described = {
        "type": "object",
        "properties": {"kind": kind},
        "required": ["kind"],
        "maxProperties": 32,
    }
    return WithJsonSchema({"anyOf": [kind, described]})


class Strict(BaseModel):
    """No conversions, no other members, no NaN and no infinities."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class ExpiryBody(Strict):
    """When decisions expire, and what becomes of them: see `superarm.Expiry`."""

    after_s: Positive | None = None
    after_rounds: Count | None = None
    late: Literal["refuse", "ignore"] = "refuse"
    missing: Outcome | None = None


class CreateBody(Strict):
    """A bandit to be."""

    name: Text = Field(description="What people call it; no two bandits have the same name.")
    arms: list[Text] | Count = Field(
        description='Names, all different; or a number n for the names "0" to "n - 1".'
    )
    k: Count = Field(description="How many arms a decision has.")
    belief: Annotated[str | Named, _one_of(registry.BELIEFS)] = Field(
        "beta", description="A name, or an object with kind and parameters."
    )
    oracle: Annotated[str | Named, _one_of(registry.ORACLES)] | None = Field(
        None,
        description="A name, or an object with kind and parameters; top_k or lazy_singletons unless given.",
    )
    reward: str | Named = Field(
        "linear", description="A name, or an object with name and parameters."
    )
    prior: tuple[Positive, Positive] | None = Field(
        None, description="What the belief of each arm starts with."
    )
    expiry: ExpiryBody | None = None
    seed: Annotated[int, Field(ge=0, lt=2**128), _WHOLE] | None = Field(
        None, description="Drawn unless given."
    )
    keep: Annotated[int, Field(ge=0, le=1_000_000), _WHOLE] = Field(
        1000, description="How many closed decisions are kept in memory; the log keeps all."
    )
    explain_last: Annotated[int, Field(ge=0, le=10_000), _WHOLE] | None = Field(
        None,
        description="How many decisions can be explained in full; as many as memory allows, unless given.",
    )


class GroupBody(Strict):
    """Arms of which a set has at least ``least`` and at most ``most``."""

    arms: list[Text]
    least: Annotated[int, Field(ge=0, le=10_000_000), _WHOLE] = 0
    most: Annotated[int, Field(ge=0, le=10_000_000), _WHOLE] | None = None


class DecideBody(Strict):
    """What may be chosen in this round. With ``n``, so many decisions at once."""

    n: Annotated[int, Field(ge=1, le=10_000), _WHOLE] | None = None
    k: Count | None = None
    at_most: bool = False
    available: list[Text] | None = None
    must: list[Text] | None = None
    must_not: list[Text] | None = None
    groups: list[GroupBody] | None = None
    weights: dict[Text, Weight] | None = None
    capacity: Weight | None = None
    propensities: Count | None = Field(
        None,
        description="From so many samples, say with which probability arms and set were picked. The server limits how "
        "many samples a request may draw, those of all its n decisions together.",
    )


class TellBody(Strict):
    """What some arms of a decision did."""

    outcomes: Annotated[dict[Text, Outcome], Field(min_length=1)]


class ArmsBody(Strict):
    """Arms to add, or retired ones to bring back."""

    arms: Annotated[list[Text], Field(min_length=1)]
    prior: tuple[Positive, Positive] | None = None


class Summary(BaseModel):
    """A bandit in numbers."""

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


class BanditList(BaseModel):
    """A page of bandits; ``next`` is what to give as ``after`` for more."""

    bandits: list[Summary]
    next: str | None


class ArmState(BaseModel):
    """What is known of an arm: mean and the equal-tailed 95% interval; a and b where it is a Beta."""

    arm: str
    mean: float | None
    low: float | None
    high: float | None
    a: float | None = None
    b: float | None = None
    retired: bool


class BanditState(Summary):
    """A bandit, what it is made of, and its best arms."""

    spec: dict[str, Any]
    retired: list[str]
    events: int
    posterior: list[ArmState]


class DecisionAnswer(BaseModel):
    """A set of arms to pull; the last three are there where propensities were asked for."""

    id: str
    bandit: str
    arms: list[str]
    values: list[float] | None
    certified: bool
    round: int
    time: float
    propensities: list[float] | None = Field(
        None, description="With which probability each arm was in the set."
    )
    set_propensity: float | None = Field(
        None, description="With which probability exactly this set was picked."
    )
    n_samples: int | None = Field(
        None, description="Of how many samples these are shares, this decision among them."
    )


class DecisionBatch(BaseModel):
    """Several decisions, made together."""

    decisions: list[DecisionAnswer]


class DecisionState(DecisionAnswer):
    """A decision and what became of it."""

    status: Literal["open", "told", "expired"]
    outcomes: dict[str, float]


class DecisionList(BaseModel):
    """Decisions, the newest first; ``next`` is what to give as ``before`` for more."""

    decisions: list[DecisionState]
    next: int | None


class ToldAnswer(BaseModel):
    """Of which arms that was news."""

    id: str
    new: list[str]
    status: Literal["open", "told", "expired"]


class ArmsAnswer(BaseModel):
    """Which arms were added, brought back or retired, and how many there are now."""

    added: list[str]
    restored: list[str]
    retired: list[str]
    n_arms: int
    n_retired: int


class ReasonAnswer(BaseModel):
    """What spoke for one arm: see `superarm.Reason`."""

    arm: str
    rank: int | None = None
    value: float | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    lower: float | None = None
    upper: float | None = None
    n_tests: int | None = None


class ExplanationAnswer(BaseModel):
    """Why a decision is as it is; ``complete`` is false where only the log knows it."""

    decision: DecisionAnswer
    complete: bool
    score_is: str | None
    reasons: list[ReasonAnswer]
    best_left_out: ReasonAnswer | None
    lost_by: float | None
    text: str


class HistoryPoint(BaseModel):
    """The bandit after a decision.

    ``estimate`` is the reward of the set at the outcomes that were told, once all are; null for rewards of your own.
    """

    round: int
    time: float
    estimate: float | None
    evaluations: int
    told: int


class History(BaseModel):
    """Points over time, the oldest first."""

    estimate_is: str
    points: list[HistoryPoint]


class Health(BaseModel):
    """Whether the service can work."""

    status: Literal["ok", "read_only", "failing"]
    version: str
    database: str


class ProblemBody(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    expected: str | None = None
    got: str | None = None
    fix: str | None = None
    errors: list[dict[str, Any]] | None = None
