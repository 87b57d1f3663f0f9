"""From the log to a bandit in memory: by its last checkpoint where that is good, from the first event otherwise."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from superarm.service import registry
from superarm.service.events import Bandit, DamagedLogError, Event, check, root
from superarm.service.live import Live
from superarm.service.problems import Problem
from superarm.service.store import Checkpoint, Store
from superarm.sessions import SessionFileError

_log = logging.getLogger("superarm.service")
_PAGE = 5000


def load(
    store: Store,
    bandit: Bandit,
    own: Mapping[str, registry.Factory],
    *,
    use_checkpoint: bool = True,
) -> Live:
    """The bandit as of its last event."""
    live = from_checkpoint(store, bandit, own) if use_checkpoint else None
    if live is None:
        live = created(store, bandit, own)
    for event in events_after(store, bandit, live.seq):
        live.apply(event)
    return live


def created(store: Store, bandit: Bandit, own: Mapping[str, registry.Factory]) -> Live:
    """The bandit as of its first event."""
    first = first_event(store, bandit)
    try:
        return Live.of(bandit, first, own)
    except Problem as problem:  # it was taken once, so it is not the request that is wrong
        raise Problem(
            500,
            f"bandit {bandit.id} cannot be made again: {problem.detail}",
            fix="start with the --rewards that it was made with",
        ) from problem


def without_reward(
    store: Store, own: Mapping[str, registry.Factory]
) -> Iterator[tuple[Bandit, str]]:
    """Bandits with rewards that are not known, and what these are called."""
    number = 0
    while page := store.bandits(1000, number):
        for bandit in page:
            name = json.loads(first_event(store, bandit).body)["spec"]["reward"]["name"]
            if name not in registry.REWARDS and name not in own:
                yield bandit, name
        number = page[-1].number


def first_event(store: Store, bandit: Bandit) -> Event:
    """The event of creation, which has the spec."""
    found = store.events(bandit.number, 0, 1)
    if not found or found[0].kind != "created":
        raise DamagedLogError(f"the log of bandit {bandit.id} does not begin with its creation")
    check(root(bandit.id), 0, found[0])
    spec = json.loads(found[0].body)["spec"]
    if (spec["name"], spec["k"], found[0].time) != (bandit.name, bandit.k, bandit.created):
        raise DamagedLogError(f"bandit {bandit.id} is not as it was created: {bandit}")
    return found[0]


def events_after(store: Store, bandit: Bandit, seq: int) -> Iterator[Event]:
    """All events from there on, a page at a time."""
    while page := store.events(bandit.number, seq, _PAGE):
        yield from page
        seq = page[-1].seq


def packed(meta: dict[str, Any], encode: Callable[[], bytes]) -> Checkpoint:
    """A checkpoint of the snapshot of a bandit."""
    text, data = json.dumps(meta), encode()
    return Checkpoint(text, data, _sha256(text, data))


def check_tail(store: Store, bandit: Bandit, *, whole: bool = False) -> int:
    """Follow the chain of digests, from the last good checkpoint on unless ``whole``; how many events were checked."""
    first_event(store, bandit)
    kept = _good(store, bandit)
    seq, digest = 0, root(bandit.id)
    if kept is not None:
        at, there = kept["seq"], bytes.fromhex(kept["digest"])
        _same_event(store, bandit, at, there)
        if not whole:
            seq, digest = at, there
    n_checked = 0
    for event in events_after(store, bandit, seq):
        check(digest, seq, event)
        seq, digest, n_checked = event.seq, event.digest, n_checked + 1
    return n_checked


def from_checkpoint(
    store: Store,
    bandit: Bandit,
    own: Mapping[str, registry.Factory],
    checkpoint: Checkpoint | None = None,
) -> Live | None:
    """The bandit as of a checkpoint, if that is good; the last one unless given."""
    checkpoint = store.checkpoint(bandit.number) if checkpoint is None else checkpoint
    meta = _good(store, bandit, checkpoint)
    if checkpoint is None or meta is None:
        return None
    _same_event(store, bandit, meta["seq"], bytes.fromhex(meta["digest"]))
    spec = json.loads(first_event(store, bandit).body)["spec"]
    try:
        return Live.from_checkpoint(bandit, spec, own, meta, checkpoint.data)
    except (SessionFileError, Problem, KeyError, ValueError) as error:
        _log.warning(
            "checkpoint_unusable", extra={"fields": {"bandit": bandit.id, "why": str(error)}}
        )
        return None


def _good(
    store: Store, bandit: Bandit, checkpoint: Checkpoint | None = None
) -> dict[str, Any] | None:
    """What a checkpoint says of itself, if it is what was written."""
    checkpoint = store.checkpoint(bandit.number) if checkpoint is None else checkpoint
    if checkpoint is None:
        return None
    if _sha256(checkpoint.meta, checkpoint.data) != checkpoint.sha256:
        _log.warning(
            "checkpoint_damaged",
            extra={"fields": {"bandit": bandit.id, "then": "rebuilt from the log"}},
        )
        return None
    return json.loads(checkpoint.meta)


def _same_event(store: Store, bandit: Bandit, seq: int, digest: bytes) -> None:
    """Refuse a log that has another event than the one a checkpoint was made at."""
    there = store.events(bandit.number, seq - 1, 1)
    if not there or there[0].seq != seq or there[0].digest != digest:
        raise DamagedLogError(
            f"the log of bandit {bandit.id} must have the event {seq} that its checkpoint was made at, and has not: "
            f"events are missing or altered"
        )


def _sha256(meta: str, data: bytes) -> bytes:
    return hashlib.sha256(meta.encode() + b"\n" + data).digest()
