"""Rebuild bandits from their logs, and compare what comes out with what is kept beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from superarm.service import loading, registry
from superarm.service.events import Bandit
from superarm.service.live import Live
from superarm.service.store import Store


@dataclass(frozen=True)
class Replayed:
    """A bandit rebuilt from its log.

    Attributes
    ----------
    live
        As of its last event.
    checkpoint
        The seq of the checkpoint, if a good one is there.
    same
        Whether going on from that checkpoint gives the same belief, generator and open decisions, bit for bit; None
        without a checkpoint.
    """

    live: Live
    checkpoint: int | None
    same: bool | None


def replay(
    store: Store,
    bandit: Bandit,
    own: Mapping[str, registry.Factory],
    *,
    decide: bool = False,
) -> Replayed:
    """The bandit from its first event on.

    DamagedLogError where the log is not what was written, Problem where the bandit's own reward is not there. With
    ``decide`` every decision is made again, too, and must come out as it did.
    """
    checkpoint = store.checkpoint(
        bandit.number
    )  # now, since a server may go on meanwhile and make a later one
    live = loading.created(store, bandit, own)
    for event in loading.events_after(store, bandit, live.seq):
        live.apply(event, decide=decide)
    kept = None if checkpoint is None else loading.from_checkpoint(store, bandit, own, checkpoint)
    if kept is None:
        return Replayed(live, None, None)
    at = kept.seq
    for event in loading.events_after(store, bandit, at):
        if event.seq > live.seq:
            break  # the server has gone on meanwhile
        kept.apply(event)
    return Replayed(live, at, fingerprint(live) == fingerprint(kept))


def fingerprint(live: Live) -> dict[str, Any]:
    """All that must be the same: belief, generator, counts, open decisions, place in the log."""
    session = live.session
    return {
        "seq": live.seq,
        "digest": live.digest.hex(),
        "counts": live.counts,
        "belief": session.policy.belief.state(),
        "mark": session.mark(),
        "retired": session.retired,
        "open": [(one, session.outcomes(one)) for one in session.open],
    }
