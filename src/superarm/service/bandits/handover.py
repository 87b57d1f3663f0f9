"""The way of operations from the event loop to the threads of their bandits.

Operations that come in one turn of the event loop are handed over together, so that they share a
turn of the bandit and a commit. Their answers come back together, too: see `Engine._work`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from superarm.service.bandits.actor import Actor, Waiting, Wanted, resolve
from superarm.service.bandits.failures import about_to_stop
from superarm.service.bandits.replies import Reply
from superarm.service.log.events import Bandit

_log = logging.getLogger("superarm.service")


class HandOver:
    """Only the event loop uses it.

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
