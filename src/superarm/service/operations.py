"""What requests do to a bandit, as operations for the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from superarm.service import views
from superarm.service.actor import Operation
from superarm.service.context import Limits
from superarm.service.events import Event
from superarm.service.live import Live, number_of
from superarm.service.problems import Problem, shown
from superarm.service.store import Store, StoreError, Turn
from superarm.sessions import ConflictError, ExpiredDecisionError, UnknownDecisionError

Answer = dict[str, Any]


def decide(
    asked: dict[str, Any], key: str | None, now: Callable[[], float], limits: Limits
) -> Operation:
    """Give out decisions; the same key again gets the same ones."""

    def operation(live: Live, turn: Turn) -> Answer:
        before = event_of(live, turn, key)
        if before is not None:
            return _again(live, before, asked)
        if "propensities" in asked:
            _check_samples(asked["propensities"] * asked.get("n", 1), limits.samples)
        live.at(now())
        n_open = live.session.n_open + asked.get("n", 1)
        if n_open > limits.open:
            raise Problem(
                429,
                f"at most {limits.open} decisions of a bandit may be open here, got {n_open}",
                fix="tell the outcomes of open decisions, give the bandit an expiry, or serve with --most-open",
                headers={"Retry-After": "1"},
            )
        made = [views.decision(live.bandit.id, one) for one in live.decide(asked, key)]
        return {"decisions": made} if "n" in asked else made[0]

    return operation


def event_of(live: Live, turn: Turn, key: str | None) -> Event | None:
    """What was done with an Idempotency-Key already, if anything."""
    if key is None:
        return None
    return next((event for event in live.pending if event.key == key), None) or turn.by_key(key)


def key_taken() -> Problem:
    """One key, two requests."""
    detail = "the Idempotency-Key was used for another request of this bandit"
    return Problem(409, detail, fix="use a new key for each request")


def _check_samples(n_samples: int, most: int) -> None:
    if n_samples > most:
        raise Problem(
            422,
            f"propensities must take at most {most} samples a request here, for all its decisions, got {n_samples}",
            fix="ask for fewer, or serve with --most-samples",
        )


def _again(live: Live, event: Event, asked: dict[str, Any]) -> Answer:
    if event.kind != "decided" or json.loads(event.body)["ask"] != asked:
        raise key_taken()
    made = views.given_out(live.bandit.id, event)
    return {"decisions": made} if "n" in asked else made[0]


def tell(
    id: str, outcomes: Mapping[str, float], now: Callable[[], float], store: Store
) -> Operation:
    """Learn outcomes of a decision, however old it is."""

    def operation(live: Live, turn: Turn) -> Answer:
        live.at(now())
        try:
            new, status = live.tell(id, outcomes)
            return {"id": id, "new": new, "status": status}
        except UnknownDecisionError:
            return _tell_again(live, store, id, outcomes)
        except ConflictError as error:
            raise Problem(409, str(error), fix="nothing of this request was learnt") from error
        except ExpiredDecisionError as error:
            raise Problem(410, str(error)) from error
        except (ValueError, TypeError) as error:
            raise Problem(422, str(error)) from error

    return operation


def _tell_again(live: Live, store: Store, id: str, outcomes: Mapping[str, float]) -> Answer:
    """What is told of a decision that is closed and no longer in memory: nothing of it can be news."""
    known = find(store, live, id)
    last = store.last(live.bandit.number)
    if last is None or last.seq != live.seq - len(
        live.pending
    ):  # then it may be open for all that memory knows
        raise _stale(live)
    for arm, outcome in outcomes.items():
        if arm not in known["arms"]:
            raise Problem(
                422, f"outcomes must be of the arms {known['arms']}, got one of {shown(arm)}"
            )
        before = known["outcomes"].get(arm)
        if before is not None and before != outcome:
            raise Problem(
                409, f"arm {shown(arm)} of decision {id} was told as {before} before, got {outcome}"
            )
        if before is None and live.session.expiry.late == "refuse":
            raise Problem(410, f"decision {id} has expired, so its outcomes are refused")
    return {"id": id, "new": [], "status": known["status"]}


def find(store: Store, live: Live, id: str) -> Answer:
    """A decision and what became of it, from memory or else from the log."""
    session = live.session
    try:
        one = views.decision(live.bandit.id, session.decision(id))
        return {**one, "status": session.status(id), "outcomes": session.outcomes(id)}
    except UnknownDecisionError:
        pass
    found = views.logged_decision(store, live.bandit, number_of(id), live.pending)
    if found is None or found[0]["id"] != id:
        raise Problem(404, f"no decision has the id {shown(id)}")
    if number_of(id) > session.n_decisions:
        raise _stale(live)
    return views.with_outcomes(
        store, live.bandit, found[0], live.pending
    )  # open ones are all in memory


def _stale(live: Live) -> StoreError:
    """Ends the turn: nothing of it is acknowledged, and the bandit is loaded again."""
    return StoreError(
        f"bandit {live.bandit.id} is behind its log in memory; is the log written by another process?"
    )
