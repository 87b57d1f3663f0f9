"""Read a log and verify it: the chain of digests, and the checkpoints that belong to it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

from superarm.service.log.events import Bandit, DamagedLogError, Event, check, root
from superarm.service.log.store import Checkpoint, Store

_log = logging.getLogger("superarm.service")
_EVENTS_PER_READ = 5000
_BANDITS_PER_READ = 1000


def all_bandits(store: Store) -> Iterator[Bandit]:
    """Every bandit of a database."""
    number = 0
    while some := store.bandits(_BANDITS_PER_READ, number):
        yield from some
        number = some[-1].number


def events_after(store: Store, bandit: Bandit, seq: int) -> Iterator[Event]:
    """All events with a seq above ``seq``, read in portions."""
    while some := store.events(bandit.number, seq, _EVENTS_PER_READ):
        yield from some
        seq = some[-1].seq


def first_event(store: Store, bandit: Bandit) -> Event:
    """The event of the bandit's creation, which contains its spec."""
    found = store.events(bandit.number, 0, 1)
    if not found or found[0].kind != "created":
        raise DamagedLogError(f"the log of bandit {bandit.id} must begin with its creation")
    check(root(bandit.id), 0, found[0])
    spec = spec_of(found[0])
    # The table of bandits has no digest of its own, so it is compared with the log.
    if (spec["name"], spec["k"], found[0].time) != (bandit.name, bandit.k, bandit.created):
        raise DamagedLogError(f"bandit {bandit.id} differs from its creation: {bandit}")
    return found[0]


def spec_of(created: Event) -> dict[str, Any]:
    """The spec in the event of a bandit's creation.

    A spec without a belief is from a time when this one was the default, and keeps it.
    """
    return {"belief": {"kind": "beta"}, "prior": None, **json.loads(created.body)["spec"]}


def verify(store: Store, bandit: Bandit, *, whole: bool = False) -> int:
    """Verify the digests after the last good checkpoint, or of the ``whole`` log.

    Returns the number of verified events.
    """
    first_event(store, bandit)
    meta = checkpoint_meta(bandit, store.checkpoint(bandit.number))
    seq, digest = beginning(store, bandit)
    if meta is not None:
        # Also before a whole check: events cut off at the end leave the chain intact.
        check_checkpoint(store, bandit, meta)
        if not whole:
            seq, digest = meta["seq"], bytes.fromhex(meta["digest"])
    n_verified = 0
    for event in events_after(store, bandit, seq):
        check(digest, seq, event)
        seq, digest, n_verified = event.seq, event.digest, n_verified + 1
    return n_verified


def base_meta(store: Store, bandit: Bandit, base: Checkpoint) -> dict[str, Any]:
    """The description of the base of a compacted log, which is all that is left of its events."""
    if _sha256(base.meta, base.data) != base.sha256:
        raise DamagedLogError(f"the base of the log of bandit {bandit.id} was changed")
    meta = json.loads(base.meta)
    check_checkpoint(store, bandit, meta)
    return meta


def beginning(store: Store, bandit: Bandit) -> tuple[int, bytes]:
    """The seq and the digest after which all events are in the log."""
    base = store.base(bandit.number)
    if base is None:
        return 0, root(bandit.id)
    meta = base_meta(store, bandit, base)
    return meta["seq"], bytes.fromhex(meta["digest"])


def make_checkpoint(meta: dict[str, Any], encode: Callable[[], bytes]) -> Checkpoint:
    """A checkpoint of a snapshot."""
    text, data = json.dumps(meta), encode()
    return Checkpoint(text, data, _sha256(text, data))


def checkpoint_meta(bandit: Bandit, checkpoint: Checkpoint | None) -> dict[str, Any] | None:
    """The description of a checkpoint; None if there is none, or if it is damaged."""
    if checkpoint is None:
        return None
    if _sha256(checkpoint.meta, checkpoint.data) != checkpoint.sha256:
        fields = {"bandit": bandit.id, "then": "rebuilt from the log"}
        _log.warning("checkpoint_damaged", extra={"fields": fields})
        return None
    return json.loads(checkpoint.meta)


def check_checkpoint(store: Store, bandit: Bandit, meta: dict[str, Any]) -> None:
    """Raise unless the log has the event at which a checkpoint was made."""
    seq, digest = meta["seq"], bytes.fromhex(meta["digest"])
    found = store.events(bandit.number, seq - 1, 1)
    if not found or found[0].seq != seq or found[0].digest != digest:
        raise DamagedLogError(
            f"the log of bandit {bandit.id} must contain event {seq}, at which its checkpoint was "
            f"made: events are missing or altered"
        )


def _sha256(meta: str, data: bytes) -> bytes:
    return hashlib.sha256(meta.encode() + b"\n" + data).digest()
