"""Shorten the log of a bandit: a state takes the place of its oldest events.

The first event stays, because it has the spec. The state after the last event that is removed is
the *base*, from which the bandit is rebuilt. Decisions that the removed events issued can no
longer be looked up. The belief and everything that follows are the same bit for bit.
"""

from __future__ import annotations

from superarm.service.bandits import loading, parts
from superarm.service.bandits.spec import names_of
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store
from superarm.sessions import decision_number

_DAY_S = 86_400


def compact(store: Store, bandit: Bandit, own: parts.Factories, before: float) -> int:
    """Remove the events of whole days (UTC) before a time. Returns the number of these events.

    The events of open decisions stay, and all events from their days on.
    """
    end = _midnight(min(before, _oldest_open(store, bandit, own, before)))
    live = loading.begin(store, bandit, own)
    start = live.seq
    for event in chain.events_after(store, bandit, start):
        if event.time >= end:
            break
        live.apply(event)
    if live.seq == start:
        return 0
    meta, encode = live.snapshot()
    # Exports need the arms that removed events have added.
    meta["added"] = [str(name) for name in live.session.names[len(names_of(live.spec)) :]]
    base = chain.make_checkpoint(meta, encode)
    last = chain.checkpoint_meta(bandit, store.checkpoint(bandit.number))
    if last is None or last["seq"] < live.seq:  # its event is about to be removed
        store.put_checkpoint(bandit.number, base)
    store.compact(bandit.number, live.seq, base)
    return live.seq - start


def _midnight(time: float) -> float:
    return time // _DAY_S * _DAY_S


def _oldest_open(store: Store, bandit: Bandit, own: parts.Factories, default: float) -> float:
    """The time of the oldest open decision."""
    still_open = loading.load(store, bandit, own).session.open
    if not still_open:
        return default
    number = decision_number(still_open[0].id)
    return store.decided_before(bandit.number, number, 1)[0].time
