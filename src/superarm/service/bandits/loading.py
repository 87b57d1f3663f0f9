"""Load a bandit from its log: from the last good checkpoint, or else from the first event."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from superarm.errors import SessionFileError
from superarm.service.bandits import parts
from superarm.service.bandits.live import Live
from superarm.service.log import chain
from superarm.service.log.events import Bandit, DamagedLogError, Event
from superarm.service.log.store import Checkpoint, DeletedError, Store
from superarm.service.problems import Problem

_log = logging.getLogger("superarm.service")


def load(
    store: Store, bandit: Bandit, own: parts.Factories, *, use_checkpoint: bool = True
) -> Live:
    """The bandit after its last event."""
    try:
        return _load(store, bandit, own, use_checkpoint)
    except DamagedLogError:
        # Another process may have removed all events just now.
        if store.bandit(bandit.id) is None:
            raise DeletedError(f"bandit {bandit.id} was deleted") from None
        # Or some of them, and then all that are left are at a new base.
        if store.base(bandit.number) is None:
            raise
        return _load(store, bandit, own, use_checkpoint)


def current(
    store: Store, bandit: Bandit, own: parts.Factories, live: Live | None, news: list[Event]
) -> Live:
    """The bandit after its last event, from what is in memory and the ``news`` since."""
    # Some of the news may have been removed, because the log was compacted.
    if live is None or (news and news[0].seq != live.seq + 1):
        live = load(store, bandit, own)
    for event in news:
        if event.seq > live.seq:
            live.apply(event)
    return live


def _load(store: Store, bandit: Bandit, own: parts.Factories, use_checkpoint: bool) -> Live:
    live = None
    if use_checkpoint:
        live = from_checkpoint(store, bandit, own, store.checkpoint(bandit.number))
    if live is None:
        live = begin(store, bandit, own)
    for event in chain.events_after(store, bandit, live.seq):
        live.apply(event)
    return live


def begin(store: Store, bandit: Bandit, own: parts.Factories) -> Live:
    """The bandit after its first event, or at the base of a log that was compacted."""
    base = store.base(bandit.number)
    if base is None:
        return created(store, bandit, own)
    meta = chain.base_meta(store, bandit, base)
    spec = chain.spec_of(chain.first_event(store, bandit))
    try:
        with _blaming_rewards(bandit):
            return Live.from_checkpoint(bandit, spec, own, meta, base.data)
    except (SessionFileError, KeyError, ValueError) as error:
        raise DamagedLogError(f"the base of bandit {bandit.id} cannot be used: {error}") from error


def created(store: Store, bandit: Bandit, own: parts.Factories) -> Live:
    """The bandit after its first event."""
    first = chain.first_event(store, bandit)
    with _blaming_rewards(bandit):
        return Live.of(bandit, first, own)


@contextlib.contextmanager
def _blaming_rewards(bandit: Bandit) -> Iterator[None]:
    """The spec was accepted once, so the request is not to blame: a reward is missing."""
    try:
        yield
    except Problem as problem:
        raise Problem(
            500,
            f"bandit {bandit.id} cannot be rebuilt: {problem.detail}",
            fix="start with the --rewards that it was made with",
        ) from problem


def from_checkpoint(
    store: Store, bandit: Bandit, own: parts.Factories, checkpoint: Checkpoint | None
) -> Live | None:
    """The bandit at a checkpoint; None if there is none, or if it cannot be used."""
    meta = chain.checkpoint_meta(bandit, checkpoint)
    if checkpoint is None or meta is None:
        return None
    # A checkpoint ahead of its log would hide that events are missing.
    chain.check_checkpoint(store, bandit, meta)
    spec = chain.spec_of(chain.first_event(store, bandit))
    try:
        with _blaming_rewards(bandit):
            return Live.from_checkpoint(bandit, spec, own, meta, checkpoint.data)
    except (SessionFileError, KeyError, ValueError) as error:
        fields = {"bandit": bandit.id, "why": str(error)}
        # The log has everything, so an unusable checkpoint only costs time.
        _log.warning("checkpoint_unusable", extra={"fields": fields})
        return None


def without_reward(store: Store, own: parts.Factories) -> Iterator[tuple[Bandit, str]]:
    """Bandits whose rewards are unknown, with the names of the rewards."""
    for bandit in chain.all_bandits(store):
        name = chain.spec_of(chain.first_event(store, bandit))["reward"]["name"]
        if name not in parts.REWARDS and name not in own:
            yield bandit, name
