"""Runs the operations of requests: one thread per bandit at a time, many requests per commit.

A request is an operation on a `Live` bandit. Operations that wait for the same bandit run one after
the other, and their events are committed together. Only then are they answered, including those
that changed nothing, because what they saw must be durable, too. If the commit fails, no request is
answered with success, the bandit in memory is dropped, and the next request loads it from the log.
So memory is never ahead of what was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from superarm.offpolicy.sampling import Sampler, sample_with
from superarm.service.bandits import ids, operations, parts, retention
from superarm.service.bandits.actor import (
    Actor,
    Awaited,
    HandOver,
    Operation,
    Waiting,
    Wanted,
    only,
    resolve,
)
from superarm.service.bandits.beside import Besides
from superarm.service.bandits.checkpoints import Checkpoints
from superarm.service.bandits.failures import no_bandit, problem_of
from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import within
from superarm.service.bandits.spec import Spec
from superarm.service.log.events import Bandit
from superarm.service.log.store import BehindError, DeletedError, Store, StoreError, Turn
from superarm.service.metrics import ClockWatch, Health, Metrics

_log = logging.getLogger("superarm.service")
_N_READERS = 4
_MOST_THREADS, _MOST_CONNECTIONS = 4096, 64


class Engine:
    """All bandits of a database.

    Parameters
    ----------
    store
        The database.
    own
        The operator's rewards, by name.
    checkpoint_every
        The number of requests between two checkpoints of a bandit: see `Checkpoints`.
    n_threads
        How many bandits decide at the same time; None for as many as there are at work, or 64 with
        PostgreSQL, where each takes a connection.
    deadline_s
        Seconds after which a request is given up; 0 for never.
    most_loaded
        How many bandits are kept in memory. The least recently used are dropped.
    clock, metrics
        Seconds since 1970; where to count.
    sampling
        What draws the samples of propensities; None for the threads of the bandits.

    Attributes
    ----------
    start
        ``start(wanted, reply)`` begins operations: see `HandOver.start`.
    """

    def __init__(
        self,
        store: Store,
        own: parts.Factories | None = None,
        *,
        checkpoint_every: int = 10_000,
        n_threads: int | None = None,
        deadline_s: float = 0.0,
        most_loaded: int = 1000,
        clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
        sampling: Sampler | None = None,
    ) -> None:
        self.store, self.own, self.clock = store, dict(own or {}), clock
        self.metrics = Metrics() if metrics is None else metrics
        self.checkpoints = Checkpoints(store, self.metrics, checkpoint_every)
        self._most_loaded, self._watch, self.health = most_loaded, ClockWatch(), Health(store)
        self._closed, self.deadline_s = False, deadline_s
        # Each bandit at work has a thread, so that a slow bandit keeps no other one waiting.
        most = n_threads or (_MOST_THREADS if store.name == "sqlite" else _MOST_CONNECTIONS)
        self._pool = ThreadPoolExecutor(most, "superarm", sample_with, (sampling,))
        # Readers of the database have threads of their own: they need not wait for slow rewards.
        self._readers = ThreadPoolExecutor(_N_READERS, "superarm-read")
        # Only the event loop touches these.
        self._handover = HandOver(self._pool, self._work, self.find)
        self._actors, self.start = self._handover.actors, self._handover.start
        self._loaded: OrderedDict[str, Actor] = OrderedDict()
        self._beside = Besides(store, self.own, self._actors, self.slowly)

    async def create(self, spec: Spec) -> Bandit:
        """Make a bandit. Raises NameTakenError if another bandit has the name."""
        made = await self.slowly(self.make, spec)
        # Another request may have found and used it already.
        actor = self._actors.setdefault(made.bandit.id, made)
        self._make_room(actor)
        return actor.bandit

    async def do(self, id: str, operation: Operation, *, reads: bool = False) -> Any:
        """Run an operation on the bandit with an id.

        Returns its answer, once everything that it saw is committed. Operations that change nothing
        (``reads``) do not wait for a slow one: see `Besides`.
        """
        if not reads:
            return only(await self.do_all([(id, operation)]))
        reply = Awaited(1)
        self.start([(id, operation)], reply, reads=True)
        with within(self.deadline_s, reply):
            return await self._beside.answer(reply, id, operation)

    async def do_all(self, wanted: Sequence[Wanted]) -> list[Any]:
        """Run operations, each on the bandit with its id. Answers may be problems."""
        if not wanted:
            return []
        reply = Awaited(len(wanted))
        self.start(wanted, reply)
        with within(self.deadline_s, reply):
            return await reply.future

    async def delete(self, id: str) -> None:
        """Delete a bandit, its log, and whatever is in memory of it."""
        reply = Awaited(1)
        self.start([(id, lambda *_: None)], reply, deletes=True)
        number = only(await reply.future)
        self._actors.pop(id, None), self._loaded.pop(id, None)
        self._beside.drop(id)
        self._pool.submit(retention.purge, self.store, [number])

    async def find(self, id: str) -> Bandit:
        """The bandit with an id. Raises Problem if there is none."""
        bandit = await self.in_thread(self.store.bandit, id) if ids.may_exist(id) else None
        if bandit is None:
            gone = ids.may_exist(id) and await self.in_thread(self.store.deleted, id)
            raise problem_of(DeletedError()) if gone else no_bandit(id)
        return bandit

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function that waits for the database."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, function, *args)
        except StoreError as error:
            raise problem_of(error) from error

    async def slowly(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function that takes long. It may be given up."""
        return await operations.slowly(self._pool, self.deadline_s, function, *args)

    def measure(self) -> None:
        """Update the gauges of the metrics."""
        found = [actor.live for actor in self._loaded.values() if actor.live is not None]
        self.metrics.loaded.set(len(found))
        self.metrics.open.set(sum(live.session.n_open for live in found))

    def close(self) -> None:
        """Finish running operations, make checkpoints of changed bandits, close the database."""
        self._closed = True  # first the operations, which may still change a bandit
        self._handover.close()
        self._pool.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.health.close()
        for actor in self._actors.values():
            self.checkpoints.make(actor)
        self.checkpoints.close()
        self.store.close()

    def make(self, spec: Spec) -> Actor:
        """Make a bandit, also before the event loop runs."""
        new = Bandit(0, ids.new_id(), spec["name"], spec["k"], self.clock())
        live = Live.new(new, spec, self.own)
        try:
            # The database gives the number, and refuses a name that is taken.
            live.bandit = self.store.create(live.bandit, live.pending.take()[0][0])
        except StoreError as error:
            self.health.failed(error)
            raise
        self.health.succeeded()
        self.metrics.created()
        return Actor(live.bandit, live)

    def _work(self, actor: Actor, loop: asyncio.AbstractEventLoop) -> None:
        """Run operations until none waits."""
        while batch := actor.take():
            batch = operations.arranged(batch)
            try:
                while batch:
                    answers = self._turn(actor, batch)
                    done, batch = batch[: len(answers)], batch[len(answers) :]
                    loop.call_soon_threadsafe(self._answer, actor, done, answers)
                live = actor.live
                if live is not None and live.unsaved >= self.checkpoints.every:
                    self.checkpoints.if_due(actor)
            except BaseException as error:  # even then no request may wait for ever
                self._failed(actor, error)
                with contextlib.suppress(RuntimeError):  # the event loop has ended
                    problems = [problem_of(error)] * len(batch)
                    loop.call_soon_threadsafe(resolve, batch, problems)

    def _turn(self, actor: Actor, batch: list[Waiting]) -> list[Any]:
        """Run and commit the first operations, all of them unless that takes long.

        Returns their answers, which may be exceptions.
        """
        actor.began = time.monotonic()
        try:
            if actor.is_deleted:
                raise DeletedError
            if batch[0].deletes:
                return [retention.delete(actor, self.store, self.checkpoints)]
            if jumped := self._watch.jump():
                _log.warning("clock_jumped", extra={"fields": {"seconds": round(jumped, 3)}})
            to_write = not all(waiting.reads for waiting in batch)
            # Another process may have appended events that this memory has not seen.
            live = actor.live
            seen = None if live is None else live.seq
            with self.store.turn(actor.bandit, seen, to_write=to_write) as turn:
                if live is None or turn.news:
                    live = operations.current(self.store, self.own, actor, turn, batch)
                answers, fault = operations.run(live, turn, batch)
                if fault is not None:  # earlier operations of this turn are still committed
                    actor.live = None
                    operations.log_fault(actor.bandit, fault)
                self._commit(live, turn)
            return answers
        except BehindError:
            actor.live = None  # it has changed, and nothing was committed
            return self._turn(actor, batch)
        except DeletedError as error:  # by another server, or before these came
            actor.live, actor.is_deleted = None, True
            return [problem_of(error)] * len(batch)
        except BaseException as error:  # nothing was committed, so nothing is acknowledged
            self.metrics.failures.inc()
            self._failed(actor, error)
            return [problem_of(error)] * len(batch)
        finally:
            actor.began = math.inf

    def _commit(self, live: Live, turn: Turn) -> None:
        # Empty before the commit: after a failure the bandit is dropped with its events.
        events, members = live.pending.take()
        if events:
            start = time.perf_counter()
            turn.commit(events, members)
            self.health.succeeded()
            more = [one.kind for one in members for _ in range(one.n - 1)]  # one per request
            kinds = [*(event.kind for event in events), *more]
            self.metrics.committed(kinds, time.perf_counter() - start)

    def _failed(self, actor: Actor, error: BaseException) -> None:
        """Drop the bandit from memory, which may be wrong now, and log the failure."""
        actor.live = None
        self.health.failed(error)
        operations.log_failure(actor.bandit, error)

    def _answer(self, actor: Actor, done: list[Waiting], answers: list[Any]) -> None:
        resolve(done, answers)
        self._make_room(actor)

    def _make_room(self, used: Actor) -> None:
        """Drop idle bandits from memory if there are too many, the least recently used first."""
        if used.is_deleted:
            return
        self._loaded[used.bandit.id] = used
        self._loaded.move_to_end(used.bandit.id)
        too_many = 0 if self._closed else len(self._loaded) - self._most_loaded
        for id in list(islice(self._loaded, max(0, too_many))):
            # A bandit at work is skipped. It is asked again after its next turn.
            if self._loaded[id].claim():
                self._beside.drop(id)
                self._pool.submit(self._drop, self._loaded.pop(id), asyncio.get_running_loop())

    def _drop(self, actor: Actor, loop: asyncio.AbstractEventLoop) -> None:
        self.checkpoints.make(actor)
        actor.live = None
        self._work(actor, loop)  # requests that have come meanwhile
