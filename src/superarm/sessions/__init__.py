"""A policy in use: decisions with ids, late feedback, changing arms, one file, explanations."""

from superarm.errors import (
    ConflictError,
    ExpiredDecisionError,
    SessionFileError,
    UnknownDecisionError,
)
from superarm.sessions.decisions import Decision, Expiry, decision_number
from superarm.sessions.explain import Explanation, Reason
from superarm.sessions.session import Session

__all__ = [
    "ConflictError",
    "Decision",
    "ExpiredDecisionError",
    "Expiry",
    "Explanation",
    "Reason",
    "Session",
    "SessionFileError",
    "UnknownDecisionError",
    "decision_number",
]
