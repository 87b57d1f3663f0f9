"""A policy in use: decisions with ids, late feedback, changing arms, one file, explanations.

The exceptions are in `superarm.errors`.
"""

from superarm.sessions.decisions import Decision, decision_number
from superarm.sessions.expiry import Expiry
from superarm.sessions.explain import Explanation, Reason
from superarm.sessions.holdout import Holdout, Lift
from superarm.sessions.session import Session
from superarm.sessions.verdict import Verdict

__all__ = [
    "Decision",
    "Expiry",
    "Explanation",
    "Holdout",
    "Lift",
    "Reason",
    "Session",
    "Verdict",
    "decision_number",
]
