"""Store checkpoints in the background. A checkpoint is a cache: the log has everything."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from superarm.service.bandits.actor import Actor
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store
from superarm.service.metrics import Metrics

_log = logging.getLogger("superarm.service")


class Checkpoints:
    """Makes checkpoints of bandits in a thread of its own, so that no request waits for it.

    Parameters
    ----------
    store
        The database.
    metrics
        Counts the checkpoints.
    every
        The number of requests between two checkpoints of a bandit, at least, because an event may
        be of many. Bandits with many arms or open decisions have large checkpoints, so a tenth of
        the number of arms, or half the number of open decisions, counts if that is more: a
        checkpoint costs O(1) per request.
    """

    def __init__(self, store: Store, metrics: Metrics, every: int) -> None:
        self.every = every
        self._store, self._metrics = store, metrics
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="superarm-checkpoint")

    def if_due(self, actor: Actor) -> None:
        """Make a checkpoint of a bandit after enough changes. Only its own thread may call."""
        if actor.live is not None:
            session = actor.live.session
            large = max(session.policy.reward.n_arms // 10, session.n_open // 2)
            self.make(actor, least=max(self.every, large))

    def make(self, actor: Actor, *, least: int = 1) -> None:
        """Make a checkpoint if at least ``least`` requests have changed the bandit since then."""
        live = actor.live
        if live is None or live.unsaved < least:
            return
        # Set even if storing fails later: the next attempt comes after as many requests again.
        live.unsaved = 0
        try:
            # The snapshot is taken now, by the thread of the bandit. Encoding and storing can wait.
            self._thread.submit(self._put, actor.bandit, *live.snapshot())
        except Exception as error:
            _warn(actor.bandit, error)

    def wait(self) -> None:
        """Return when every checkpoint so far is stored."""
        self._thread.submit(int).result()

    def close(self) -> None:
        """Store what is left, and end the thread."""
        self._thread.shutdown(wait=True)

    def _put(self, bandit: Bandit, meta: dict[str, Any], encode: Callable[[], bytes]) -> None:
        try:
            self._store.put_checkpoint(bandit.number, chain.make_checkpoint(meta, encode))
            self._metrics.checkpoints.inc()
        except Exception as error:
            _warn(bandit, error)


def _warn(bandit: Bandit, error: Exception) -> None:
    why = str(error) or type(error).__name__
    _log.warning("checkpoint_failed", extra={"fields": {"bandit": bandit.id, "why": why}})
