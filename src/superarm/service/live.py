"""A bandit in memory: a session, and its place in the log. Every change is an event; every event can be applied again.

Nothing here reads or writes a database: changes gather in ``pending``, for the engine to commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from superarm.service import registry
from superarm.service.events import (
    Bandit,
    DamagedLogError,
    Event,
    OtherDecisionError,
    check,
    root,
    seal,
)
from superarm.service.problems import Fault, Problem
from superarm.service.spec import Spec, policy_of, rewards_of, session_of
from superarm.sessions import Decision, Session
from superarm.sets.feasible import Group

_MOST_NAMES = 200_000  # of all decisions of a request
# What every event says of the bandit after it.
COUNTS = ("rounds", "decisions", "evaluations", "open", "told", "expired", "n_arms")


class Clock:
    """The time of the event that is being made or applied."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now


class Live:
    """A session at some event of its log.

    Attributes
    ----------
    seq, digest
        Those of the last event, committed or pending.
    told, expired
        How many decisions were closed either way.
    checkpointed
        The seq of the last checkpoint that it was loaded from, or that was made of it; 0 for none.
    pending
        Events that are not committed yet.
    """

    def __init__(self, bandit: Bandit, spec: Spec, session: Session, clock: Clock) -> None:
        self.bandit, self.spec, self.session = bandit, spec, session
        self.seq, self.digest = 0, root(bandit.id)
        self.told = self.expired = self.checkpointed = 0
        self.pending: list[Event] = []
        self._clock = clock

    @classmethod
    def new(cls, bandit: Bandit, spec: Spec, own: Mapping[str, registry.Factory]) -> Live:
        """A bandit whose first event is pending."""
        clock = Clock()
        live = cls(bandit, spec, session_of(bandit.id, spec, own, clock), clock)
        live._clock.now = bandit.created
        live.log("created", {"spec": spec})
        return live

    @classmethod
    def of(cls, bandit: Bandit, first: Event, own: Mapping[str, registry.Factory]) -> Live:
        """A bandit from its first event."""
        spec = json.loads(first.body)["spec"]
        clock = Clock()
        live = cls(bandit, spec, session_of(bandit.id, spec, own, clock), clock)
        live._step(first)
        return live

    @classmethod
    def from_checkpoint(
        cls,
        bandit: Bandit,
        spec: Spec,
        own: Mapping[str, registry.Factory],
        meta: dict[str, Any],
        data: bytes,
    ) -> Live:
        """A bandit as it was at a checkpoint."""
        clock = Clock()
        session = Session.from_bytes(
            data, policy_of(spec, own), rewards=rewards_of(spec, own), clock=clock
        )
        live = cls(bandit, spec, session, clock)
        live.seq = live.checkpointed = meta["seq"]
        live.digest = bytes.fromhex(meta["digest"])
        live.told, live.expired, clock.now = meta["told"], meta["expired"], meta["time"]
        return live

    def snapshot(self) -> tuple[dict[str, Any], Callable[[], bytes]]:
        """What `from_checkpoint` takes; the bytes are made when they are called for."""
        meta = {
            "seq": self.seq,
            "digest": self.digest.hex(),
            "told": self.told,
            "expired": self.expired,
        }
        return {**meta, "time": self._clock.now}, self.session.snapshot()

    @property
    def time(self) -> float:
        """That of the last event."""
        return self._clock.now

    @property
    def counts(self) -> list[int]:
        """As `COUNTS` names them."""
        session, reward = self.session, self.session.policy.reward
        given, spent = session.n_decisions, reward.evaluations
        return [
            session.rounds,
            given,
            spent,
            session.n_open,
            self.told,
            self.expired,
            reward.n_arms,
        ]

    def at(self, now: float) -> None:
        """Move the clock, never back, and close what has expired by then."""
        self._clock.now = max(now, self._clock.now)
        closed = self.session.expire()
        if closed:
            self.expired += len(closed)
            self.log("expired", {"decisions": [one.id for one in closed]})

    def decide(self, asked: dict[str, Any], key: str | None) -> list[Decision]:
        """Give out one decision, or ``n``; ``asked`` is the body of the request without what was left out."""
        _check_size(asked.get("n", 1), asked.get("k") or self.spec["k"])
        feasible, first = self._feasible(asked), self.session.n_decisions + 1
        try:
            self.session.check(feasible)
        except (ValueError, TypeError) as error:
            raise Problem(422, f"no decision can be made: {registry.shown_error(error)}") from error
        try:
            made = self.session.ask(
                asked.get("n", 1), feasible=feasible, propensities=asked.get("propensities")
            )
        except (
            Exception
        ) as error:  # the generator may have moved on, and the log knows nothing of that
            raise Fault(self._undecided(error)) from error
        self._count_empty(made)
        mark = self.session.mark()
        del mark["evaluations"]  # the counts have them
        logged = {
            "ask": asked,
            "decisions": [_logged(one) for one in made],
            "round": made[0].round,
            "mark": mark,
        }
        self.log("decided", logged, decision=first, key=key)
        return made

    def _count_empty(self, made: list[Decision]) -> None:
        """A decision of no arms is closed as soon as it is made."""
        self.told += sum(not one.arms for one in made)

    def _undecided(self, error: Exception) -> Problem:
        """What a client is told; nothing of what a reward of the operator's says, which is not for clients."""
        if isinstance(error, ValueError) and self.spec["reward"]["name"] in registry.REWARDS:
            return Problem(422, f"no decision can be made: {registry.shown_error(error)}")
        return Problem(
            500,
            "the reward or the oracle of this bandit failed",
            fix="the log of the server says how",
        )

    def tell(self, id: str, outcomes: Mapping[str, float]) -> tuple[list[str], str]:
        """Learn outcomes; says of which arms that was news, and the status of the decision after it."""
        new, closed = self._learn(id, outcomes)
        if new:
            news = {arm: outcomes[arm] for arm in new}
            self.log("told", {"decision": id, "outcomes": news}, decision=number_of(id))
        return new, "told" if closed else self.session.status(id)

    def _learn(self, id: str, outcomes: Mapping[Any, float]) -> tuple[list[Any], bool]:
        """What was news, and whether it was the last; a session that keeps nothing no longer knows what it closed."""
        n_open = self.session.n_open
        new = list(self.session.tell(id, outcomes))
        closed = self.session.n_open < n_open
        self.told += closed
        return new, closed

    def log(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        decision: int | None = None,
        key: str | None = None,
    ) -> None:
        """One more event, of what has been done to the session."""
        event = seal(
            self.digest,
            self.seq + 1,
            self.time,
            kind,
            decision,
            key,
            {**body, "counts": self.counts},
        )
        self._step(event)
        self.pending.append(event)

    def apply(self, event: Event, *, decide: bool = False) -> None:
        """Do again what an event of the log says, and check that it comes out the same.

        Evaluates no reward, unless it is to ``decide`` again, too: then the same sets and draws must come out.
        """
        check(self.digest, self.seq, event)
        body = json.loads(event.body)
        self._clock.now = event.time
        try:
            if decide and event.kind == "decided":
                self._decide_again(event.seq, body)
            else:
                self._apply(event.kind, body, event.time)
        except (ValueError, TypeError, KeyError, Problem) as error:
            raise DamagedLogError(
                f"event {event.seq} ({event.kind}) cannot be applied: {error}"
            ) from error
        if self.counts != body["counts"]:
            raise DamagedLogError(
                f"event {event.seq} ({event.kind}) does not come out as logged: {body['counts']} then, "
                f"{self.counts} now; was the reward or the version of superarm another one?"
            )
        self._step(event)

    def _apply(self, kind: str, body: dict[str, Any], time: float) -> None:
        session = self.session
        if kind == "decided":
            made = [decision_of(one, body["round"], time) for one in body["decisions"]]
            mark = {**body["mark"], "evaluations": body["counts"][2]}
            session.adopt(made, mark, feasible=self._feasible(body["ask"]))
            self._count_empty(made)
        elif kind == "told":
            self._learn(body["decision"], body["outcomes"])
        elif kind == "expired":
            self.expired += len(session.expire())
        elif kind == "arms_added":
            session.add_arms(body["arms"], prior=body["prior"])
        elif kind == "arms_restored":
            session.restore(*body["arms"])
        elif kind == "arms_retired":
            session.retire(*body["arms"])
        else:
            raise ValueError(
                f"kind must be one that this version knows, got {kind!r}; update superarm"
            )

    def _decide_again(self, seq: int, body: dict[str, Any]) -> None:
        asked = body["ask"]
        feasible = self._feasible(asked)
        made = self.session.ask(
            asked.get("n", 1), feasible=feasible, propensities=asked.get("propensities")
        )
        self._count_empty(made)
        mark = self.session.mark()
        del mark["evaluations"]
        if [_logged(one) for one in made] != body["decisions"] or mark != body["mark"]:
            then, now = [one["arms"] for one in body["decisions"]], [list(one.arms) for one in made]
            raise OtherDecisionError(
                f"event {seq} has {then}, and now it is {now}, or the same by other draws; the oracle remembered less "
                f"then, or the reward or the version of superarm was another one"
            )
        self.session.policy.reward.evaluations = body["counts"][
            2
        ]  # an oracle that has forgotten answers asks again

    def _feasible(self, asked: dict[str, Any]) -> Any:
        n_arms = self.session.policy.reward.n_arms
        k = asked.get("k", self.spec["k"])
        if k > n_arms:
            raise Problem(422, f"k must be between 1 and {n_arms} (the number of arms), got {k}")
        given = {
            name: value for name, value in asked.items() if name not in ("n", "k", "propensities")
        }
        if not given:
            return asked.get("k")
        if "capacity" in given:
            given["budget"] = given.pop("capacity")
        given["groups"] = [Group(**group) for group in given.get("groups", ())]
        try:
            return self.session.feasible(k, **given)
        except (ValueError, TypeError) as error:
            raise Problem(
                422, f"the constraints do not fit: {registry.shown_error(error)}"
            ) from error

    def _step(self, event: Event) -> None:
        self.seq, self.digest, self._clock.now = event.seq, event.digest, event.time


def _check_size(n: int, k: int) -> None:
    """Refuse a batch whose event would be too long to read again."""
    if n > 1 and n * k > _MOST_NAMES:
        raise Problem(
            422,
            f"n times k must be at most {_MOST_NAMES:,}, got {n * k:,}",
            fix="ask several times",
        )


def number_of(id: str) -> int:
    """The number of a decision, the last part of its id."""
    return int(id.rpartition("-")[2])


def decision_of(logged: dict[str, Any], round: int, time: float) -> Decision:
    """A decision as it was given out, from its event."""
    values = None if logged["values"] is None else tuple(logged["values"])
    made = Decision(logged["id"], tuple(logged["arms"]), values, logged["certified"], round, time)
    if "propensities" not in logged:
        return made
    more = {name: logged[name] for name in ("set_propensity", "n_samples")}
    return replace(made, propensities=tuple(logged["propensities"]), **more)


def sampled(decision: Decision) -> dict[str, Any]:
    """What is known of a decision's probabilities."""
    if decision.propensities is None:
        return {}
    found = {"set_propensity": decision.set_propensity, "n_samples": decision.n_samples}
    return {"propensities": list(decision.propensities), **found}


def _logged(decision: Decision) -> dict[str, Any]:
    values = None if decision.values is None else list(decision.values)
    logged = {
        "id": decision.id,
        "arms": list(decision.arms),
        "values": values,
        "certified": decision.certified,
    }
    return {**logged, **sampled(decision)}
