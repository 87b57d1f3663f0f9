"""A log that is written now equals the log from before the redesign in almost everything.

With its decisions in the order of the arms, and without the answers of rewards in its marks, it is
the earlier log byte for byte. This earlier log is then replayed.
"""

import hashlib
import json
import random
import secrets
import shutil
import sqlite3

import pytest

from serving import client_of, create
from superarm.oracles._lazy.single_arms import Audits
from superarm.service.bandits.records import like
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.log import chain
from superarm.service.log.events import root, seal
from superarm.service.log.sqlite import SQLiteStore
from superarm.sessions.answers import without_answers

NAMES = ["ant", "bee", "cat", "dog", "eel"]

# SHA-256 of all events of the first four bandits, recorded with the service before it was laid out
# in rooms. The fifth was recorded again when its decoder learned to choose the size of tests.
RECORDED = [
    "16f8f3bee2046f44b1b4ab2a7013f840e19012ef5ae46016640af6f2c85fca31",
    "7a0cf8c86e0980a9c70947841301ed735ac4f65920a4d4a4cfd99ebad9b4e56c",
]
# The belief that was the default then.
PARTS = [
    {"belief": "beta"},
    {"belief": "beta", "reward": "any_success"},
    {"belief": {"kind": "sliding", "window": 5}, "expiry": {"after_rounds": 2, "missing": 0.25}},
    {"belief": "ucb", "oracle": {"kind": "rarely", "oracle": "greedy", "when": 3}},
    {
        "belief": "beta",
        "oracle": {"kind": "group_testing", "delta": 0.25, "n_tests": 20, "decoder": "regression"},
    },
]


def play(client, bandit):
    """Single decisions, a batch, propensities, a repeated key, partial and missing outcomes."""
    for round_ in range(6):
        body = {3: {"propensities": 4}, 5: {"n": 2}}.get(round_, {})
        headers = {"Idempotency-Key": f"key-{round_ // 2 * 2}" if body == {} else f"own-{round_}"}
        found = client.post(f"/v1/bandits/{bandit}/decisions", json=body, headers=headers).json()
        for one in found.get("decisions", [found]):
            n_told = round_ % 3
            # Not by place: decisions were in the order of the arms.
            outcomes = {arm: 0.5 * place for place, arm in enumerate(sorted(one["arms"])[:n_told])}
            if outcomes:
                path = f"/v1/decisions/{one['id']}/outcomes"
                assert client.post(path, json={"outcomes": outcomes}).status_code in (200, 410)
    client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"], "prior": [2.0, 1.0]})
    client.delete(f"/v1/bandits/{bandit}/arms/ant")


def without_ranking(rows, ids):
    """The events as they were before decisions were ranked, and marks had answers.

    They have digests of their own.
    """
    before, digests = [], {number: root(id) for number, id in ids.items()}
    for number, seq, time, kind, decision, key, text, _ in rows:
        body = json.loads(text)
        if kind == "decided":
            body["decisions"] = [like(one, {}, as_numbers) for one in body["decisions"]]
            body["mark"] = without_answers(body["mark"])
        if kind == "told":
            body["outcomes"] = dict(sorted(body["outcomes"].items()))
        event = seal(digests[number], seq, time, kind, decision, key, body)
        digests[number] = event.digest
        before.append((number, *event))
    return before


def as_numbers(names):
    return [NAMES.index(name) for name in names]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with the bandits of the recorded log."""
    with pytest.MonkeyPatch.context() as patch:
        yield record(tmp_path_factory.mktemp("log"), patch)


def record(tmp_path, monkeypatch):
    # The log has the number of evaluations, and there were no audits when it was recorded.
    monkeypatch.setattr(Audits, "are_due", lambda self, per_root: False)
    ids, now = random.Random(1), [1000.0]
    monkeypatch.setattr(secrets, "choice", ids.choice)

    def clock():
        now[0] += 0.25
        return now[0]

    path = tmp_path / "bandits.db"
    with client_of(path, clock=clock) as client:
        for number, parts in enumerate(PARTS):
            play(client, create(client, name=f"bandit {number}", seed=5, **parts))
    return path


def read(path):
    database = sqlite3.connect(path)
    rows = database.execute("SELECT * FROM events ORDER BY bandit, seq").fetchall()
    ids = dict(database.execute("SELECT number, id FROM bandits"))
    database.close()
    return rows, ids


def test_the_log_is_the_recorded_one(path):
    rows = without_ranking(*read(path))
    assert len(rows) > 50
    before, after = ([row for row in rows if (row[0] == 5) == is_last] for is_last in (False, True))
    found = [hashlib.sha256(repr(part).encode()).hexdigest() for part in (before, after)]
    assert found == RECORDED


def test_a_log_from_before_the_ranking_is_replayed_bit_for_bit(path, tmp_path, monkeypatch):
    """Applied, and decided again: both lead to the state to which the ranked log leads."""
    monkeypatch.setattr(Audits, "are_due", lambda self, per_root: False)
    older = tmp_path / "older.db"
    shutil.copy(path, older)
    database = sqlite3.connect(older)
    database.execute("DELETE FROM events")
    database.execute("DELETE FROM checkpoints")
    rows = without_ranking(*read(path))
    database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    ranked, unranked = (SQLiteStore(file, "read") for file in (path, older))
    for bandit in chain.all_bandits(ranked):
        wanted = replay(ranked, bandit, {}, decide=True).live
        for decide in (False, True):
            found = replay(unranked, bandit, {}, decide=decide).live
            assert state(found) == state(wanted)
            assert {one.ranked for one in found.session.decisions} == {decide}
    ranked.close()
    unranked.close()


def state(live):
    """What later decisions depend on. Open decisions have another order."""
    found = fingerprint(live)
    opened = [(one.id, sorted(one.arms), outcomes) for one, outcomes in found.pop("open")]
    return {**found, "digest": None, "open": opened}
