"""The models of answers, for the OpenAPI description. Answers are not validated when sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from superarm.service.bandits.decisions import ESTIMATE_IS
from superarm.service.http.problem_body import ProblemBody
from superarm.service.summary import Summary
from superarm.sessions import Lift

Status = Literal["open", "told", "expired"]


class BanditList(BaseModel):
    """Some bandits. If there are more, ``next`` is the value of ``after`` for them."""

    bandits: list[Summary]
    next: str | None


class ArmState(BaseModel):
    """An arm: mean, equal-tailed 95% interval, and a and b of a Beta posterior."""

    arm: str
    mean: float | None
    low: float | None
    high: float | None
    a: float | None = None
    b: float | None = None
    retired: bool


class ArmList(BaseModel):
    """Arms in the order in which they came. ``next`` is the ``after`` of the next page."""

    arms: list[ArmState]
    next: str | None


@dataclass(frozen=True, slots=True)
class BanditState(Summary):
    """A bandit, what it is made of, and its best arms."""

    spec: dict[str, Any]
    retired: list[str]
    events: int
    posterior: list[ArmState]
    merged: Annotated[
        int,
        Field(description="Decisions that came in batches. No other number here counts them."),
    ] = 0


class VerdictAnswer(BaseModel):
    """Which arms have the largest means, and whether that is sure: see `superarm.sessions`."""

    arms: list[str]
    done: bool = Field(description="Whether they are the best, except with probability delta.")
    delta: float
    error: float = Field(description="The least delta at which it would be done now.")
    closest: list[str] = Field(description="The two arms that are hardest to tell apart.")
    probability: float | None
    loss: float | None
    n_awaited: int = Field(description="Awaited outcomes, counted as the least favourable.")
    text: str


@dataclass(frozen=True)
class LiftAnswer(Lift):
    """What the policy gains over the hold-out, in mean outcome: see `superarm.sessions.Lift`."""

    low: Annotated[
        float, Field(description="The end of an interval that holds at all times at once.")
    ]
    text: str


class DecisionAnswer(BaseModel):
    """A set of arms to pull. Propensities and context are there if the request had them."""

    id: str
    bandit: str
    arms: list[str] = Field(description="Best first: the order in which to show them.")
    values: list[float] | None
    certified: bool
    round: int
    time: float
    propensities: list[float] | None = Field(
        None, description="The probability of each arm to be in the set."
    )
    set_propensity: float | None = Field(None, description="The probability of this set.")
    n_samples: int | None = Field(
        None, description="Number of samples behind the probabilities, with this decision."
    )
    context: list[float] | list[list[float]] | None = Field(
        None, description="What was known of the round, if a context was given."
    )
    metadata: dict[str, Any] | None = Field(None, description="As the request had it.")
    ranked: bool | None = Field(
        None, description="True. Missing for decisions from before arms were ranked."
    )
    holdout: bool | None = Field(
        None, description="True for decisions of the hold-out. Missing for all others."
    )


class DecisionBatch(BaseModel):
    """Several decisions, made together."""

    decisions: list[DecisionAnswer]


class DecisionState(DecisionAnswer):
    """A decision, its status and its outcomes so far."""

    status: Status
    outcomes: dict[str, float]


class DecisionList(BaseModel):
    """Decisions, newest first. If there are more, ``next`` is the value of ``before`` for them."""

    decisions: list[DecisionState]
    next: str | None


class ToldAnswer(BaseModel):
    """The arms whose outcomes are new, and the status of the decision."""

    id: str
    new: list[str]
    status: Status


class DecideResult(BaseModel):
    """What one of many requests would have been answered: with success, or with a problem."""

    answer: DecisionAnswer | DecisionBatch | None = None
    problem: ProblemBody | None = None
    replayed: bool | None = Field(
        None, description="True for the answer to an earlier request with the same key."
    )


class DecideResults(BaseModel):
    """The results, in the order of the requests."""

    results: list[DecideResult]


class TellResult(BaseModel):
    """What one of many requests would have been answered: with success, or with a problem."""

    answer: ToldAnswer | None = None
    problem: ProblemBody | None = None


class TellResults(BaseModel):
    """The results, in the order of the requests."""

    results: list[TellResult]


class SnapshotAnswer(BaseModel):
    """What a client needs to decide by itself."""

    id: str = Field(description="The beginning of the ids of the decisions, before -1, -2, ...")
    bandit: str
    version: str = Field(description="For the batches: which events the snapshot has seen.")
    decisions: int = Field(description="How many closed decisions the snapshot knows.")
    spec: dict[str, Any] = Field(description="The parts of the policy.")
    session: str = Field(description="A file of a session of superarm, in base64.")


class BatchAnswer(BaseModel):
    """How much of a batch is in the log: all of it."""

    decisions: int
    outcomes: int


class ArmsAnswer(BaseModel):
    """The arms that were added, restored or retired, and the numbers of arms now."""

    added: list[str]
    restored: list[str]
    retired: list[str]
    n_arms: int
    n_retired: int


class ReasonAnswer(BaseModel):
    """Why one arm was chosen or left out: see `superarm.sessions.Reason`."""

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
    base: float | None = None
    columns: list[float] | None = None
    own: float | None = None
    mostly: str | None = None


class ExplanationAnswer(BaseModel):
    """Why a decision was made; ``complete`` is false if only the log has it."""

    decision: DecisionAnswer
    complete: bool
    score_is: str | None
    reasons: list[ReasonAnswer]
    best_left_out: ReasonAnswer | None
    lost_by: float | None
    prior: str | None = None
    text: str


class HistoryPoint(BaseModel):
    """The bandit after a decision."""

    round: int
    time: float
    estimate: float | None
    evaluations: int
    told: int


HistoryPoint.__doc__ = f"The bandit after a decision. ``estimate`` is {ESTIMATE_IS}."


class History(BaseModel):
    """Points over time, oldest first."""

    estimate_is: str
    points: list[HistoryPoint]


class ParameterAnswer(BaseModel):
    """A parameter of a part; ``choices`` are words that it takes."""

    name: str
    kind: Literal["int", "float", "bool", "choice", "pair", "oracle", "vector", "matrix"]
    sentence: str
    required: bool
    default: Any
    least: float | None
    most: float | None
    choices: list[str]


class PartAnswer(BaseModel):
    """A belief, an oracle or a reward."""

    name: str
    label: str
    sentence: str
    parameters: list[ParameterAnswer]


class Parts(BaseModel):
    """Everything that a bandit can be made of."""

    beliefs: list[PartAnswer]
    oracles: list[PartAnswer]
    rewards: list[PartAnswer]


class Health(BaseModel):
    """Whether the service can write."""

    status: Literal["ok", "read_only", "failing"]
    version: str
    database: str
