"""What people look at: decisions one after the other, why one was made, and how a bandit fared over time."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from superarm.service import registry, views
from superarm.service.actor import Operation
from superarm.service.live import Live
from superarm.service.operations import find
from superarm.service.store import Store, Turn
from superarm.sessions import Explanation, Reason, UnknownDecisionError

Answer = dict[str, Any]
_AT_ONCE = 20  # so many events are read at once, since each may be of thousands of decisions
_LOOKED_THROUGH = 20_000  # at most so many decisions are looked through for those of one status


def decisions(store: Store, status: str | None, limit: int, before: int | None) -> Operation:
    """Decisions, the newest first."""

    def operation(live: Live, turn: Turn) -> Answer:
        found: list[Answer] = []
        number = (
            live.session.n_decisions
            if before is None
            else min(before - 1, live.session.n_decisions)
        )
        least = max(0, number - _LOOKED_THROUGH)
        if status == "open":
            every = [one for one in reversed(live.session.open) if _number(one.id) <= number]
            found = [find(store, live, one.id) for one in every[:limit]]
            return {
                "decisions": found,
                "next": _number(found[-1]["id"]) if len(every) > limit else None,
            }
        while number > least and len(found) < limit:
            page = store.decided_before(live.bandit.number, number, min(limit, _AT_ONCE))
            if not page:
                break
            for event in page:
                for one in reversed(views.given_out(live.bandit.id, event)):
                    if _number(one["id"]) > number or len(found) == limit:
                        continue
                    number = _number(one["id"]) - 1
                    known = _known(store, live, one)
                    if status is None or known["status"] == status:
                        found.append(known)
        return {"decisions": found, "next": number + 1 if number > 0 else None}

    return operation


def explanation(store: Store, id: str) -> Operation:
    """Why a decision was made: in full while it is in memory, and what the log knows of it afterwards."""

    def operation(live: Live, turn: Turn) -> Answer:
        known = find(store, live, id)
        one = {
            name: known[name]
            for name in ("id", "bandit", "arms", "values", "certified", "round", "time")
        }
        try:
            return {"decision": one, "complete": True, **_explained(live.session.explain(id))}
        except UnknownDecisionError:
            values = known["values"] or [None] * len(known["arms"])
            reasons = [
                {"arm": arm, "value": value}
                for arm, value in zip(known["arms"], values, strict=True)
            ]
            reasons.sort(key=lambda reason: -(reason["value"] or 0.0))
            text = "\n".join(
                [
                    f"decision {id}, round {known['round']}, {'certified' if known['certified'] else 'not certified'}",
                    "what else decided it is no longer in memory (explain_last); sampled values from the log:",
                    *(f"  {reason['arm']}: {reason['value']}" for reason in reasons),
                ]
            )
            rest = {
                "score_is": None,
                "reasons": reasons,
                "best_left_out": None,
                "lost_by": None,
                "text": text,
            }
            return {"decision": one, "complete": False, **rest}

    return operation


def history(store: Store, points: int) -> Operation:
    """The bandit after decisions that are evenly spread over all of them."""

    def operation(live: Live, turn: Turn) -> Answer:
        n = live.session.n_decisions
        numbers = (
            np.unique(np.linspace(1, n, min(points, n)).round().astype(int)).tolist() if n else []
        )
        made: list[Answer] = []
        batch: list[Answer] = []
        for number in numbers:
            place = number - _number(batch[0]["id"]) if batch else 0
            if not 0 <= place < len(batch):  # many points may be of one event, which is read once
                event = next(iter(store.decided_before(live.bandit.number, number, 1)), None)
                batch = [] if event is None else views.given_out(live.bandit.id, event)
                counts = [] if event is None else json.loads(event.body)["counts"]
                place = number - _number(batch[0]["id"]) if batch else 0
            if place < len(batch):  # else it was made in this very turn
                made.append(_point(live, _known(store, live, batch[place]), counts))
        return {"estimate_is": _ESTIMATE, "points": made}

    return operation


_ESTIMATE = "the reward of the set at the outcomes that were told, once all are; null for rewards of your own"


def _known(store: Store, live: Live, one: Answer) -> Answer:
    """A decision with what became of it, from memory or else from the log."""
    session, id = live.session, one["id"]
    try:
        return {**one, "status": session.status(id), "outcomes": session.outcomes(id)}
    except UnknownDecisionError:
        return views.with_outcomes(store, live.bandit, one, live.pending)


def _point(live: Live, known: Answer, counts: list[int]) -> Answer:
    return {
        "round": known["round"],
        "time": known["time"],
        "estimate": _estimate(live, known),
        "evaluations": counts[2],
        "told": counts[4],
    }


def _estimate(live: Live, known: Answer) -> float | None:
    outcomes = known["outcomes"]
    if live.spec["reward"]["name"] not in registry.REWARDS or len(outcomes) < len(known["arms"]):
        return None
    reward = live.session.policy.reward.uncounted  # not one of the policy's evaluations
    return float(
        reward(live.session.numbers(known["arms"]), [outcomes[arm] for arm in known["arms"]])
    )


def _explained(found: Explanation) -> Answer:
    out = found.best_left_out
    return {
        "score_is": found.score_is,
        "reasons": [_reason(reason) for reason in found.reasons],
        "best_left_out": None if out is None else _reason(out),
        "lost_by": _finite(found.lost_by),
        "text": str(found),
    }


def _reason(reason: Reason) -> Answer:
    members = asdict(reason)
    tests = members.pop("tests")
    return {
        **{name: _finite(value) for name, value in members.items()},
        "n_tests": None if tests is None else len(tests),
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _number(id: str) -> int:
    return int(id.rpartition("-")[2])
