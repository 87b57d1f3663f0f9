"""Learn outcomes: of one request, or of several that wait at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.linalg import LinAlgError

from superarm.errors import ConflictError, ExpiredDecisionError, UnknownDecisionError
from superarm.service.bandits.changes import MOST_NAMES
from superarm.service.bandits.decisions import behind_its_log, find
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import Answer
from superarm.service.log.store import Store, Turn
from superarm.service.problems import Fault, Problem, shown
from superarm.sessions.each import Told


@dataclass(slots=True)
class Tell:
    """A request with outcomes, as an operation: see `tell`."""

    id: str
    outcomes: Mapping[str, float]
    now: Callable[[], float]

    def __call__(self, live: Live, turn: Turn) -> Answer:
        """Learn the outcomes."""
        return tell(live, turn, self.id, self.outcomes, self.now)


def tell(
    live: Live, turn: Turn, id: str, outcomes: Mapping[str, float], now: Callable[[], float]
) -> Answer:
    """Learn outcomes of a decision, however old it is."""
    live.advance(now())
    try:
        new, is_complete = live.tell(id, outcomes)
    except LinAlgError as error:
        # Nothing was wrong with the request, and the belief may be changed in part.
        raise _failed_to_learn() from error
    except (ValueError, TypeError) as error:
        return _refused(live, turn, id, outcomes, error)
    # Only new outcomes are logged, so that the log has every outcome once.
    if new:
        live.log("told", _told(id, outcomes, new))
    status = "told" if is_complete else live.session.status(id)
    return {"id": id, "new": new, "status": status}


def tell_each(live: Live, turn: Turn, tells: Sequence[Tell]) -> list[Answer | Problem]:
    """Learn the outcomes of the first of some requests at once. Returns their answers.

    Only for sessions with `tells_each`.
    """
    tells = tells[: max(1, MOST_NAMES // live.spec["k"])]
    live.advance(tells[0].now())
    try:
        found = live.tell_each([(one.id, one.outcomes) for one in tells])
    except Exception as error:
        raise _failed_to_learn() from error
    pairs = list(zip(tells, found, strict=True))
    told = [
        _told(one.id, one.outcomes, said.new)
        for one, said in pairs
        if isinstance(said, Told) and said.new
    ]
    if told:
        live.log("told", told[0] if len(told) == 1 else {"told": told})
    answers: list[Answer | Problem] = []
    for one, said in pairs:
        if isinstance(said, Told):
            answers.append({"id": one.id, "new": said.new, "status": said.status})
            continue
        try:
            answers.append(_refused(live, turn, one.id, one.outcomes, said))
        except Problem as problem:
            answers.append(problem)
    return answers


def _told(id: str, outcomes: Mapping[str, float], new: list[Any]) -> dict[str, Any]:
    return {"decision": id, "outcomes": {arm: outcomes[arm] for arm in new}}


def _failed_to_learn() -> Fault:
    return Fault(Problem(500, "the belief of this bandit failed to learn"))


def _refused(
    live: Live, turn: Turn, id: str, outcomes: Mapping[str, float], error: Exception
) -> Answer:
    """The answer to outcomes that the session refuses. Raises it if it is a problem."""
    if isinstance(error, UnknownDecisionError):
        return _tell_closed(live, turn.store, id, outcomes)
    if isinstance(error, ConflictError):
        fix = "nothing of this request was learned"
        raise Problem(409, str(error), fix=fix, kind="outcome-differs") from error
    if isinstance(error, ExpiredDecisionError):
        raise Problem(410, str(error), kind="decision-expired") from error
    raise Problem(422, str(error)) from error


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
                f"arm {shown(arm)} of decision {id} already has the outcome {before}, "
                f"got {outcome}; an outcome cannot be changed",
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
