"""Why a decision was made."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from superarm.errors import UnknownDecisionError
from superarm.service.bandits.decisions import find
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import PROPENSITIES, Answer
from superarm.service.log.store import Turn
from superarm.sessions import Explanation, Reason
from superarm.sessions.decisions import CERTIFIED

_NOT_SHOWN = ("status", "outcomes", *PROPENSITIES)


def explain(live: Live, turn: Turn, id: str) -> Answer:
    """Why a decision was made: in full while it is in memory, then what the log has."""
    known = find(turn.store, live, id)
    decision = {name: value for name, value in known.items() if name not in _NOT_SHOWN}
    try:
        found = _from_memory(live.session.explain(id))
    except UnknownDecisionError:
        return {"decision": decision, "complete": False, **_from_log(known)}
    return {"decision": decision, "complete": True, **found}


def _from_memory(found: Explanation) -> Answer:
    out = found.best_left_out
    return {
        "score_is": found.score_is,
        "reasons": [_reason(reason) for reason in found.reasons],
        "best_left_out": None if out is None else _reason(out),
        "lost_by": _finite(found.lost_by),
        "prior": found.prior,
        "text": str(found),
    }


def _reason(reason: Reason) -> Answer:
    members = asdict(reason)
    tests = members.pop("tests")
    n_tests = None if tests is None else len(tests)
    return {**{name: _finite(value) for name, value in members.items()}, "n_tests": n_tests}


def _finite(value: Any) -> Any:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _from_log(known: Answer) -> Answer:
    arms = known["arms"]
    values = known["values"] or [None] * len(arms)
    reasons = [{"arm": arm, "value": value} for arm, value in zip(arms, values, strict=True)]
    if not known.get("ranked"):  # from before decisions were ranked
        reasons.sort(key=lambda reason: -(reason["value"] or 0.0))
    certified = CERTIFIED if known["certified"] else "not certified"
    lines = [
        f"decision {known['id']}, round {known['round']}, {certified}",
        "the other reasons are no longer in memory (explain_last); sampled values from the log:",
        *(f"  {reason['arm']}: {reason['value']}" for reason in reasons),
    ]
    if known.get("holdout"):
        lines[1:] = ["of the hold-out: the policy did not make this decision"]
    return {
        "score_is": None,
        "reasons": reasons,
        "best_left_out": None,
        "lost_by": None,
        "prior": None,
        "text": "\n".join(lines),
    }
