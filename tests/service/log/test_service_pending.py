"""Events that are not committed yet have the digests that sealing each at once would give."""

from __future__ import annotations

import random

import pytest

from superarm.service.log.events import Event, Pending, root, seal


def test_sealing_late_gives_the_events_that_sealing_at_once_gives() -> None:
    rng = random.Random(1)
    pending, digest, seq = Pending(root("b")), root("b"), 0
    waiting: list[Event] = []
    for _ in range(300):
        if rng.random() < 0.6:
            seq += 1
            key = f"key {seq}" if rng.random() < 0.5 else None
            body = {"outcomes": {"ä": rng.random(), "NaN": 1.0}}
            waiting.append(seal(digest, seq, rng.random(), "told", seq, key, body))
            digest = waiting[-1].digest
            pending.add((*waiting[-1][:-2], body))
        # Any look, at any moment, sees the same.
        look = rng.randrange(6)
        if look == 0:
            assert pending.digest == digest
        elif look == 1:
            assert pending.events == waiting
        elif look == 2 and waiting and waiting[0].key is not None:
            assert pending.with_keys([waiting[0].key, "x"]) == [waiting[0]]
        elif look == 3:
            keys = [event.key for event in waiting if event.key is not None]
            assert pending.take() == (waiting, [])
            assert pending.with_keys(keys) == []
            waiting = []
        assert len(pending) == len(waiting)


def test_an_event_that_cannot_be_encoded_is_never_passed_over() -> None:
    pending = Pending(root("b"))
    pending.add((1, 0.0, "told", 1, None, {"outcomes": {"a": 1.0}}))
    pending.add((2, 0.0, "told", 1, None, {"outcomes": {"b": float("nan")}}))
    for _ in range(2):
        with pytest.raises(ValueError, match="not JSON compliant"):
            pending.take()
    assert len(pending) == 2


def test_events_follow_those_of_the_log() -> None:
    pending = Pending(root("b"))
    first = seal(root("b"), 1, 0.0, "created", None, None, {"spec": {}})
    pending.follow(first.digest)
    pending.add((2, 1.0, "told", 1, None, {}))
    assert pending.events == [seal(first.digest, 2, 1.0, "told", 1, None, {})]
