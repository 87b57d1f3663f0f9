"""Arms that come and go, as operations for the engine. The log has the key of a change, and answers it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from superarm.service import registry
from superarm.service.actor import Operation
from superarm.service.bodies import ArmsBody
from superarm.service.events import Event
from superarm.service.live import Live
from superarm.service.operations import event_of, key_taken
from superarm.service.problems import Problem, shown
from superarm.service.store import Turn

Answer = dict[str, Any]
_CHANGES = {"arms_added": "added", "arms_restored": "restored", "arms_retired": "retired"}


def add_arms(
    body: ArmsBody, key: str | None, now: Callable[[], float], most_arms: int
) -> Operation:
    """Add those that are new, and bring back those that are retired."""
    request = _digest("add", body.arms, body.prior)

    def operation(live: Live, turn: Turn) -> Answer:
        before = event_of(live, turn, key)
        if before is not None:
            return _again(before, request)
        session, names = live.session, dict.fromkeys(body.arms)
        added = [name for name in names if name not in session]
        restored = [name for name in names if name in session and session.is_retired(name)]
        n_arms = session.policy.reward.n_arms + len(added)
        if n_arms > most_arms:
            raise Problem(
                422,
                f"arms must be at most {most_arms} here, got {n_arms}",
                fix="serve with --most-arms",
            )
        live.at(now())
        prior = None if body.prior is None else list(body.prior)
        try:
            session.add_arms(added, prior=prior)
        except (ValueError, TypeError, OverflowError) as error:
            raise Problem(422, f"arms cannot be added: {registry.shown_error(error)}") from error
        session.restore(*restored)
        new: Answer = {"arms": added, "prior": prior}
        changes = {"arms_added": new, "arms_restored": {"arms": restored}}
        return _logged(live, changes, request, key)

    return operation


def retire(name: str, key: str | None, now: Callable[[], float]) -> Operation:
    """Retire an arm."""
    request = _digest("retire", name)

    def operation(live: Live, turn: Turn) -> Answer:
        before = event_of(live, turn, key)
        if before is not None:
            return _again(before, request)
        live.at(now())
        if name not in live.session:
            raise Problem(404, f"bandit {live.bandit.id} has no arm {shown(name)}")
        news = [] if live.session.is_retired(name) else [name]
        try:
            live.session.retire(*news)
        except ValueError as error:
            raise Problem(
                409, f"{shown(name)} cannot be retired: {registry.shown_error(error)}"
            ) from error
        return _logged(live, {"arms_retired": {"arms": news}}, request, key)

    return operation


def _logged(live: Live, changes: dict[str, Answer], request: str, key: str | None) -> Answer:
    """The answer, once what has changed is logged: the first event has the key, and what the answer has besides it."""
    session = live.session
    answer: Answer = {kind: [] for kind in _CHANGES.values()}
    answer |= {_CHANGES[kind]: change["arms"] for kind, change in changes.items()}
    answer |= {"n_arms": session.policy.reward.n_arms, "n_retired": len(session.retired)}
    for kind, change in changes.items():
        if not change["arms"]:
            continue
        more: Answer = {}
        if key is not None:
            rest = {name: value for name, value in answer.items() if name != _CHANGES[kind]}
            more = {"again": {"request": request, "answer": rest}}
        live.log(kind, {**change, **more}, key=key)
        key = None
    return answer


def _again(event: Event, request: str) -> Answer:
    body = json.loads(event.body)
    if "again" not in body or body["again"]["request"] != request:
        raise key_taken()
    return {**body["again"]["answer"], _CHANGES[event.kind]: body["arms"]}


def _digest(*request: Any) -> str:
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()
