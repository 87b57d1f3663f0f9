"""Decisions at the edge: clients decide with a snapshot of a bandit, and send batches back.

A snapshot changes nothing and is not logged. A batch is one event. The Idempotency-Key of a batch
is its id, so a batch that comes twice counts once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from superarm.service.bandits import ids
from superarm.service.bandits.changes import MOST_NAMES, event_with, key_taken
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import Answer, Repeated, remote_of
from superarm.service.log.events import Event
from superarm.service.log.store import Store, Turn
from superarm.service.problems import Fault, Problem, shown, shown_error
from superarm.sessions.arms import repeated
from superarm.sessions.edge import HalfMergedError, share
from superarm.sessions.edge import merge as learn
from superarm.sessions.ledger import SAMPLED

_MADE_OF = ("k", "belief", "oracle", "reward", "prior")  # members of a spec that make a policy
_LISTS = ("values", "propensities")  # with one number per arm


def snapshot(live: Live, turn: Turn) -> Callable[[], Answer]:
    """What a client needs to decide by itself, as an operation.

    It returns a function for another thread, so that decisions need not wait for the encoding.
    """
    key = f"{live.bandit.id}.{ids.new_id()}"
    # A hash, because a client must not be able to predict the decisions of the server.
    seed = hashlib.sha256(f"{live.spec['seed']} {key}".encode()).hexdigest()[:32]
    about = {
        "id": key,
        "bandit": live.bandit.id,
        "version": _version(live.seq, live.digest),
        "decisions": live.told + live.expired + live.merged,
        "spec": {name: live.spec[name] for name in _MADE_OF},
    }
    return partial(_encoded, about, share(live.session, key, int(seed, 16)))


def _encoded(about: Answer, encode: Callable[[], bytes]) -> Answer:
    return {**about, "session": base64.b64encode(encode()).decode()}


def _version(seq: int, digest: bytes) -> str:
    return f"{seq}-{digest.hex()[:16]}"


def merge(
    live: Live, turn: Turn, batch: dict[str, Any], key: str | None, now: Callable[[], float]
) -> Answer:
    """Learn from the decisions of a batch. The same batch again gets the same answer.

    ``batch`` is the body of the request without the members that were left out.
    """
    if key is None:
        raise Problem(422, "a batch must have an Idempotency-Key, got none")
    earlier = event_with(key, live, turn)
    if earlier is not None:
        return _same_answer(earlier, batch)
    _check_snapshot(live, turn.store, batch["version"])
    _check_decisions(live, batch["decisions"])
    live.advance(now())
    try:
        learn(live.session, remote_of(batch))
    except (ValueError, TypeError) as error:
        raise Problem(422, f"the batch cannot be learned: {shown_error(error)}") from error
    except HalfMergedError as error:
        # Memory is dropped, and loaded again from the log, which has nothing of the batch.
        raise Fault(Problem(500, "the belief of this bandit failed to learn")) from error
    live.merged += len(batch["decisions"])
    live.log("merged", batch, key)
    return _answer(batch)


def _answer(batch: dict[str, Any]) -> Answer:
    decisions = batch["decisions"]
    return {
        "decisions": len(decisions),
        "outcomes": sum(len(one["outcomes"]) for one in decisions),
    }


def _same_answer(event: Event, batch: dict[str, Any]) -> Answer:
    body = json.loads(event.body)
    if event.kind != "merged" or any(body[name] != batch[name] for name in batch):
        raise key_taken()
    return Repeated(_answer(body))


def _check_snapshot(live: Live, store: Store, version: str) -> None:
    """Refuse batches of snapshots that are not in the log.

    If the log was compacted after the snapshot, the batch may be known, but its event is gone. If
    the database is an older copy, the snapshot knows what the bandit does not know.
    """
    seq = int(version.partition("-")[0])
    # The first event always stays, so the one after it shows whether events were removed. Each by
    # itself, because large events are not read together.
    found = [one for at in (seq - 1, seq) for one in store.events(live.bandit.number, at, 1)]
    is_whole = [event.seq for event in found] in ([seq], [seq, seq + 1])
    if not is_whole or _version(seq, found[0].digest) != version:
        raise Problem(
            409,
            f"a batch must be of a snapshot that the log of this bandit has, got {shown(version)}: "
            f"the log was compacted since, or is that of an older copy of the database",
            fix="take a new snapshot; the outcomes of this batch are lost",
            kind="snapshot-unknown",
        )


def _check_decisions(live: Live, decisions: list[dict[str, Any]]) -> None:
    n_names = sum(len(one["arms"]) for one in decisions)
    if len(decisions) > 1 and n_names > MOST_NAMES:
        raise Problem(
            422,
            f"decisions of a batch must have at most {MOST_NAMES:,} arms in all, got {n_names:,}",
            fix="send several batches",
        )
    if twice := repeated([one["id"] for one in decisions]):
        raise Problem(422, f"decisions of a batch must be distinct, got {shown(twice)} twice")
    own = re.compile(rf"{live.bandit.id}\.[a-z2-9]{{10}}-[1-9][0-9]{{0,14}}")
    for one in decisions:
        wrong = None if own.fullmatch(one["id"]) else f"the id of a snapshot of {live.bandit.id}"
        for name in _LISTS:
            if one.get(name) is not None and len(one[name]) != len(one["arms"]):
                wrong = f"{name} for all of its arms"
        if len({name in one for name in SAMPLED}) > 1:
            wrong = f"{', '.join(SAMPLED)}, or none of them"
        if wrong is not None:
            raise Problem(422, f"a decision of a batch must have {wrong}, got {shown(one)}")
