"""Operations that change a bandit: issue decisions, and learn outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.linalg import LinAlgError

from superarm.core.contexts import Contextual
from superarm.core.optional import has
from superarm.errors import ConflictError, ExpiredDecisionError, UnknownDecisionError
from superarm.service.bandits import parts
from superarm.service.bandits.constraints import clash, feasible_of
from superarm.service.bandits.decisions import behind_its_log, find
from superarm.service.bandits.features import check_context
from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import GivenUpError, given_up
from superarm.service.bandits.records import Answer, Repeated, answers_of
from superarm.service.log.events import Event
from superarm.service.log.store import Store, Turn
from superarm.service.problems import Fault, Problem, shown, shown_error
from superarm.service.settings import Limits
from superarm.sessions import decision_number
from superarm.sessions.each import most_each

_MOST_NAMES = 200_000  # names of arms in all decisions of a request


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

    @property
    def is_plain(self) -> bool:
        """Whether it may be decided together with other requests."""
        return self.key is None and (not self.asked or self.asked.keys() == {"metadata"})


@dataclass(slots=True)
class Tell:
    """A request with outcomes, as an operation: see `tell`."""

    id: str
    outcomes: Mapping[str, float]
    now: Callable[[], float]

    def __call__(self, live: Live, turn: Turn) -> Answer:
        """Learn the outcomes."""
        return tell(live, turn, self.id, self.outcomes, self.now)


def most_together(live: Live, ask: Ask) -> int:
    """How many plain requests may be decided together now; the next one is ``ask``."""
    # Expired decisions do not count as open.
    live.advance(ask.now())
    return min(most_each(live.session), ask.limits.open - live.session.n_open)


def decide_each(live: Live, asks: Sequence[Ask]) -> list[Answer]:
    """Decide for several plain requests at once, at most `most_together`. Returns their answers."""
    first = live.session.n_decisions + 1
    try:
        body = live.ask_each([one.asked for one in asks])
    except Exception as error:
        raise Fault(_failed(live, error)) from error
    live.log("decided", body, decision=first)
    return answers_of(live.bandit.id, body, live.time)


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
    earlier = None if key is None else event_with(key, live, turn)
    if earlier is not None:
        return _same_answer(live, earlier, asked)
    _check_samples(asked, limits)
    # Expired decisions do not count as open.
    live.advance(now())
    _check_open(live, asked, limits)
    _check_size(live, asked)
    check_context(asked)
    # Readers find the event of a batch by the number of its first decision.
    first = live.session.n_decisions + 1
    body = _ask(live, asked)
    live.log("decided", body, decision=first, key=key)
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
    except GivenUpError:
        if before is not None and live.session.mark() == before:
            raise given_up() from None
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
    if "n" in asked and asked["n"] > 1 and n_names > _MOST_NAMES:
        raise Problem(
            422,
            f"n times k must be at most {_MOST_NAMES:,}, got {n_names:,}",
            fix="send several requests",
        )


def _same_answer(live: Live, event: Event, asked: dict[str, Any]) -> Answer:
    body = json.loads(event.body)
    if event.kind != "decided" or body["ask"] != asked:
        raise key_taken()
    return Repeated(_answer(asked, answers_of(live.bandit.id, body, event.time)))


def event_with(key: str, live: Live, turn: Turn) -> Event | None:
    """The event that an earlier request with this idempotency key made."""
    # The same key may have come twice in this turn, before the first event is committed.
    return live.pending.with_key(key) or turn.by_key(key)


def key_taken() -> Problem:
    """One idempotency key came with two different requests."""
    detail = "the Idempotency-Key was used for another request of this bandit"
    return Problem(409, detail, fix="use a new key for each request", kind="key-taken")


def tell(
    live: Live, turn: Turn, id: str, outcomes: Mapping[str, float], now: Callable[[], float]
) -> Answer:
    """Learn outcomes of a decision, however old it is."""
    live.advance(now())
    try:
        new, is_complete = live.tell(id, outcomes)
    except UnknownDecisionError:
        return _tell_closed(live, turn.store, id, outcomes)
    except ConflictError as error:
        fix = "nothing of this request was learnt"
        raise Problem(409, str(error), fix=fix, kind="outcome-differs") from error
    except ExpiredDecisionError as error:
        raise Problem(410, str(error), kind="decision-expired") from error
    except LinAlgError as error:
        # Nothing was wrong with the request, and the belief may be changed in part.
        raise Fault(Problem(500, "the belief of this bandit failed to learn")) from error
    except (ValueError, TypeError) as error:
        raise Problem(422, str(error)) from error
    # Only new outcomes are logged, so that the log has every outcome once.
    if new:
        body = {"decision": id, "outcomes": {arm: outcomes[arm] for arm in new}}
        live.log("told", body, decision=decision_number(id))
    status = "told" if is_complete else live.session.status(id)
    return {"id": id, "new": new, "status": status}


def _tell_closed(live: Live, store: Store, id: str, outcomes: Mapping[str, float]) -> Answer:
    """The answer for a decision that is closed and no longer in memory: nothing can be new."""
    # Memory has forgotten the decision (keep), but the log has it.
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
                kind="outcome-differs",
            )
        # An outcome that nobody told while the decision was open: it had expired.
        if before is None and live.session.expiry.late == "refuse":
            raise Problem(
                410,
                f"decision {id} has expired, so its outcomes are refused",
                kind="decision-expired",
            )
    return {"id": id, "new": [], "status": known["status"]}
