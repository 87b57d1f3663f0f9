"""A bandit in memory: a session and its position in the log.

Every change is an event, and every event can be applied again. Nothing here reads or writes a
database: new events are added to ``pending``, and the engine commits them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from superarm.service.bandits import parts
from superarm.service.bandits.constraints import feasible_of
from superarm.service.bandits.records import decisions_of, like, remote_of
from superarm.service.bandits.rounding import ROUNDING, difference
from superarm.service.bandits.spec import Spec, policy_of, rewards_of, session_of
from superarm.service.log.chain import spec_of
from superarm.service.log.events import (
    Bandit,
    DamagedLogError,
    Event,
    OtherDecisionError,
    Pending,
    check,
    decision_in,
    n_requests,
    root,
)
from superarm.service.problems import Problem
from superarm.sessions import Decision, Session
from superarm.sessions.answers import without_answers
from superarm.sessions.each import Told, adopt_each, ask_each, counts_of, tell_each
from superarm.sessions.edge import merge

# Every event contains these numbers of the bandit, as they are after the event.
COUNTS = ("rounds", "decisions", "evaluations", "open", "told", "expired", "n_arms")
EVALUATIONS, TOLD = COUNTS.index("evaluations"), COUNTS.index("told")


class Clock:
    """The time of the event that is being made or applied."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now


class Live:
    """A session after some event of its log.

    Attributes
    ----------
    seq
        That of the last event, committed or pending.
    told, expired, merged
        Number of decisions that are complete, that have expired, and that came in batches. Of these
        a bandit from a checkpoint of an older version counts those since then.
    unsaved
        Number of requests whose changes are after the last checkpoint that was loaded or made.
    difference
        How much decisions that were made again differ from those of the log, by rounding.
    pending
        Events that are not committed yet.
    """

    def __init__(self, bandit: Bandit, spec: Spec, session: Session, clock: Clock) -> None:
        self.bandit, self.spec, self.session = bandit, spec, session
        self.seq, self.pending = 0, Pending(root(bandit.id))
        self.told = self.expired = self.merged = self.unsaved = 0
        self.difference = 0.0
        self._clock = clock
        self._can_expire = session.expiry.can_expire

    @classmethod
    def new(cls, bandit: Bandit, spec: Spec, own: parts.Factories) -> Live:
        """A bandit whose first event is pending."""
        clock = Clock()
        live = cls(bandit, spec, session_of(bandit.id, spec, own, clock), clock)
        # The first event has the time of the creation.
        clock.now = bandit.created
        live.log("created", {"spec": spec})
        return live

    @classmethod
    def of(cls, bandit: Bandit, first: Event, own: parts.Factories) -> Live:
        """A bandit after its first event."""
        spec = spec_of(first)
        clock = Clock()
        live = cls(bandit, spec, session_of(bandit.id, spec, own, clock), clock)
        live._step(first)
        return live

    @classmethod
    def from_checkpoint(
        cls,
        bandit: Bandit,
        spec: Spec,
        own: parts.Factories,
        meta: dict[str, Any],
        data: bytes,
    ) -> Live:
        """A bandit as it was at a checkpoint."""
        clock, rewards = Clock(), rewards_of(spec, own)
        session = Session.from_bytes(data, policy_of(spec, own), rewards=rewards, clock=clock)
        live = cls(bandit, spec, session, clock)
        live.seq = meta["seq"]
        live.pending = Pending(bytes.fromhex(meta["digest"]))
        # The session does not count these: it forgets closed decisions (keep).
        live.told, live.expired, clock.now = meta["told"], meta["expired"], meta["time"]
        live.merged = meta.get("merged", 0)
        return live

    def snapshot(self) -> tuple[dict[str, Any], Callable[[], bytes]]:
        """What `from_checkpoint` takes. The bytes are encoded when the function is called."""
        meta = {
            "seq": self.seq,
            "digest": self.digest.hex(),
            "told": self.told,
            "expired": self.expired,
            "merged": self.merged,
            "time": self.time,
        }
        return meta, self.session.snapshot(_dumps)

    @property
    def digest(self) -> bytes:
        """The digest of the last event, committed or pending."""
        return self.pending.digest

    @property
    def time(self) -> float:
        """The time of the last event."""
        return self._clock.now

    @property
    def counts(self) -> list[int]:
        """The numbers that `COUNTS` names."""
        reward = self.session.policy.reward
        rounds, n_decisions, n_open = counts_of(self.session)
        evaluations, n_arms = reward.evaluations, reward.n_arms
        return [rounds, n_decisions, evaluations, n_open, self.told, self.expired, n_arms]

    def advance(self, now: float) -> None:
        """Move the clock forward, never back, and close the decisions that have expired."""
        # A clock that is set back must not make an event older than the one before it.
        self._clock.now = max(now, self._clock.now)
        if self._can_expire and (closed := self.session.expire()):
            self.expired += len(closed)
            self.log("expired", {"decisions": [one.id for one in closed]})

    def ask(self, asked: dict[str, Any], feasible: Any) -> dict[str, Any]:
        """Decide, and return the body of the event."""
        made = self.session.ask(
            asked.get("n", 1),
            feasible=feasible,
            context=asked.get("context"),
            propensities=asked.get("propensities"),
        )
        return {"ask": asked, **self._body(made, self.session.mark())}

    def ask_each(self, asks: list[dict[str, Any]]) -> dict[str, Any]:
        """Decide for requests that wait together, and return the body of their event.

        They may ask for nothing but to keep metadata: see `superarm.sessions.each.most_each`.
        """
        made = self._body(*ask_each(self.session, len(asks)))
        return {"asks": asks, **made} if len(asks) > 1 else {"ask": asks[0], **made}

    def _body(self, made: list[Decision], mark: dict[str, Any]) -> dict[str, Any]:
        # A decision with no arms is complete as soon as it is issued.
        self.told += sum([not one.arms for one in made])
        del mark["evaluations"]  # the counts of the event have them
        records = [one.record() for one in made]
        return {"decisions": records, "round": made[0].round, "mark": mark}

    def tell_each(self, told: list[tuple[str, Mapping[Any, float]]]) -> list[Told | Exception]:
        """Learn outcomes of several requests: see `superarm.sessions.each.tell_each`."""
        made = tell_each(self.session, told)
        self.told += sum([isinstance(one, Told) and one.is_complete for one in made])
        return made

    def tell(self, id: str, outcomes: Mapping[Any, float]) -> tuple[list[Any], bool]:
        """Learn outcomes. Returns the arms whose outcomes are new, and whether they were the last.

        A session with ``keep=0`` forgets a complete decision, so its status cannot be asked later.
        """
        # The number of open decisions tells whether this one was closed.
        n_open = self.session.n_open
        new = list(self.session.tell(id, outcomes))
        is_complete = self.session.n_open < n_open
        self.told += is_complete
        return new, is_complete

    def log(self, kind: str, body: dict[str, Any], key: str | None = None) -> None:
        """Add the event of a change that the session has already made. It keeps the body."""
        body["counts"] = self.counts
        self.seq, self.unsaved = self.seq + 1, self.unsaved + n_requests(body)
        self.pending.add((self.seq, self._clock.now, kind, decision_in(kind, body), key, body))

    def apply(self, event: Event, *, decide: bool = False) -> None:
        """Repeat the change of a logged event, and check that the result is the same.

        No reward is evaluated. With ``decide``, decisions are made again, with evaluations, and the
        same sets and samples must result.
        """
        # Before anything changes: a damaged event must not reach the session.
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
        # The counts catch a log that is intact but was made by other code.
        if self.counts != body["counts"]:
            raise DamagedLogError(
                f"event {event.seq} ({event.kind}) gives {self.counts}, but the log has "
                f"{body['counts']}; was it made with another reward or version of superarm?"
            )
        self.unsaved += n_requests(body)
        self._step(event)

    def _apply(self, kind: str, body: dict[str, Any], time: float) -> None:
        session = self.session
        if kind == "decided":
            made = decisions_of(body, time)
            # Adopting takes the generator from the mark, so nothing is drawn and nothing evaluated.
            mark = {**body["mark"], "evaluations": body["counts"][EVALUATIONS]}
            if "asks" in body:
                adopt_each(session, made, mark)
            else:
                sets = feasible_of(session, self.spec["k"], body["ask"])
                session.adopt(made, mark, feasible=sets)
            self.told += sum(not one.arms for one in made)
        elif kind == "told" and "told" in body:
            for one in self.tell_each([(one["decision"], one["outcomes"]) for one in body["told"]]):
                if isinstance(one, Exception):
                    raise one
        elif kind == "told":
            self.tell(body["decision"], body["outcomes"])
        elif kind == "merged":
            merge(session, remote_of(body))
            self.merged += len(body["decisions"])
        elif kind == "expired":
            # The clock stands at the time of the event, so the same decisions expire.
            self.expired += len(session.expire())
        elif kind == "arms_added":
            # Features are what a belief with features takes as the prior of new arms.
            session.add_arms(body["arms"], prior=body.get("features", body["prior"]))
        elif kind == "arms_restored":
            session.restore(*body["arms"])
        elif kind == "arms_retired":
            session.retire(*body["arms"])
        else:
            raise ValueError(f"this version does not know the kind {kind!r}; update superarm")

    def _decide_again(self, seq: int, logged: dict[str, Any]) -> None:
        if "asks" in logged:
            made = self.ask_each(logged["asks"])
        else:
            asked = logged["ask"]
            made = self.ask(asked, feasible_of(self.session, self.spec["k"], asked))
        pairs = zip(made["decisions"], logged["decisions"], strict=True)
        again = [like(one, before, self.session.numbers) for one, before in pairs]
        marks = [without_answers(one["mark"]) for one in (made, logged)]
        by = difference((again, marks[0]), (logged["decisions"], marks[1]))
        self.difference = max(self.difference, by)
        if by > ROUNDING:
            then, now = ([one["arms"] for one in made] for made in (logged["decisions"], again))
            raise OtherDecisionError(
                f"event {seq} has {then}, and deciding again gives {now}, or the same sets from "
                f"other samples; the oracle remembered less, or the reward, the processor or the "
                f"version of superarm or numpy was another one"
            )
        # An oracle that has lost its cache evaluates more often.
        self.session.policy.reward.evaluations = logged["counts"][EVALUATIONS]

    def _step(self, event: Event) -> None:
        self.seq, self._clock.now = event.seq, event.time
        self.pending.follow(event.digest)


def _dumps(plain: Any) -> str:
    """JSON, in a quarter of the time of ``json.dumps``. Numbers are exact."""
    return to_json(plain).decode()
