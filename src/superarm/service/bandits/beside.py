"""Reads of a bandit whose thread is busy for long: from its log, by another thread.

A decision with a slow reward takes as long as the reward. Who only looks need not wait for it: the
log has everything that was acknowledged. So a second bandit in memory follows the log, from the
last checkpoint on. It is made when the first read would wait, and decides nothing.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from superarm.service.bandits import loading, parts
from superarm.service.bandits.actor import Actor, Awaited, Operation, only
from superarm.service.bandits.live import Live
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store

PATIENCE_S = 0.25  # a turn that takes longer is a slow one, and others may read beside it


class Beside:
    """A bandit that follows the log of another one in memory.

    Parameters
    ----------
    bandit
        The bandit.
    """

    def __init__(self, bandit: Bandit) -> None:
        self._bandit = bandit
        self._live: Live | None = None
        self._lock = threading.Lock()

    def read(self, store: Store, own: parts.Factories, operation: Operation) -> Any:
        """The answer of an operation that changes nothing, after the last event of the log."""
        with self._lock:
            live, self._live = self._live, None  # dropped if it cannot follow
            news = [] if live is None else list(chain.events_after(store, self._bandit, live.seq))
            live = self._live = loading.current(store, self._bandit, own, live, news)
            with store.turn(self._bandit, live.seq, to_write=False) as turn:
                return operation(live, turn)


class Besides:
    """The `Beside` of each bandit of a server. Only the event loop uses it.

    Parameters
    ----------
    store, own
        The database, and the operator's rewards by name.
    actors
        The bandits by id.
    slowly
        ``await slowly(function, *args)`` runs a function in a thread.
    """

    def __init__(
        self,
        store: Store,
        own: parts.Factories,
        actors: Mapping[str, Actor],
        slowly: Callable[..., Awaitable[Any]],
    ) -> None:
        self._store, self._own, self._actors, self._slowly = store, own, actors, slowly
        self._all: dict[str, Beside] = {}

    async def answer(self, reply: Awaited, id: str, operation: Operation) -> Any:
        """The answer of a read that waits for the bandit with an id, or that from the log."""
        try:
            while not reply.future.done():
                actor = self._actors.get(id)
                if actor is not None and is_slow(actor):
                    other = self._all.setdefault(id, Beside(actor.bandit))
                    own = with_its_reward(self._own, actor.live)
                    return await self._slowly(other.read, self._store, own, operation)
                await asyncio.wait([reply.future], timeout=PATIENCE_S)
            return only(reply.future.result())
        finally:
            reply.future.cancel()  # nobody waits for it any more

    def drop(self, id: str) -> None:
        """Forget a bandit."""
        self._all.pop(id, None)


def is_slow(actor: Actor) -> bool:
    """Whether a turn of a bandit takes long, other than to load it."""
    return actor.live is not None and time.monotonic() - actor.began > PATIENCE_S


def with_its_reward(own: parts.Factories, live: Live | None) -> parts.Factories:
    """Factories for a second bandit, which has the reward of the first one.

    It never evaluates the reward, and to make another one may be slow.
    """
    name = "" if live is None else live.spec["reward"]["name"]
    if live is None or name not in own:
        return own
    reward, factory = live.session.policy.reward.uncounted, own[name]

    @functools.wraps(factory)
    def make(n_arms: int, **params: Any) -> Any:
        # Arms may have been added since the checkpoint.
        return reward if reward.n_arms == n_arms else factory(n_arms, **params)

    return {**own, name: make}
