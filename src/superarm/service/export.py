"""The log of a bandit as Parquet files: see `superarm.offpolicy.export`."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from superarm.offpolicy.export import Export
from superarm.service.bandits.records import each_of, told_of
from superarm.service.bandits.spec import names_of
from superarm.service.log import chain
from superarm.service.log.events import Bandit, Event, check
from superarm.service.log.store import Store
from superarm.sessions import decision_number


def export(store: Store, bandit: Bandit, folder: Path) -> list[Path]:
    """Write all decisions in the log of a bandit, and return the paths of the files.

    Raises DamagedLogError if the log is not what was written. The outcomes are as clients sent
    them, even if the bandit's expiry replaced missing ones.
    """
    arms = names_of(chain.spec_of(chain.first_event(store, bandit)))
    seq, digest = chain.beginning(store, bandit)
    base = store.base(bandit.number)
    arms += [] if base is None else json.loads(base.meta)["added"]
    with Export() as found:
        for event in chain.events_after(store, bandit, seq):
            check(digest, seq, event)
            seq, digest = event.seq, event.digest
            _follow(event, json.loads(event.body), found, arms)
        return found.write(folder, arms, bandit=bandit.id, name=bandit.name)


def archive(store: Store, bandit: Bandit, folder: Path) -> None:
    """Do the same, and return when the files are on the disk: their events may be removed then."""
    export(store, bandit, folder)
    inside = list(folder.rglob("*"))
    for file in filter(Path.is_file, inside):
        _sync(file, os.O_RDWR)
    for place in (*filter(Path.is_dir, inside), folder, *folder.absolute().parents[:2]):
        # Not every system can open folders, or write their entries at once.
        with contextlib.suppress(OSError):
            _sync(place, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _follow(event: Event, body: dict[str, Any], found: Export, arms: list[str]) -> None:
    """Add what one event says."""
    if event.kind == "arms_added":
        arms += body["arms"]
    elif event.kind == "decided":
        for one, round, asked in each_of(body):
            about = {"round": round, "time": event.time, "context": asked.get("context")}
            found.decide({**one, **about}, number=decision_number(one["id"]))
    elif event.kind == "told":
        for one in told_of(body):
            found.tell(decision_number(one["decision"]), one["outcomes"])
    elif event.kind == "merged":
        for place, one in enumerate(body["decisions"]):
            found.remote(one, seq=event.seq, place=place, logged=event.time)
    elif event.kind == "expired":
        for id in body["decisions"]:
            found.expire(decision_number(id))
