"""Events with long bodies: stored apart in SQLite, and read as all others."""

import json
import sqlite3
from types import SimpleNamespace

import pytest

from serving import client_of, create, decide, events_of, play, tell
from superarm.service import server
from superarm.service.bandits import views
from superarm.service.bandits.replay import replay
from superarm.service.log import chain
from superarm.service.log.events import Bandit, root, seal
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.sqlite_file import LONG
from superarm.service.log.store import Checkpoint

NAMES = [f"article number {number}" for number in range(5000)]  # above 64 KiB
BODY = {"text": "é" * (LONG + 1)}


def rows(path, query, *values):
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def inline(path):
    """Make the file what an earlier version would have made: all bodies with their events."""
    rows(
        path,
        "UPDATE events SET body = (SELECT body FROM long_bodies AS long WHERE "
        "long.bandit = events.bandit AND long.seq = events.seq) WHERE body = ''",
    )
    rows(path, "DROP TABLE long_bodies")
    rows(path, "PRAGMA user_version = 4")


@pytest.fixture
def bandit(path):
    """The id of a bandit with two long events, and some short ones."""
    with client_of(path) as client:
        made = create(client, arms=NAMES, k=2, seed=1)
        play(client, made, 3)
        more = {"arms": [f"new {name}" for name in NAMES]}
        added = client.post(f"/v1/bandits/{made}/arms", json=more, headers={"Idempotency-Key": "a"})
        assert added.status_code == 200
        play(client, made, 3)
    return made


def sealed():
    """Five events of which the first, the third and the last are long."""
    bodies = [BODY, {}, BODY, {}, BODY]
    kinds = ["created", "decided", "told", "decided", "expired"]
    events = []
    digest = root("a")
    for place, (kind, body) in enumerate(zip(kinds, bodies, strict=True)):
        decision = None if kind in ("created", "expired") else place
        events.append(seal(digest, place + 1, 1.0, kind, decision, f"key {place}", body))
        digest = events[-1].digest
    return events


def test_they_are_read_as_they_were_written(path):
    store = SQLiteStore(path)
    first, *others = sealed()
    try:
        number = store.create(Bandit(0, "a", "a", 1, 1.0), first).number
        store.append(number, others)
        everything = [first, *others]
        for limit in (1, 2, 10):
            found = []
            while some := store.events(number, len(found), limit):
                found += some
            assert found == everything
        assert store.last(number) == others[-1]
        assert store.about(number, 2) == [others[1]]
        assert store.decided_before(number, 9, 9) == [others[2], others[0]]
        assert store.expired_before(number, 9, 9) == [others[3]]
        assert sorted(store.by_keys(number, ["key 0", "key 1", "key 2"])) == everything[:3]
        store.compact(number, 4, Checkpoint("{}", b"", b""))
        assert store.events(number, 0, 10) == [first, *others[2:]]
        assert rows(path, "SELECT seq FROM long_bodies ORDER BY seq") == [(1,), (5,)]
        store.delete(number)
        store.purge(number)
        assert rows(path, "SELECT count(*) FROM long_bodies") == [(0,)]
    finally:
        store.close()


def test_no_event_in_the_table_of_events_is_long(path, bandit):
    """SQLite reads whole events to find a place for another one: a commit took 45 ms beside one."""
    assert rows(path, "SELECT max(length(body)) FROM events")[0][0] <= LONG
    assert len(rows(path, "SELECT seq FROM long_bodies")) == 2


def test_a_file_of_the_version_before_is_changed_when_it_is_served(path, bandit):
    with client_of(path) as client:
        before = events_of(client, bandit)
    inline(path)
    longest = rows(path, "SELECT max(length(body)) FROM events")
    assert longest[0][0] > LONG
    store = SQLiteStore(path, "read")  # beside a server of the version before
    try:
        assert len(list(chain.events_after(store, store.bandit(bandit), 0))) == len(before)
    finally:
        store.close()
    assert rows(path, "SELECT max(length(body)) FROM events") == longest
    with client_of(path, checkpoints=False) as client:
        assert events_of(client, bandit) == before
        made = decide(client, bandit)
        tell(client, made["id"], dict.fromkeys(made["arms"], 1.0))
        again = {"json": {"arms": [f"new {name}" for name in NAMES]}}
        again["headers"] = {"Idempotency-Key": "a"}
        answer = client.post(f"/v1/bandits/{bandit}/arms", **again)
        assert answer.headers["idempotent-replayed"] == "true"
        assert len(answer.json()["added"]) == len(NAMES)
    assert rows(path, "SELECT max(length(body)) FROM events")[0][0] <= LONG
    store = SQLiteStore(path, "read")
    try:
        found = replay(store, store.bandit(bandit), {}, decide=True)
        assert found.same
    finally:
        store.close()


DAMAGES = {
    "gone": "DELETE FROM long_bodies WHERE seq = 1",
    "another": "UPDATE long_bodies SET body = replace(body, '7', '8') WHERE seq = 1",
    "of another event": "UPDATE long_bodies SET seq = 2 WHERE seq = 1",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found(path, bandit, damage):
    rows(path, damage)
    store = SQLiteStore(path)
    try:
        with pytest.raises(server.StartError, match="damaged"):
            server.check_logs(store, whole=True)
    finally:
        store.close()


def test_counts_are_found_at_the_end():
    hostile = ['"counts":[9]}', '\\"counts":[9]}', "}", "é" * 2000]
    for members in (
        {"arms": hostile, "counts": [1, 2, 3]},
        {"counts": [1, 2, 3], "arms": hostile},
        {"counts": [1, 2, 3]},
        {"arms": {'"counts":[9]}': {"counts": [9]}}, "counts": [1, 2, 3], "z": {"counts": [9]}},
    ):
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(members, ensure_ascii=False, separators=separators)
            assert views.counts_in(text) == [1, 2, 3]


def test_a_list_of_bandits_reads_no_names_of_arms(path, monkeypatch):
    """The page asks for it every few seconds, and all requests waited for two million names."""
    with client_of(path) as client:
        create(client, arms=NAMES, k=2, seed=1)
        sizes = []

        def loads(text):
            sizes.append(len(text))
            return json.loads(text)

        monkeypatch.setattr(views, "json", SimpleNamespace(loads=loads, dumps=json.dumps))
        (found,) = client.get("/v1/bandits").json()["bandits"]
        assert found["n_arms"] == len(NAMES)
        assert sizes
        assert max(sizes) < 1000
