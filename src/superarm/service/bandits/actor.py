"""A bandit, the operations that wait for it, their way to its thread, and the replies to them.

Operations that come in one turn of the event loop are handed over together, so that they share a
turn of the bandit and a commit. Their answers come back together, too: see `Engine._work`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from superarm.service.bandits.failures import about_to_stop
from superarm.service.bandits.live import Live
from superarm.service.bandits.patience import CLIENT_GONE, GivenUpError
from superarm.service.log.events import Bandit
from superarm.service.log.store import Turn
from superarm.service.problems import Problem

_log = logging.getLogger("superarm.service")
_MOST_TAKEN = 512  # operations that are taken at once
_MANY, _LONGEST_WAIT_S = 4, 0.004  # see `Actor.take`
_MISSING: Any = object()

# What a request does to a bandit, or reads from it. Returns the answer.
Operation = Callable[[Live, Turn], Any]
# An operation with the id of its bandit, or why it cannot be carried out.
Wanted = tuple[str, Operation] | Exception


class Reply:
    """The answers to the operations of one request, in their order.

    Only the event loop changes it. Threads look at `is_over`.

    Parameters
    ----------
    n
        The number of operations.

    Examples
    --------
    >>> class Printed(Reply):
    ...     def end(self, answers):
    ...         print(answers)
    >>> reply = Printed(2)
    >>> reply.put(1, "second")
    >>> reply.put(0, "first")
    ['first', 'second']
    >>> reply.is_over
    True
    """

    def __init__(self, n: int) -> None:
        self._answers, self._n_missing = [_MISSING] * n, n

    def end(self, answers: list[Any]) -> None:
        """Called with all answers, once."""
        raise NotImplementedError

    def fail(self, error: Exception) -> None:
        """Called instead of `end` if the request is refused."""
        raise NotImplementedError

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return not self._n_missing

    def put(self, place: int, answer: Any) -> None:
        """Add the answer of one operation, which may be an exception."""
        if not self._n_missing:  # given up
            return
        self._answers[place] = answer
        self._n_missing -= 1
        if not self._n_missing:
            answers, self._answers = self._answers, []  # a request may live longer than its answers
            self.end(answers)

    def give_up(self, problem: Problem) -> None:
        """Answer all operations that have no answer yet."""
        if self._n_missing:
            self._n_missing = 0
            answers, self._answers = self._answers, []
            self.end([problem if one is _MISSING else one for one in answers])

    def refuse(self, problem: Problem) -> None:
        """Answer the request as a whole with a problem, unless it has its answers."""
        if self._n_missing:
            self._n_missing, self._answers = 0, []
            self.fail(problem)


class Awaited(Reply):
    """The reply to the request of the task that runs. ``future`` has the answers."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._has_left = CLIENT_GONE.get()

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        # A task that is cancelled cancels the future.
        return self.future.done() or self._has_left()

    def end(self, answers: list[Any]) -> None:
        """Fulfil the future."""
        if not self.future.done():
            self.future.set_result(answers)


class Waiting(NamedTuple):
    """An operation of a request.

    Attributes
    ----------
    operation
        What it does.
    reply, place
        Where its answer goes.
    reads, deletes
        Whether it changes nothing, and whether it deletes the bandit instead of an operation.
    """

    operation: Operation
    reply: Reply
    place: int = 0
    reads: bool = False
    deletes: bool = False

    def look(self) -> None:
        """Raise if nobody waits for the answer any more."""
        if self.reply.is_over:
            raise GivenUpError("nobody waits for the answer any more")


class Actor:
    """A bandit with a queue of operations. At most one thread works for it at a time.

    ``began`` is when its turn began, by `time.monotonic`; infinite if it has none.
    """

    def __init__(self, bandit: Bandit, live: Live | None = None) -> None:
        self.bandit, self.live = bandit, live
        self.is_deleted = False
        self.began = math.inf
        self._queue: deque[Waiting] = deque()
        self._lock = threading.Condition(threading.Lock())
        self._busy = False
        self._taken, self._since = 0, 0.0  # how many operations were taken, and when
        self._expected = 0  # how many are waited for

    def put(self, group: Iterable[Waiting]) -> bool:
        """Add operations. Returns whether the caller has to send a thread."""
        with self._lock:
            self._queue.extend(group)
            if 0 < self._expected <= len(self._queue):
                self._lock.notify()
            # The lock makes the check and the change one step: two threads never work for a bandit.
            idle, self._busy = not self._busy, True
            return idle

    def claim(self) -> bool:
        """Keep other threads away. Returns False if a thread is already at work."""
        with self._lock:
            idle, self._busy = not self._busy, True
            return idle

    def take(self) -> list[Waiting]:
        """The operations that wait now. If there are none, the thread may leave.

        After a turn with many operations, the clients that have their answers now often ask again
        at once. One turn for all clients takes less time than two for half of them each, so they
        are waited for: at most as long as the last turn took.
        """
        with self._lock:
            if self._taken >= _MANY:
                self._expected = self._taken + len(self._queue)
                took = time.perf_counter() - self._since
                self._lock.wait(min(took, _LONGEST_WAIT_S))
                self._expected = 0
            # Under the same lock as `put`, so no operation is left behind by a thread that leaves.
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_TAKEN))]
            self._busy, self._taken, self._since = bool(taken), len(taken), time.perf_counter()
            return taken


class HandOver:
    """The way of operations to the threads of their bandits. Only the event loop uses it.

    Parameters
    ----------
    pool
        The threads.
    work
        ``work(actor, loop)`` runs in a thread until no operation waits for the bandit.
    find
        ``await find(id)`` is the bandit with an id, or raises why there is none.

    Attributes
    ----------
    actors
        The bandits that were found, by id.
    """

    def __init__(
        self,
        pool: Executor,
        work: Callable[[Actor, asyncio.AbstractEventLoop], Any],
        find: Callable[[str], Awaitable[Bandit]],
    ) -> None:
        self.actors: dict[str, Actor] = {}
        self._pool, self._work, self._find = pool, work, find
        self._groups: dict[Actor, list[Waiting]] = {}
        self._finding: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, wanted: Sequence[Wanted], reply: Reply, **how: bool) -> None:
        """Begin operations. ``reply`` gets their answers, and may be given up.

        No answer comes before this has returned. ``how`` has the other attributes of `Waiting`.
        """
        actors = self.actors
        for one in wanted:
            if not isinstance(one, Exception) and one[0] not in actors:
                task = asyncio.get_running_loop().create_task(self._find_first(wanted, reply, how))
                self._finding.add(task)  # the loop keeps no reference
                task.add_done_callback(self._finding.discard)
                return
        for place, one in enumerate(wanted):
            if isinstance(one, Exception):
                asyncio.get_running_loop().call_soon(reply.put, place, one)
                continue
            if not self._groups:
                loop = asyncio.get_running_loop()
                loop.call_soon(self._flush, loop)
            group = self._groups.setdefault(actors[one[0]], [])
            group.append(Waiting(one[1], reply, place, **how))

    async def _find_first(
        self, wanted: Sequence[Wanted], reply: Reply, how: dict[str, bool]
    ) -> None:
        failed: dict[str, Exception] = {}
        for id in {one[0] for one in wanted if not isinstance(one, Exception)} - set(self.actors):
            try:
                self.actors.setdefault(id, Actor(await self._find(id)))
            except Exception as error:  # whatever it is, it answers the operations
                failed[id] = about_to_stop() if self._closed else error
        rest = [one if isinstance(one, Exception) else failed.get(one[0], one) for one in wanted]
        self.start(rest, reply, **how)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand over what has come since the last time."""
        groups, self._groups = self._groups, {}
        for actor, group in groups.items():
            if self._closed:
                resolve(group, [about_to_stop()] * len(group))
            # An idle bandit needs a thread, which then serves the later operations, too.
            elif actor.put(group):
                try:
                    self._pool.submit(self._work, actor, loop)
                except RuntimeError:
                    # No thread can be started now. The pool has noted the work, and a thread that
                    # becomes free does it. The other bandits must not wait for that.
                    _log.exception("no_thread", extra={"fields": {"bandit": actor.bandit.id}})

    def close(self) -> None:
        """Refuse all operations from now on."""
        self._closed = True


def look_all(batch: list[Waiting]) -> None:
    """Raise if nobody waits for any of these answers any more."""
    if all(waiting.reply.is_over for waiting in batch):
        raise GivenUpError("nobody waits for the answers any more")


def resolve(done: list[Waiting], answers: list[Any]) -> None:
    """Give operations their answers, which may be exceptions."""
    for waiting, answer in zip(done, answers, strict=True):
        try:
            waiting.reply.put(waiting.place, answer)
        except Exception:  # the answers behind it belong to other requests
            _log.exception("answer_failed")


def only(answers: list[Any]) -> Any:
    """The answer to the only operation of a request. Raises it if it is an exception."""
    (answer,) = answers
    if isinstance(answer, Exception):
        raise answer
    return answer
