"""Operations that add, restore and retire arms.

The event of a change stores the idempotency key and the answer, for requests that are repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from superarm.service.bandits.changes import event_with, key_taken
from superarm.service.bandits.features import Given, Rows, check_size, rows_of
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import Answer, Repeated
from superarm.service.log.events import Event
from superarm.service.log.store import Turn
from superarm.service.problems import Problem, shown, shown_error

# The member of the answer with the arms of each kind of event.
_MEMBERS = {"arms_added": "added", "arms_restored": "restored", "arms_retired": "retired"}


def add_arms(
    live: Live,
    turn: Turn,
    arms: Sequence[str],
    prior: Sequence[float] | None,
    features: Given | None,
    key: str | None,
    now: Callable[[], float],
    most_arms: int,
    known_only: bool = False,
) -> Answer:
    """Add the arms that are new, unless only known ones may come, and restore retired arms."""
    # Without features the digest is that of earlier versions, which logs have.
    more = (*(() if features is None else (features,)), *(("known",) if known_only else ()))
    request = _digest("add", arms, prior, *more)
    earlier = event_with(key, live, turn)
    if earlier is not None:
        return _same_answer(earlier, request)
    # Without repetitions, in the order of the request.
    session, names = live.session, dict.fromkeys(arms)
    added = [name for name in names if name not in session]
    restored = [name for name in names if name in session and session.is_retired(name)]
    if known_only and added:
        raise Problem(
            422,
            f"arms must be ones that the bandit has, got {shown(added[0])}",
            fix="leave out known_only, and it is added",
        )
    n_arms = session.policy.reward.n_arms + len(added)
    if n_arms > most_arms:
        raise Problem(
            422,
            f"arms must be at most {most_arms} here, got {n_arms}",
            fix="serve with --most-arms",
        )
    check_size(live.spec, n_arms)
    change: Answer = {"arms": added, "prior": None if prior is None else list(prior)}
    if features is not None:
        if prior is not None:
            raise Problem(422, "arms must have features or a prior, got both")
        change["features"] = _rows_of_new(live, list(arms), features, added)
    live.advance(now())
    try:
        session.add_arms(added, prior=change.get("features", change["prior"]))
    except (ValueError, TypeError, OverflowError) as error:
        raise Problem(422, f"arms cannot be added: {shown_error(error)}") from error
    except Problem as problem:
        if problem.status != 422:
            raise
        # The reward has parameters for the arms that there are, and cannot get others.
        detail = f"arms cannot be added: {problem.detail}"
        raise Problem(422, detail, fix="make another bandit, with a reward for all arms") from None
    # After adding, which may fail: then nothing is restored.
    session.restore(*restored)
    changes: dict[str, Answer] = {
        "arms_added": change,
        "arms_restored": {"arms": restored},
    }
    return _logged(live, changes, request, key)


def _rows_of_new(live: Live, arms: list[str], features: Given, added: list[str]) -> Rows:
    """The features of the arms that are new. Other arms keep their features."""
    by_name = dict(zip(arms, rows_of(features, arms, live.spec["belief"]), strict=True))
    return [by_name[name] for name in added]


def retire(live: Live, turn: Turn, name: str, key: str | None, now: Callable[[], float]) -> Answer:
    """Retire an arm."""
    request = _digest("retire", name)
    earlier = event_with(key, live, turn)
    if earlier is not None:
        return _same_answer(earlier, request)
    live.advance(now())
    if name not in live.session:
        detail = f"bandit {live.bandit.id} has no arm {shown(name)}"
        raise Problem(404, detail, kind="arm-unknown")
    # Retiring twice is not an error, and not an event.
    retired = [] if live.session.is_retired(name) else [name]
    try:
        live.session.retire(*retired)
    except ValueError as error:
        detail = f"{shown(name)} cannot be retired: {shown_error(error)}"
        raise Problem(409, detail, kind="arm-needed") from error
    return _logged(live, {"arms_retired": {"arms": retired}}, request, key)


def _logged(live: Live, changes: dict[str, Answer], request: str, key: str | None) -> Answer:
    """Log the changes and return the answer. The first event gets the key and the answer."""
    session = live.session
    answer: Answer = {member: [] for member in _MEMBERS.values()}
    answer |= {_MEMBERS[kind]: change["arms"] for kind, change in changes.items()}
    answer |= {"n_arms": session.policy.reward.n_arms, "n_retired": len(session.retired)}
    for kind, change in changes.items():
        if not change["arms"]:
            continue
        more: Answer = {}
        if key is not None:
            # The arms of this event are in the event already, and they may be many.
            rest = {name: value for name, value in answer.items() if name != _MEMBERS[kind]}
            more = {"again": {"request": request, "answer": rest}}
        live.log(kind, {**change, **more}, key=key)
        key = None
    return answer


def _same_answer(event: Event, request: str) -> Answer:
    body = json.loads(event.body)
    if "again" not in body or body["again"]["request"] != request:
        raise key_taken()
    return Repeated({**body["again"]["answer"], _MEMBERS[event.kind]: body["arms"]})


def _digest(*request: Any) -> str:
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()
