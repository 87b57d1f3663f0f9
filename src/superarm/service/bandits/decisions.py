"""Find decisions, in memory or else in the log: one by its id, or some over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from superarm.errors import UnknownDecisionError
from superarm.service.bandits import parts
from superarm.service.bandits.live import EVALUATIONS, TOLD, Live
from superarm.service.bandits.records import (
    Answer,
    answer_at,
    answer_of,
    answers_of,
    outcomes_in,
)
from superarm.service.log.events import Event
from superarm.service.log.store import Store, StoreError, Turn
from superarm.service.problems import Problem, shown
from superarm.sessions import decision_number

ESTIMATE_IS = (
    "the reward of the set at its outcomes, once all are known; none for the operator's own rewards"
)


def show(live: Live, turn: Turn, id: str) -> Answer:
    """A decision with its status and outcomes, as an operation."""
    return find(turn.store, live, id)


def find(store: Store, live: Live, id: str) -> Answer:
    """A decision with its status and outcomes."""
    session = live.session
    try:
        one = session.decision(id)
    except UnknownDecisionError:
        return _find_closed(store, live, id)
    metadata = _metadata(store, live, decision_number(id))
    answer = answer_of(live.bandit.id, one.record(), one.round, one.time, one.context, metadata)
    return {**answer, "status": session.status(id), "outcomes": session.outcomes(id)}


def _metadata(store: Store, live: Live, number: int) -> Any:
    """The metadata of a decision, which only its event has."""
    event = _event_of(store, live, number)
    # Most decisions have none, and the event of many decisions is long.
    if event is None or '"metadata"' not in event.body:
        return None
    one = _answer_in(live, event, json.loads(event.body), number)
    return None if one is None else one.get("metadata")


def _find_closed(store: Store, live: Live, id: str) -> Answer:
    """A decision that is not in memory, so it is closed: all open decisions are in memory."""
    number = decision_number(id)
    event = _event_of(store, live, number)
    one = None if event is None else _answer_in(live, event, json.loads(event.body), number)
    if one is None or one["id"] != id:
        raise Problem(404, f"no decision has the id {shown(id)}", kind="decision-unknown")
    if number > live.session.n_decisions:
        raise behind_its_log(live)
    return _with_logged_outcomes(store, live, one)


def _event_of(store: Store, live: Live, number: int) -> Event | None:
    """The event that issued a decision, if there is such a decision."""
    # Events of this turn are not in the database yet. The newest come first, as from there.
    made = [event for event in reversed(live.pending.events) if event.kind == "decided"]
    made = [event for event in made if (event.decision or 0) <= number]
    return next(iter(made or store.decided_before(live.bandit.number, number, 1)), None)


def _answer_in(live: Live, event: Event, body: dict[str, Any], number: int) -> Answer | None:
    """A decision of an event; None if the event does not have its number."""
    # Decisions of an event have consecutive numbers.
    place = number - decision_number(body["decisions"][0]["id"])
    if not 0 <= place < len(body["decisions"]):
        return None
    return answer_at(live.bandit.id, body, event.time, place)


def answers_in(live: Live, event: Event) -> list[Answer]:
    """The decisions of an event."""
    return answers_of(live.bandit.id, json.loads(event.body), event.time)


def behind_its_log(live: Live) -> StoreError:
    """Ends the turn: nothing of it is acknowledged, and the bandit is loaded again."""
    return StoreError(
        f"bandit {live.bandit.id} in memory is behind its log; does another process write the log?"
    )


def _with_logged_outcomes(store: Store, live: Live, one: Answer) -> Answer:
    number = decision_number(one["id"])
    pending = [event for event in live.pending.events if event.kind == "told"]
    return _with_status(one, [*store.about(live.bandit.number, number), *pending], is_open=False)


def logged(store: Store, live: Live, one: Answer, *, is_open: bool) -> Answer:
    """A decision with its status and the outcomes in the log, which any thread may look up."""
    told = store.about(live.bandit.number, decision_number(one["id"]))
    return _with_status(one, told, is_open=is_open)


def _with_status(one: Answer, told: Iterable[Event], *, is_open: bool) -> Answer:
    outcomes = _outcomes(told, one)
    closed = "told" if len(outcomes) == len(one["arms"]) else "expired"
    # An open decision may be complete by now: its last outcome came after the list was begun.
    status = "open" if is_open and len(outcomes) < len(one["arms"]) else closed
    return {**one, "status": status, "outcomes": outcomes}


def _outcomes(told: Iterable[Event], one: Answer) -> dict[str, float]:
    """The outcomes of a decision in some events, in the order of its arms."""
    outcomes: dict[str, float] = {}
    for event in told:
        # Each outcome is logged once, so the order does not matter.
        outcomes |= outcomes_in(event.body, one["id"])
    return {arm: outcomes[arm] for arm in one["arms"] if arm in outcomes}


def history(live: Live, turn: Turn, points: int) -> Callable[[], Answer]:
    """The bandit after decisions that are evenly spread over all decisions.

    The operation itself reads nothing, so that decisions need not wait for it. It returns a
    function for another thread, which reads the log. From memory it takes the reward and the
    numbers of the arms, which stay valid when arms are added.
    """
    return partial(_history, turn.store, live, live.session.n_decisions, points)


def _history(store: Store, live: Live, n: int, points: int) -> Answer:
    first = store.first_decision(live.bandit.number)
    # Rounding may give a number twice if there are few decisions.
    spread = np.linspace(first, n, min(points, n + 1 - first)).round().astype(int)
    made = []
    for one, counts in with_counts(store, live, np.unique(spread).tolist()):
        told = store.about(live.bandit.number, decision_number(one["id"]))
        made.append(_point(live, {**one, "outcomes": _outcomes(told, one)}, counts))
    return {"estimate_is": ESTIMATE_IS, "points": made}


def with_counts(
    store: Store, live: Live, numbers: Iterable[int]
) -> Iterator[tuple[Answer, list[int]]]:
    """Logged decisions by number, with the counts of their events. Reads each event once.

    The numbers ascend or descend.
    """
    event, body = None, dict[str, Any]()
    for number in numbers:
        one = None if event is None else _answer_in(live, event, body, number)
        if one is None:  # many points may fall into one batch of thousands of decisions
            event = next(iter(store.decided_before(live.bandit.number, number, 1)), None)
            if event is not None:
                body = json.loads(event.body)
                one = _answer_in(live, event, body, number)
        # All decisions up to the last one were in the log: the operation that counted them is
        # answered after its commit. Since then the bandit may have been deleted, or its log
        # compacted.
        if one is not None:
            yield one, body["counts"]


def _point(live: Live, known: Answer, counts: list[int]) -> Answer:
    return {
        "round": known["round"],
        "time": known["time"],
        "estimate": _estimate(live, known),
        "evaluations": counts[EVALUATIONS],
        "told": counts[TOLD],
    }


def _estimate(live: Live, known: Answer) -> float | None:
    arms, outcomes = known["arms"], known["outcomes"]
    if live.spec["reward"]["name"] not in parts.REWARDS or len(outcomes) < len(arms):
        return None
    # Not an evaluation of the policy, so it is not counted.
    reward = live.session.policy.reward.uncounted
    return float(reward(live.session.numbers(arms), [outcomes[arm] for arm in arms]))
