"""What is answered about bandits and decisions, from memory or from the log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from superarm.service.events import Bandit, Event
from superarm.service.live import COUNTS, Live, decision_of, number_of, sampled
from superarm.service.store import Store
from superarm.sessions import Decision

Answer = dict[str, Any]


def summary(bandit: Bandit, counts: Iterable[int]) -> Answer:
    """A bandit in numbers."""
    head = {"id": bandit.id, "name": bandit.name, "k": bandit.k, "created": bandit.created}
    return {**head, **dict(zip(COUNTS, counts, strict=True))}


def logged_summary(store: Store, bandit: Bandit) -> Answer:
    """The same from the last event."""
    last = store.last(bandit.number)
    return summary(bandit, json.loads(last.body)["counts"] if last else [0] * len(COUNTS))


def state(live: Live, top: int, query: str) -> Answer:
    """A bandit with its spec and its best arms, those whose name has ``query`` in it; O(n_arms)."""
    session = live.session
    names = session.names
    spec = {**live.spec, "arms": len(names)}  # the names are many, and in the log
    return {
        **summary(live.bandit, live.counts),
        "spec": spec,
        "retired": [str(name) for name in session.retired],
        "events": live.seq,
        "posterior": _posterior(session, names, top, query),
    }


def _posterior(session: Any, names: tuple[Any, ...], top: int, query: str) -> list[Answer]:
    belief = session.policy.belief
    means = belief.mean() if hasattr(belief, "mean") else belief.outcomes.mean()
    means = np.nan_to_num(np.asarray(means, np.float64), nan=-1.0)
    if query:
        wanted = query.casefold()
        among = np.array([i for i, name in enumerate(names) if wanted in name.casefold()], np.intp)
    else:
        among = np.arange(len(names))
    if len(among) > top:
        among = among[np.argpartition(-means[among], top)[:top]] if top else among[:0]
    best = among[np.argsort(-means[among], kind="stable")]
    posterior: Any = belief.posterior(best) if hasattr(belief, "posterior") else None
    ends = (
        [[None] * len(best)] * 2
        if posterior is None
        else [end.tolist() for end in posterior.interval(0.95)]
    )
    rows = []
    for place, arm in enumerate(best.tolist()):
        mean = float(means[arm])
        row = {
            "arm": names[arm],
            "mean": None if mean < 0 else mean,
            "low": ends[0][place],
            "high": ends[1][place],
        }
        if hasattr(posterior, "a"):
            row |= {"a": float(posterior.a[place]), "b": float(posterior.b[place])}
        rows.append({**row, "retired": session.is_retired(names[arm])})
    return rows


def decision(bandit: str, one: Decision) -> Answer:
    """A decision as it is given out."""
    return {
        "id": one.id,
        "bandit": bandit,
        "arms": list(one.arms),
        "values": None if one.values is None else list(one.values),
        "certified": one.certified,
        "round": one.round,
        "time": one.time,
        **sampled(one),
    }


def given_out(bandit: str, event: Event) -> list[Answer]:
    """The decisions of an event."""
    body = json.loads(event.body)
    return [
        decision(bandit, decision_of(one, body["round"], event.time)) for one in body["decisions"]
    ]


def logged_decision(
    store: Store, bandit: Bandit, number: int, pending: Iterable[Event] = ()
) -> tuple[Answer, Event] | None:
    """A decision by its number, however old, and the event that gave it out."""
    for event in [
        *(one for one in pending if one.kind == "decided"),
        *store.decided_before(bandit.number, number, 1),
    ]:
        for one in given_out(bandit.id, event):
            if number_of(one["id"]) == number:
                return one, event
    return None


def with_outcomes(
    store: Store, bandit: Bandit, one: Answer, pending: Iterable[Event] = ()
) -> Answer:
    """A decision that is closed, with what was told of it and what became of it, from the log."""
    outcomes: dict[str, float] = {}
    number = number_of(one["id"])
    late = [event for event in pending if event.kind == "told" and event.decision == number]
    for told in [*store.about(bandit.number, number), *late]:
        outcomes |= json.loads(told.body)["outcomes"]
    status = "told" if len(outcomes) == len(one["arms"]) else "expired"
    return {
        **one,
        "status": status,
        "outcomes": {arm: outcomes[arm] for arm in one["arms"] if arm in outcomes},
    }


def line(bandit: Bandit, event: Event) -> bytes:
    """An event as a line of the log that clients read: without what is for the service alone."""
    body = json.loads(event.body)
    for name in ("mark", "again"):
        body.pop(name, None)
    counts = dict(zip(COUNTS, body.pop("counts"), strict=True))
    head = {"seq": event.seq, "time": event.time, "kind": event.kind, "bandit": bandit.id}
    if event.key is not None:
        head["key"] = event.key
    return json.dumps({**head, **body, "counts": counts}).encode() + b"\n"
