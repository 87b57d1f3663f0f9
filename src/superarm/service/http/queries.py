"""The queries of requests. Unknown parameters are refused, and texts are converted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from superarm.service.http.bodies import MOST_NUMBER

# Described as text, which is what ``next`` is: a client passes on what it got.
_Place = Annotated[
    int,
    Field(ge=1, le=MOST_NUMBER),
    WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]{0,14}$"}),
]


class _Query(BaseModel):
    """No other parameters."""

    model_config = ConfigDict(extra="forbid")


class BanditsQuery(_Query):
    """Which bandits to list."""

    limit: int = Field(100, ge=1, le=1000, description="Most bandits per page.")
    after: str | None = Field(None, max_length=100, description="The next of the page before.")
    name: str | None = Field(None, max_length=200, description="Only the bandit of this name.")
    query: str = Field("", max_length=200, description="Only bandits with this text in the name.")


class BanditQuery(_Query):
    """Which arms of a bandit to show."""

    top: int = Field(20, ge=0, le=10_000, description="How many of the best arms.")
    query: str = Field("", max_length=200, description="Only arms with this text in their names.")


class ArmsQuery(_Query):
    """Which arms of a bandit to list."""

    limit: int = Field(1000, ge=1, le=10_000, description="Most arms per page.")
    after: _Place | None = Field(None, description="The next of the page before.")
    query: str = Field("", max_length=200, description="Only arms with this text in their names.")


class DeleteQuery(_Query):
    """Which bandit to delete, once more."""

    name: str = Field("", max_length=200, description="The name of the bandit, to confirm.")


class LiftQuery(_Query):
    """How sure an interval must be."""

    delta: float = Field(0.05, gt=0.0, lt=1.0, description="The error probability allowed.")


class VerdictQuery(LiftQuery):
    """How sure a verdict must be, and what is known of the outcomes."""

    dependent: bool = Field(False, description="Whether outcomes of a decision may be dependent.")
    late: Literal["any", "alike"] = Field(
        "any", description="Whether good outcomes may come sooner than bad ones, or all alike."
    )


class HistoryQuery(_Query):
    """How many points of a history to show."""

    points: int = Field(200, ge=1, le=1000, description="Most points.")


class LogQuery(_Query):
    """Which events of a log to read."""

    after: int = Field(0, ge=0, le=MOST_NUMBER, description="Only events with a higher seq.")
    follow: bool = Field(False, description="Whether to wait for new events.")


class DecisionsQuery(_Query):
    """Which decisions to list."""

    status: Literal["open", "told", "expired"] | None = Field(
        None, description="Only decisions that are open, complete (told) or expired."
    )
    limit: int = Field(
        50, ge=1, le=1000, description="Most decisions per page. Long decisions make it shorter."
    )
    before: _Place | None = Field(
        None, description="The next of the page before, or the number at the end of an id."
    )
