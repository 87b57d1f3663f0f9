"""The requests that change a bandit most often, decisions and outcomes, as operations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from superarm.service.bandits import parts
from superarm.service.bandits.actor import Operation
from superarm.service.bandits.constraints import check_size
from superarm.service.bandits.decisions import behind_its_log, find
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import Answer, answer_of, answers_of, number_of
from superarm.service.log.events import Event
from superarm.service.log.store import Store, Turn
from superarm.service.problems import Fault, Problem, shown, shown_error
from superarm.service.settings import Limits
from superarm.sessions import ConflictError, ExpiredDecisionError, UnknownDecisionError


def decide(
    asked: dict[str, Any], key: str | None, now: Callable[[], float], limits: Limits
) -> Operation:
    """Issue decisions. A request with the same idempotency key gets the same decisions again.

    ``asked`` is the body of the request without the members that were left out.
    """

    def operation(live: Live, turn: Turn) -> Answer:
        earlier = event_with(key, live, turn)
        if earlier is not None:
            return _same_answer(live, earlier, asked)
        _check_samples(asked, limits)
        live.advance(now())
        _check_open(live, asked, limits)
        first = live.session.n_decisions + 1
        body = _ask(live, asked)
        live.log("decided", body, decision=first, key=key)
        id, round, time = live.bandit.id, body["round"], live.time
        return _answer(asked, [answer_of(id, one, round, time) for one in body["decisions"]])

    return operation


def _ask(live: Live, asked: dict[str, Any]) -> dict[str, Any]:
    """Let the session decide. Bad constraints are refused before anything is drawn."""
    check_size(asked.get("n", 1), asked.get("k") or live.spec["k"])
    feasible = live.feasible(asked)
    try:
        live.session.check(feasible)
    except (ValueError, TypeError) as error:
        raise Problem(422, f"no decision can be made: {shown_error(error)}") from error
    try:
        return live.ask(asked, feasible)
    except Exception as error:
        # The generator may have moved on, and no event says so: memory is no longer valid.
        raise Fault(_failed(live, error)) from error


def _failed(live: Live, error: Exception) -> Problem:
    """What a client sees. Messages of the operator's own rewards are not for clients."""
    if isinstance(error, ValueError) and live.spec["reward"]["name"] in parts.REWARDS:
        return Problem(422, f"no decision can be made: {shown_error(error)}")
    return Problem(
        500, "the reward or the oracle of this bandit failed", fix="the log of the server says how"
    )


def _answer(asked: dict[str, Any], decisions: list[Answer]) -> Answer:
    return {"decisions": decisions} if "n" in asked else decisions[0]


def _check_samples(asked: dict[str, Any], limits: Limits) -> None:
    n_samples = asked.get("propensities", 0) * asked.get("n", 1)
    if n_samples > limits.samples:
        raise Problem(
            422,
            f"propensities must take at most {limits.samples} samples per request here, "
            f"for all its decisions, got {n_samples}",
            fix="ask for fewer, or serve with --most-samples",
        )


def _check_open(live: Live, asked: dict[str, Any], limits: Limits) -> None:
    n_open = live.session.n_open + asked.get("n", 1)
    if n_open > limits.open:
        raise Problem(
            429,
            f"at most {limits.open} decisions of a bandit may be open here, got {n_open}",
            fix="tell the outcomes of open decisions, give the bandit an expiry, "
            "or serve with --most-open",
            headers={"Retry-After": "1"},
        )


def _same_answer(live: Live, event: Event, asked: dict[str, Any]) -> Answer:
    if event.kind != "decided" or json.loads(event.body)["ask"] != asked:
        raise key_taken()
    return _answer(asked, answers_of(live.bandit.id, event))


def event_with(key: str | None, live: Live, turn: Turn) -> Event | None:
    """The event that an earlier request with this idempotency key made."""
    if key is None:
        return None
    return next((event for event in live.pending if event.key == key), None) or turn.by_key(key)


def key_taken() -> Problem:
    """One idempotency key came with two different requests."""
    detail = "the Idempotency-Key was used for another request of this bandit"
    return Problem(409, detail, fix="use a new key for each request")


def tell(
    id: str, outcomes: Mapping[str, float], now: Callable[[], float], store: Store
) -> Operation:
    """Learn outcomes of a decision, however old it is."""

    def operation(live: Live, turn: Turn) -> Answer:
        live.advance(now())
        try:
            new, is_complete = live.tell(id, outcomes)
        except UnknownDecisionError:
            return _tell_closed(live, store, id, outcomes)
        except ConflictError as error:
            raise Problem(409, str(error), fix="nothing of this request was learnt") from error
        except ExpiredDecisionError as error:
            raise Problem(410, str(error)) from error
        except (ValueError, TypeError) as error:
            raise Problem(422, str(error)) from error
        if new:
            body = {"decision": id, "outcomes": {arm: outcomes[arm] for arm in new}}
            live.log("told", body, decision=number_of(id))
        status = "told" if is_complete else live.session.status(id)
        return {"id": id, "new": new, "status": status}

    return operation


def _tell_closed(live: Live, store: Store, id: str, outcomes: Mapping[str, float]) -> Answer:
    """The answer for a decision that is closed and no longer in memory: nothing can be new."""
    known = find(store, live, id)
    last = store.last(live.bandit.number)
    if last is None or last.seq != live.seq - len(live.pending):
        raise behind_its_log(live)  # the decision may be open after events that memory lacks
    for arm, outcome in outcomes.items():
        if arm not in known["arms"]:
            raise Problem(
                422, f"outcomes must be of the arms {known['arms']}, got one of {shown(arm)}"
            )
        before = known["outcomes"].get(arm)
        if before is not None and before != outcome:
            raise Problem(
                409,
                f"arm {shown(arm)} of decision {id} had the outcome {before} before, got {outcome}",
            )
        if before is None and live.session.expiry.late == "refuse":
            raise Problem(410, f"decision {id} has expired, so its outcomes are refused")
    return {"id": id, "new": [], "status": known["status"]}
