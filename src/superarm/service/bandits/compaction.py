"""Shorten the log of a bandit: a state takes the place of its oldest events.

The first event stays, because it has the spec. The state after the last event that is removed is
the *base*, from which the bandit is rebuilt. Decisions that the removed events issued can no
longer be looked up. The belief and everything that follows are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from superarm.service.bandits import loading, parts
from superarm.service.bandits.spec import names_of
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store
from superarm.sessions import Decision

_DAY_S = 86_400


class Compacted(NamedTuple):
    """What `compact` has done.

    Attributes
    ----------
    n_events
        The number of events that were removed.
    still_open
        The open decisions before the time, the oldest first. All events stay from its day on.
    """

    n_events: int
    still_open: list[Decision]


def compact(
    store: Store,
    bandit: Bandit,
    own: parts.Factories,
    before: float,
    archive: Callable[[], Any] | None = None,
) -> Compacted:
    """Remove the events of whole days (UTC) before a time.

    The events of open decisions stay, and all events from their days on. ``archive`` is called
    before anything is removed. Outcomes may come meanwhile: their decisions count as open.
    """
    opened = loading.load(store, bandit, own).session.open
    still_open = [one for one in opened if one.time < before]
    end = _midnight(min([before, *(one.time for one in still_open)]))
    if archive is not None:
        archive()
    live = loading.begin(store, bandit, own)
    start = live.seq
    for event in chain.events_after(store, bandit, start):
        if event.time >= end:
            break
        live.apply(event)
    if live.seq == start:
        return Compacted(0, still_open)
    meta, encode = live.snapshot()
    # Exports need the arms that removed events have added.
    meta["added"] = [str(name) for name in live.session.names[len(names_of(live.spec)) :]]
    base = chain.make_checkpoint(meta, encode)
    last = chain.checkpoint_meta(bandit, store.checkpoint(bandit.number))
    if last is None or last["seq"] < live.seq:  # its event is about to be removed
        store.put_checkpoint(bandit.number, base)
    store.compact(bandit.number, live.seq, base)
    return Compacted(live.seq - start, still_open)


def _midnight(time: float) -> float:
    return time // _DAY_S * _DAY_S
