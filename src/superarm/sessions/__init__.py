"""A policy in use: decisions with ids, late feedback, arms that come and go, one file, and reasons."""

from superarm.errors import (
    ConflictError,
    ExpiredDecisionError,
    SessionFileError,
    UnknownDecisionError,
)
from superarm.sessions.decisions import Decision, Expiry
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
]
