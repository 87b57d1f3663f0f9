"""Who changes a bandit, and when: one thread at a time for each, many waiting requests in one commit.

A request is an operation on a `Live` bandit. Those that wait for the same bandit are done one after the other, their
events are committed together, and only then is any of them answered: also those that found nothing to change, since
what they saw must be safe, too. If the commit fails nobody is answered with success, the bandit in memory is dropped,
and the next request loads it from the log. So memory is never ahead of what was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Literal

from superarm.service import loading, registry
from superarm.service.actor import Actor, Operation, Waiting
from superarm.service.events import Bandit, DamagedLogError
from superarm.service.live import Live
from superarm.service.metrics import Metrics
from superarm.service.problems import Fault, Problem, shown
from superarm.service.spec import Spec
from superarm.service.store import Store, StoreError, Turn

_log = logging.getLogger("superarm.service")
LONGEST_S = 0.05  # a commit has as many requests as are done in this time: nobody waits for the slow ones of others
_CHECK_S = 5.0  # a write that worked says for so long that the next one will
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class Engine:
    """All bandits of a database.

    Parameters
    ----------
    store
        The database.
    own
        The operator's rewards, by name.
    checkpoint_every
        A bandit is checkpointed after so many events, or a tenth of its arms if that is more.
    n_threads
        How many bandits are decided at the same time.
    most_loaded
        How many bandits are kept in memory; those that were asked for least recently are loaded again when needed.
    clock
        Seconds since 1970.
    metrics
        Where to count; anew unless given.
    """

    def __init__(
        self,
        store: Store,
        own: Mapping[str, registry.Factory] | None = None,
        *,
        checkpoint_every: int = 2000,
        n_threads: int = 8,
        most_loaded: int = 1000,
        clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
    ) -> None:
        self.metrics = Metrics() if metrics is None else metrics
        self._failing: StoreError | None = None
        self._written = -math.inf
        self._closed = False
        self.store, self.own, self.clock = store, dict(own or {}), clock
        self.checkpoint_every = checkpoint_every
        self.most_loaded = most_loaded
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="superarm")
        self._readers = ThreadPoolExecutor(
            4, thread_name_prefix="superarm-read"
        )  # slow rewards keep no reader waiting
        self._keeper = ThreadPoolExecutor(
            1, thread_name_prefix="superarm-keep"
        )  # bandits need not wait for it
        self._actors: dict[str, Actor] = {}  # these two are touched on the event loop alone
        self._loaded: OrderedDict[str, Actor] = OrderedDict()

    async def create(self, spec: Spec) -> Bandit:
        """A new bandit; NameTakenError where there is one of that name."""
        made = await self.in_thread(self._create, spec)
        actor = self._actors.setdefault(
            made.bandit.id, made
        )  # it may have been listed and asked for already
        self._make_room(actor)
        return actor.bandit

    async def do(self, id: str, operation: Operation, *, reads: bool = False) -> Any:
        """The answer of an operation on a bandit, once everything that it saw is committed.

        ``reads`` is for operations that change nothing.
        """
        if self._closed:
            raise Problem(
                503, "the server is about to end", fix="repeat", headers={"Retry-After": "1"}
            )
        actor = self._actors.get(id)
        if actor is None:
            bandit = await self.in_thread(self.store.bandit, id)
            if bandit is None:
                raise Problem(
                    404, f"no bandit has the id {shown(id)}", fix="GET /v1/bandits lists them"
                )
            actor = self._actors.setdefault(id, Actor(bandit))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if actor.put((operation, not reads, future)):
            self._pool.submit(self._work, actor, loop)
        return await future

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """The answer of a function that waits for the database."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, function, *args)
        except StoreError as error:
            raise as_problem(error) from error

    def health(self) -> Literal["ok", "read_only", "failing"]:
        """Whether events can be written: as the last commit says, tried again where it failed or is long ago."""
        if self._failing is not None or time.monotonic() - self._written >= _CHECK_S:
            try:
                self.store.check()
                self._worked()
            except StoreError as error:
                self._failing = error
        if self._failing is None:
            return "ok"
        return "read_only" if self._failing.read_only else "failing"

    def measure(self) -> None:
        """Bring the gauges up to date."""
        found = [actor.live for actor in self._loaded.values() if actor.live is not None]
        self.metrics.loaded.set(len(found))
        self.metrics.open.set(sum(live.session.n_open for live in found))

    def close(self) -> None:
        """Finish what is being done, keep a checkpoint of every bandit that has changed, and let go of the database."""
        self._closed = True
        self._pool.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for actor in self._actors.values():
            self._checkpoint(actor, least=1)
        self._keeper.shutdown(wait=True)
        self.store.close()

    def _create(self, spec: Spec) -> Actor:
        id = "".join(secrets.choice(_ALPHABET) for _ in range(10))
        live = Live.new(Bandit(0, id, spec["name"], spec["k"], self.clock()), spec, self.own)
        try:
            bandit = self.store.create(live.bandit, live.pending.pop())
        except StoreError as error:
            self._failing = error
            raise
        self._worked()
        live.bandit = bandit
        actor = Actor(bandit)
        actor.live = live
        return actor

    def _work(self, actor: Actor, loop: asyncio.AbstractEventLoop) -> None:
        while batch := actor.take():
            try:
                self._serve(actor, batch, loop)
            except (
                BaseException
            ) as error:  # also of what is done about failures: nobody is left waiting
                actor.live = None
                futures, problem = [future for *_, future in batch], as_problem(error)
                with contextlib.suppress(RuntimeError):  # the event loop has ended
                    loop.call_soon_threadsafe(_resolve, futures, [problem] * len(futures))
                _log.error(
                    "turn_failed", exc_info=error, extra={"fields": {"bandit": actor.bandit.id}}
                )

    def _serve(self, actor: Actor, batch: list[Waiting], loop: asyncio.AbstractEventLoop) -> None:
        while batch:
            answers = self._turn(actor, batch)
            done, batch = batch[: len(answers)], batch[len(answers) :]
            loop.call_soon_threadsafe(self._answer, actor, [future for *_, future in done], answers)
        self._checkpoint(actor, least=max(self.checkpoint_every, _n_arms(actor) // 10))

    def _turn(self, actor: Actor, batch: list[Waiting]) -> list[Any]:
        """The answers to the first operations, exceptions among them; at least one, and all unless that takes long."""
        answers: list[Any] = []
        end = time.perf_counter() + LONGEST_S
        try:
            with self.store.turn(
                actor.bandit, to_write=any(writes for _, writes, _ in batch)
            ) as turn:
                live = self._current(actor, turn)
                for operation, *_ in batch:
                    try:
                        answers.append(operation(live, turn))
                    except Problem as problem:
                        answers.append(problem)
                    except Fault as fault:
                        _log.error(
                            "fault",
                            exc_info=fault.__cause__,
                            extra={"fields": {"bandit": actor.bandit.id}},
                        )
                        answers.append(fault.problem)
                        actor.live = None
                        break
                    if time.perf_counter() >= end:
                        break
                self._commit(live, turn)
            return answers
        except (
            BaseException
        ) as error:  # whatever it was: nothing is acknowledged, and memory is not to be trusted
            actor.live = None
            self.metrics.failures.inc()
            self._failing = error if isinstance(error, StoreError) else self._failing
            trace = None if isinstance(error, StoreError | DamagedLogError | Problem) else error
            fields = {"bandit": actor.bandit.id, "why": str(error)}
            _log.error("turn_failed", exc_info=trace, extra={"fields": fields})
            return [as_problem(error)] * len(batch)

    def _commit(self, live: Live, turn: Turn) -> None:
        events, live.pending = live.pending, []
        if not events:
            return
        start = time.perf_counter()
        turn.commit(events)
        self._worked()
        self.metrics.committed((event.kind for event in events), time.perf_counter() - start)

    def _worked(self) -> None:
        self._failing, self._written = None, time.monotonic()

    def _current(self, actor: Actor, turn: Turn) -> Live:
        live = actor.live
        if live is None:
            live = actor.live = loading.load(self.store, actor.bandit, self.own)
        for event in turn.after(live.seq):
            live.apply(event)
        return live

    def _answer(self, actor: Actor, futures: list[asyncio.Future[Any]], answers: list[Any]) -> None:
        _resolve(futures, answers)
        self._make_room(actor)

    def _make_room(self, used: Actor) -> None:
        """Have bandits leave memory that were not asked for lately and are idle, if there are too many."""
        self._loaded[used.bandit.id] = used
        self._loaded.move_to_end(used.bandit.id)
        too_many = 0 if self._closed else len(self._loaded) - self.most_loaded
        for id in list(islice(self._loaded, max(0, too_many))):
            if self._loaded[id].claim():
                self._pool.submit(self._leave, self._loaded.pop(id), asyncio.get_running_loop())

    def _leave(self, actor: Actor, loop: asyncio.AbstractEventLoop) -> None:
        self._checkpoint(actor, least=1)
        actor.live = None
        self._work(actor, loop)  # what has come meanwhile

    def _checkpoint(self, actor: Actor, least: int) -> None:
        live = actor.live
        if live is None or live.seq - live.checkpointed < least:
            return
        live.checkpointed = live.seq
        try:
            self._keeper.submit(self._keep, actor.bandit, *live.snapshot())
        except Exception as error:
            _not_kept(actor.bandit, error)

    def _keep(self, bandit: Bandit, meta: dict[str, Any], encode: Callable[[], bytes]) -> None:
        try:
            self.store.put_checkpoint(bandit.number, loading.packed(meta, encode))
            self.metrics.checkpoints.inc()
        except Exception as error:
            _not_kept(bandit, error)


def as_problem(error: BaseException) -> Problem:
    """What a client is told of a failure, without its insides."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreError) and error.full:
        return Problem(
            507,
            "the database has no room left, so nothing was changed",
            fix="free some room, then repeat",
        )
    if isinstance(error, StoreError):
        why = "is read-only" if error.read_only else "could not be written or read"
        fix = (
            "repeat later: outcomes count once in any case, decisions with the same Idempotency-Key"
        )
        return Problem(
            503,
            f"the database {why}, so nothing is acknowledged",
            fix=fix,
            headers={"Retry-After": "1"},
        )
    if isinstance(error, DamagedLogError):
        return Problem(
            500,
            "the log of this bandit is damaged, so nothing is decided and nothing is written",
            fix="run superarm replay, which says where, and restore the database from a backup",
        )
    return Problem(
        500, "the server failed, and nothing was changed", fix="the log of the server says how"
    )


def _not_kept(bandit: Bandit, error: Exception) -> None:
    """A checkpoint is a cache, so a word about it is enough: the log has everything."""
    why = str(error) or type(error).__name__
    _log.warning("checkpoint_failed", extra={"fields": {"bandit": bandit.id, "why": why}})


def _n_arms(actor: Actor) -> int:
    return 0 if actor.live is None else actor.live.session.policy.reward.n_arms


def _resolve(futures: list[asyncio.Future[Any]], answers: list[Any]) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if future.done():  # the client has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
