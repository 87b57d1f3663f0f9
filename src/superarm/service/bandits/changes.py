"""Issue decisions: for one request, or for several that wait at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from superarm.core.contexts import Contextual
from superarm.core.optional import has
from superarm.service.bandits import parts
from superarm.service.bandits.constraints import clash, feasible_of
from superarm.service.bandits.features import check_context
from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import GivenUpError, given_up
from superarm.service.bandits.records import Answer, Repeated, answers_of
from superarm.service.log.events import Event
from superarm.service.log.store import Turn
from superarm.service.problems import Fault, Problem, shown_error
from superarm.service.settings import Limits
from superarm.sessions.each import counts_of

MOST_NAMES = 200_000  # names of arms in all decisions of a request, or of a batch
# What an earlier request asked for, and its decisions; None if it was no request for decisions.
Before = tuple[dict[str, Any] | None, list[Answer]]


@dataclass(slots=True)
class Ask:
    """A request for decisions, as an operation: see `decide`."""

    asked: dict[str, Any]
    key: str | None
    now: Callable[[], float]
    limits: Limits

    def __call__(self, live: Live, turn: Turn) -> Answer:
        """Issue the decisions."""
        return decide(live, turn, self.asked, self.key, self.now, self.limits)


def decide_each(live: Live, turn: Turn, asks: Sequence[Ask]) -> list[Answer | Problem]:
    """Decide at once for the first of some plain requests. Returns their answers, at least one.

    Only for sessions with `asks_each`, and for no more requests than `most_each`.
    """
    # A request with a key that is in the log, or that came before in this group, is a repetition.
    # First of all: it must not be refused by limits that it passed once.
    keys = [one.key for one in asks if one.key is not None]
    before = _before(keys, live, turn) if keys else {}
    new, seen = list[int](), set(before)
    for place, one in enumerate(asks):
        if one.key is None or one.key not in seen:
            new.append(place)
            seen.add(one.key or "")
    if new:
        # Expired decisions do not count as open.
        live.advance(asks[new[0]].now())
        _, _, n_open = counts_of(live.session)
        most = min(asks[new[0]].limits.open - n_open, max(1, MOST_NAMES // live.spec["k"]))
        if most < len(new):  # if there are too many open, `decide` refuses the first
            asks, new = asks[: max(1, new[max(0, most)])], new[: max(0, most)]
    made = dict(zip(new, _decide_new(live, [asks[place] for place in new]), strict=True))
    for place, answer in made.items():
        if (key := asks[place].key) is not None:
            before[key] = asks[place].asked, [answer]
    return [
        made.get(place) or _alone(live, turn, one, before.get(one.key or ""))
        for place, one in enumerate(asks)
    ]


def _decide_new(live: Live, asks: list[Ask]) -> list[Answer]:
    if not asks:
        return []
    try:
        body = live.ask_each([one.asked for one in asks])
    except Exception as error:
        # The generator may have moved on, and no event says so: memory is no longer valid.
        raise Fault(_failed(live, error)) from error
    keys = [one.key for one in asks]
    if len(asks) > 1 and any(key is not None for key in keys):
        body["keys"] = keys
    live.log("decided", body, keys[0] if len(asks) == 1 else None)
    return answers_of(live.bandit.id, body, live.time)


def _alone(live: Live, turn: Turn, ask: Ask, before: Before | None) -> Answer | Problem:
    try:
        return ask(live, turn) if before is None else _same_answer(before, ask.asked)
    except Problem as problem:
        return problem


def decide(
    live: Live,
    turn: Turn,
    asked: dict[str, Any],
    key: str | None,
    now: Callable[[], float],
    limits: Limits,
) -> Answer:
    """Issue decisions. A request with the same idempotency key gets the same decisions again.

    ``asked`` is the body of the request without the members that were left out.
    """
    # First of all: a repeated request must not be refused by limits that it passed once.
    for before in _before([] if key is None else [key], live, turn).values():
        return _same_answer(before, asked)
    _check_samples(asked, limits)
    # Expired decisions do not count as open.
    live.advance(now())
    _check_open(live, asked, limits)
    _check_size(live, asked)
    check_context(asked)
    body = _ask(live, asked)
    live.log("decided", body, key)
    return _answer(asked, answers_of(live.bandit.id, body, live.time))


def _ask(live: Live, asked: dict[str, Any]) -> dict[str, Any]:
    """Let the session decide. Bad constraints and contexts are refused before any draw."""
    feasible = feasible_of(live.session, live.spec["k"], asked)
    try:
        # Of nothing, nothing can be refused, and `ask` checks all of it again.
        if asked or has(live.session.policy.belief, Contextual):
            live.session.check(feasible, context=asked.get("context"))
    except (ValueError, TypeError) as error:
        raise clash("no decision can be made", error, live.session) from error
    # Sampling changes nothing, and takes longest. If it is given up, memory is still valid.
    before = live.session.mark() if "propensities" in asked else None
    try:
        return live.ask(asked, feasible)
    except (GivenUpError, Problem) as error:
        problem = error if isinstance(error, Problem) else given_up()
        if before is not None and live.session.mark() == before:
            raise problem from None
        if isinstance(error, Problem):
            raise Fault(problem) from error
        raise
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
            kind="too-many-open",
        )


def _check_size(live: Live, asked: dict[str, Any]) -> None:
    """Refuse a batch whose event would be too long to read again."""
    n_names = asked.get("n", 1) * (asked.get("k") or live.spec["k"])
    if "n" in asked and asked["n"] > 1 and n_names > MOST_NAMES:
        raise Problem(
            422,
            f"n times k must be at most {MOST_NAMES:,}, got {n_names:,}",
            fix="send several requests",
        )


def _same_answer(before: Before, asked: dict[str, Any]) -> Answer:
    asked_before, decisions = before
    if asked_before != asked:
        raise key_taken()
    return Repeated(_answer(asked, decisions))


def events_with(keys: Sequence[str], live: Live, turn: Turn) -> list[Event]:
    """The events that earlier requests with these idempotency keys made."""
    # The same key may have come twice in this turn, before the first event is committed.
    return live.pending.with_keys(keys) + turn.by_keys(keys) if keys else []


def event_with(key: str | None, live: Live, turn: Turn) -> Event | None:
    """The event that an earlier request with this idempotency key made."""
    return next(iter(events_with([] if key is None else [key], live, turn)), None)


def _before(keys: Sequence[str], live: Live, turn: Turn) -> dict[str, Before]:
    """What earlier requests with some of these idempotency keys asked for, and got."""
    found, wanted = dict[str, Before](), set(keys)
    for event in events_with(keys, live, turn):
        body = json.loads(event.body)  # once, because it may be of many of the keys
        is_ask = event.kind == "decided"
        made = answers_of(live.bandit.id, body, event.time) if is_ask else []
        if event.key is not None:
            found[event.key] = body.get("ask"), made
        else:
            each = zip(body["keys"], body["asks"], made, strict=True)
            found |= {key: (asked, [one]) for key, asked, one in each if key in wanted}
    return found


def key_taken() -> Problem:
    """One idempotency key came with two different requests."""
    detail = "the Idempotency-Key was used for another request of this bandit"
    return Problem(409, detail, fix="use a new key for each request", kind="key-taken")
