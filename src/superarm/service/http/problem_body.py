"""The model of problems, for the OpenAPI description."""

from __future__ import annotations

from pydantic import BaseModel, Field

from superarm.service.problems import KINDS


class ProblemPlace(BaseModel):
    """A place in a request, and what is wrong there."""

    at: str = Field(description="The member or the parameter, with dots for what is inside.")
    detail: str
    got: str = Field(description="The value that came, shortened.")


class ProblemBody(BaseModel):
    """A problem document of RFC 9457."""

    type: str = Field(
        description="For programs: about:blank, or one of "
        + ", ".join(f"urn:superarm:{kind}" for kind in KINDS)
        + ". New versions may have more."
    )
    title: str = Field(description="The words of the status.")
    status: int
    detail: str = Field(description="What is wrong, for people.")
    expected: str | None = Field(None, description="What should have come.")
    got: str | None = Field(None, description="What came.")
    fix: str | None = Field(None, description="What to do.")
    errors: list[ProblemPlace] | None = Field(
        None, description="Each wrong place of the request, if there may be several."
    )
