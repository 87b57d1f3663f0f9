"""Decide here, with a snapshot of a bandit of the service."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, Self, TypeVar, Unpack, overload

import numpy as np

from superarm.client.answers import Bandit
from superarm.client.clients import Client
from superarm.client.edge_batches import Batch, Made
from superarm.client.edge_names import constraints_by_text, outcomes_by_text
from superarm.client.edge_syncs import Syncs
from superarm.client.requests import id_of, new_key
from superarm.core import Reward
from superarm.service.bandits.spec import policy_of, rewards_of
from superarm.service.problems import Problem
from superarm.sessions import Decision, Session, bulk
from superarm.sessions.edge import fitting, give_up, merge, take_over
from superarm.sessions.pace import Pace
from superarm.sessions.view import AskOptions
from superarm.sets import Feasible

_MOST_SIZE = 100_000  # arms and numbers of contexts in a batch; the service takes twice as many
_MOST_DECISIONS = 1000
_Lock = TypeVar("_Lock")


class EdgeBandit:
    """A bandit of the service that decides in this process, without requests.

    `ask` and `tell` are those of a `Session`. `sync` sends the closed decisions to the service, and
    takes a new snapshot, which knows what all other clients have sent. Decisions that are not sent
    are lost if this process dies. Threads may share an edge bandit, and decide during `sync`. Each
    process makes its own.

    Parameters
    ----------
    client
        The client to reach the service with.
    bandit
        The bandit or its id.
    rewards
        The operator's own rewards by name, if the bandit has one: ``rewards[name](n_arms)``.
    clock
        Returns seconds since 1970.
    every
        Sync in a thread of its own, at least once in this many seconds, and more often while the
        bandit is young. None to call `sync` yourself.
    share
        With ``every``: a sync is due when all clients together have probably made this share of the
        decisions that the snapshot knows.
    least
        With ``every``: the shortest time between two syncs, in seconds.

    Attributes
    ----------
    session
        The session that decides now. `sync` replaces it.

    Examples
    --------
    >>> import httpx, superarm as sa
    >>> from superarm.sessions.edge import share
    >>> policy = sa.Policy(sa.BetaBelief(4), sa.TopK(), sa.LinearReward(4), 2)
    >>> home = sa.Session(policy, ["ant", "bee", "cat", "dog"], seed=1)
    >>> parts = {"belief": {"kind": "beta"}, "oracle": {"kind": "top_k"}}
    >>> spec = {**parts, "k": 2, "prior": None, "reward": {"name": "linear"}}
    >>> def service(request):  # stands for a service in this example
    ...     if request.url.path.endswith("/batches"):
    ...         return httpx.Response(200, json={"decisions": 1, "outcomes": 2})
    ...     data = base64.b64encode(share(home, "b1.s1", 2)()).decode()
    ...     return httpx.Response(200, json={"version": "1-0", "spec": spec, "session": data})
    >>> with Client(transport=httpx.MockTransport(service)) as client:
    ...     edge = EdgeBandit(client, "b1")
    ...     decision = edge.ask()
    ...     edge.tell(decision, dict.fromkeys(decision.arms, 1.0))
    ...     decision.id, edge.sync()
    ('bee', 'cat')
    ('b1.s1-1', 1)
    """

    def __init__(
        self,
        client: Client,
        bandit: Bandit | str,
        *,
        rewards: Mapping[str, Callable[..., Reward]] | None = None,
        clock: Callable[[], float] = time.time,
        every: float | None = None,
        share: float = 0.005,
        least: float = 1.0,
    ) -> None:
        self._client, self._bandit = client, id_of(bandit)
        pace = None if every is None else Pace.checked(every, share, least)
        self._syncs = None if pace is None else Syncs(self.sync, lambda: self.n_unsent, pace)
        self._rewards, self._clock = dict(rewards or {}), clock
        # One thread sends at a time, and the others may decide meanwhile.
        self._sending, self._lock = threading.Lock(), threading.RLock()
        self._now, self._process = clock(), os.getpid()
        self._open: dict[str, Made] = {}
        self._closed: list[Made] = []
        self._batch: Batch | None = None
        self.session, self._version = self._fetched()
        if self._syncs is not None:
            self._syncs.start()

    def __repr__(self) -> str:
        return f"EdgeBandit({self._bandit!r}, {self.n_unsent} decisions to send)"

    @property
    def n_unsent(self) -> int:
        """How many closed decisions the service does not know to have."""
        on_its_way = self._batch
        return len(self._closed) + (0 if on_its_way is None else len(on_its_way.made))

    @property
    def error(self) -> Exception | None:
        """Why the last sync of the thread failed; None if it did not. It tries again.

        Mostly a `ClientError`. A reward that fails for a new snapshot is another error.
        """
        return None if self._syncs is None else self._syncs.error

    @overload
    def ask(self, n: None = None, **options: Unpack[AskOptions]) -> Decision: ...
    @overload
    def ask(self, n: int, **options: Unpack[AskOptions]) -> list[Decision]: ...
    def ask(self, n: int | None = None, **options: Unpack[AskOptions]) -> Any:
        """The arms to pull now, or ``n`` decisions: see `Session.ask`.

        ``feasible`` is made by `feasible`. If a `sync` comes in between, arms that are new in its
        snapshot are left out.
        """
        with self._here(self._lock):
            self._advance()
            options["feasible"] = fitting(self.session, options.get("feasible"))
            made = self._issued(self.session.ask(1 if n is None else n, **options))
            return made[0] if n is None else made

    def feasible(self, k: int | None = None, **constraints: Any) -> Feasible:
        """Constraints for `ask`: see `Session.feasible`. Names are texts, as over HTTP."""
        return self.session.feasible(k, **constraints_by_text(constraints))

    def ask_many(self, n: int, *, propensities: int | None = None) -> list[Decision]:
        """n decisions, drawn at once: the law of ``ask(n)``, many times faster for simple policies.

        The draws have a stream of their own. They follow from the snapshot and from the number of
        the first decision. All decisions of a call share the samples of the propensities. A call
        takes at most 100,000 decisions, and 5,000,000 arms in all of them: make several for more.
        """
        with self._here(self._lock):
            self._advance()
            return self._issued(bulk.ask_many(self.session, n, propensities))

    def tell_many(
        self, told: Iterable[tuple[Decision | str, Mapping[Any, float]]]
    ) -> list[tuple[Any, ...]]:
        """Learn outcomes of many decisions: the same as one `tell` each, or nothing on an error."""
        told = [(decision, outcomes_by_text(outcomes)) for decision, outcomes in told]
        with self._here(self._lock):
            self._advance()
            found = bulk.tell_many(self.session, told)
            for (decision, outcomes), new in zip(told, found, strict=True):
                self._learnt(decision, outcomes, new)
            return found

    def tell(self, decision: Decision | str, outcomes: Mapping[Any, float]) -> tuple[Any, ...]:
        """Learn outcomes of a decision, here and later at the service: see `Session.tell`."""
        outcomes = outcomes_by_text(outcomes)
        with self._here(self._lock):
            self._advance()
            new = self.session.tell(decision, outcomes)
            self._learnt(decision, outcomes, new)
            return new

    def sync(self) -> int:
        """Send the closed decisions, and take a new snapshot. Returns how many were sent.

        Decisions are closed when all outcomes are known, or when they have expired. If the service
        cannot be reached, nothing is lost: the next call sends the same batch first, and the
        service counts it once, whether it had arrived or not. If the service refuses the batch,
        `drop` it to go on.
        """
        with self._here(self._sending):
            n_sent = self._send()
            session, version = self._fetched()
            with self._lock:
                take_over(session, self.session)
                # What was closed since the snapshot is known here only.
                merge(session, [(one.decision, one.outcomes) for one in self._closed])
                self.session, self._version = session, version
            return n_sent

    def drop(self) -> int:
        """Forget the batch that the service has refused. Returns how many decisions it had."""
        with self._here(self._sending):
            batch, self._batch = self._batch, None
            return 0 if batch is None else len(batch.made)

    def close(self) -> None:
        """Send everything, open decisions with the outcomes so far. No outcomes can follow."""
        if self._syncs is not None:
            self._syncs.end()
        with self._here(self._sending):
            with self._lock:
                for one in give_up(self.session):
                    self._close(one.id)
            self._send()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _here(self, lock: _Lock) -> _Lock:
        """The lock, if this is the process that made the edge bandit."""
        # Asked first: a lock may stay locked for ever in a process that was forked.
        if os.getpid() != self._process:
            raise RuntimeError(
                "an EdgeBandit must be used in the process that made it, got a copy in a forked "
                "process, which would repeat its decisions; make one in each process"
            )
        return lock

    def _issued(self, made: list[Decision]) -> list[Decision]:
        for one in made:
            self._open[one.id] = Made(one, {})
            if not one.arms:
                self._close(one.id)
        return made

    def _learnt(
        self, decision: Decision | str, outcomes: Mapping[Any, float], new: tuple[Any, ...]
    ) -> None:
        if new:
            id = decision if isinstance(decision, str) else decision.id
            made = self._open[id]
            made.outcomes.update({arm: float(outcomes[arm]) for arm in new})
            if len(made.outcomes) == len(made.decision.arms):
                self._close(id)

    def _advance(self) -> None:
        """Move the clock, and close what has expired. The session has the same time until then."""
        self._now = max(self._now, self._clock())
        for one in self.session.expire():
            self._close(one.id)

    def _close(self, id: str) -> None:
        self._closed.append(self._open.pop(id))
        if self._syncs is not None:
            self._syncs.closed(len(self._closed))

    def _send(self) -> int:
        # Not more than there are now: other threads may close decisions faster than they are sent.
        n_sent, n_wanted = 0, self.n_unsent
        while n_sent < n_wanted and (batch := self._next_batch()):
            plain = [one.as_dict() for one in batch.made]
            self._client.merge(self._bandit, batch.version, plain, key=batch.key)
            self._batch = None
            n_sent += len(batch.made)
        return n_sent

    def _next_batch(self) -> Batch | None:
        with self._lock:
            if self._batch is None and self._closed:
                n = _n_fitting([one.decision for one in self._closed[:_MOST_DECISIONS]])
                made, self._closed = self._closed[:n], self._closed[n:]
                self._batch = Batch(new_key(), self._version, made)
            return self._batch

    def _fetched(self) -> tuple[Session, str]:
        """A session of a new snapshot, and the version of the snapshot."""
        answer = self._client.snapshot(self._bandit)
        data, spec = base64.b64decode(answer["session"]), answer["spec"]
        try:
            rewards = rewards_of(spec, self._rewards)
            policy = policy_of(spec, self._rewards)
            session = Session.from_bytes(data, policy, rewards=rewards, clock=lambda: self._now)
        except Problem as problem:
            raise ValueError(f"{problem.detail}; give it to EdgeBandit as rewards") from problem
        if self._syncs is not None:
            self._syncs.saw(answer.get("decisions", 0))  # services of older versions do not say it
        return session, answer["version"]


def _n_fitting(decisions: list[Decision]) -> int:
    """How many of the first decisions fit into a batch; at least one does."""
    # A context may have numbers for each of many arms.
    sizes = (len(one.arms) + np.size(one.context or ()) for one in decisions)
    return max(1, sum(total <= _MOST_SIZE for total in accumulate(sizes)))
