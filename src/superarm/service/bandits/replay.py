"""Rebuild a bandit from its log, and compare the result with its checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from superarm.core.declarations import is_noisy
from superarm.service.bandits import loading, parts
from superarm.service.bandits.live import Live
from superarm.service.bandits.rounding import ROUNDING, difference
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import Store
from superarm.sessions.answers import without_answers


@dataclass(frozen=True)
class Replayed:
    """A bandit rebuilt from its log.

    Attributes
    ----------
    live
        The bandit after its last event.
    checkpoint
        The seq of the checkpoint; None if there is no good one.
    same
        Whether the events after the checkpoint lead from it to the same belief, generator and open
        decisions; None without a checkpoint.
    difference
        How much they differ all the same, and decisions that were made again, by rounding: see
        `superarm.service.bandits.rounding`. 0 if all is the same bit for bit.
    decided
        Whether decisions were made again.
    """

    live: Live
    checkpoint: int | None
    same: bool | None
    difference: float
    decided: bool


def replay(store: Store, bandit: Bandit, own: parts.Factories, *, decide: bool = False) -> Replayed:
    """Rebuild the bandit from its first event on, or from the base of a compacted log.

    Raises DamagedLogError if the log is not what was written, and Problem if the operator's own
    reward is missing. With ``decide``, every decision is made again and must be the same, unless
    the reward is noisy: then another answer is no mistake, and may be expensive.
    """
    # Read first: a server may continue meanwhile and store a later checkpoint.
    checkpoint = store.checkpoint(bandit.number)
    live = loading.begin(store, bandit, own)
    decide = decide and not is_noisy(live.session.policy.reward)
    for event in chain.events_after(store, bandit, live.seq):
        live.apply(event, decide=decide)
    kept = loading.from_checkpoint(store, bandit, own, checkpoint)
    if kept is None:
        return Replayed(live, None, None, live.difference, decide)
    at = kept.seq
    for event in chain.events_after(store, bandit, at):
        if event.seq > live.seq:
            break  # appended by the server meanwhile
        kept.apply(event)
    by = difference(fingerprint(live), fingerprint(kept))
    return Replayed(live, at, by <= ROUNDING, max(by, live.difference), decide)


def fingerprint(live: Live) -> dict[str, Any]:
    """Everything that must be the same: belief, generator, counts, open decisions, log position."""
    session = live.session
    return {
        "seq": live.seq,
        "digest": live.digest.hex(),
        "counts": live.counts,
        "belief": session.policy.belief.state(),
        "mark": without_answers(session.mark()),
        "retired": session.retired,
        "lift": None if session.holdout is None else asdict(session.lift()),
        "open": [(one, session.outcomes(one)) for one in session.open],
    }
