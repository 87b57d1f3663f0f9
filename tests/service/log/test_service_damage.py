"""Damaged disks, checkpoints and logs: nothing acknowledged is lost or overwritten."""

import hashlib
import logging
import sqlite3

import pytest
from click.testing import CliRunner

from serving import client_of, create, play
from superarm.cli import app
from superarm.service import server
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import StoreError


@pytest.fixture
def served(path):
    """A database that was served, and the last answer about its bandit."""
    with client_of(path) as client:
        bandit = create(client, seed=6)
        play(client, bandit, 20)
        return bandit, client.get(f"/v1/bandits/{bandit}").json()


def change(path, query, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(query, values)
    connection.close()


def dump(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT * FROM events ORDER BY bandit, seq").fetchall()
    connection.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def say(*command):
    return CliRunner().invoke(app, list(map(str, command)))


def test_replay_says_that_all_is_well(path, served):
    bandit, state = served
    done = say("replay", path)
    assert done.exit_code == 0
    assert f"{state['events']} events" in done.output
    assert "the same bit for bit" in done.output
    assert say("replay", path, "canteen").output == done.output
    assert say("replay", path, "--decide").exit_code == 0
    assert say("replay", path, bandit).output == done.output
    assert say("replay", path, "nobody").exit_code == 1


def test_decisions_that_do_not_follow_from_the_log_are_found(path, tmp_path):
    """The log is intact, but the server used another seed than the logged one."""
    with client_of(path) as client:
        bandit = create(client, seed=6)
        actor = client.app.state.service.engine._actors[bandit]
        actor.live.session._unlocked.rng.bit_generator.advance(1)
        play(client, bandit, 3)
    assert say("replay", path).exit_code == 0
    done = say("replay", path, "--decide")
    assert done.exit_code == 1
    assert "decided otherwise: event 2" in done.output
    assert "damaged" not in done.output


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE checkpoints SET data = substr(data, 1, length(data) - 9)",
        "UPDATE checkpoints SET data = x'00'",
        "UPDATE checkpoints SET meta = replace(meta, '\"told\": 1', '\"told\": 2')",
    ],
)
def test_a_damaged_checkpoint_is_rebuilt_from_the_log(path, served, damage, caplog):
    bandit, state = served
    change(path, damage)
    with caplog.at_level(logging.WARNING, "superarm.service"), client_of(path) as client:
        assert client.get(f"/v1/bandits/{bandit}").json() == state
        assert "checkpoint_damaged" in caplog.text
        client.post(f"/v1/bandits/{bandit}/decisions")
    assert "the same bit for bit" in say("replay", path).output


_REPEAT = (
    "INSERT INTO events SELECT bandit, 999, time, kind, NULL, NULL, body, digest "
    "FROM events WHERE seq = 3"
)


DAMAGES = {
    "a decision": "UPDATE events SET body = replace(body, 'true', 'false') WHERE seq = 3",
    "a time": "UPDATE events SET time = time + 1 WHERE seq = 5",
    "an event is gone": "DELETE FROM events WHERE seq = 4",
    "the last event is gone": "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
    "an event is repeated": _REPEAT,
    "the beginning is gone": "DELETE FROM events WHERE seq = 1",
    "a name": "UPDATE bandits SET name = 'another'",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_log_is_refused_and_left_alone(path, served, damage):
    change(path, damage)
    before = dump(path)
    store = SQLiteStore(path)
    try:
        with pytest.raises(server.StartError, match="damaged"):
            server.check_logs(store, whole=True)
    finally:
        store.close()
    done = say("serve", "--database", path, "--check-all", "--port", 0)
    assert done.exit_code == 1
    assert "damaged" in done.output
    replayed = say("replay", path)
    assert replayed.exit_code == 1
    assert dump(path) == before


def test_damage_after_the_checkpoint_is_found_at_every_start(path):
    with client_of(path, checkpoint_every=5) as client:
        bandit = create(client)
        play(client, bandit, 10)
    change(path, "DELETE FROM checkpoints")
    change(path, "UPDATE events SET body = replace(body, 'counts', 'Counts') WHERE seq = 8")
    before = dump(path)
    assert say("serve", "--database", path, "--port", 0).exit_code == 1
    with client_of(path) as client:  # found out only when it is loaded
        answer = client.post(f"/v1/bandits/{bandit}/decisions")
        assert answer.status_code == 500
        assert "damaged" in answer.json()["detail"]
    assert dump(path) == before


def test_a_file_that_is_no_database(path, tmp_path):
    path.write_bytes(b"nothing of this is a database, but it is long enough to look at" * 100)
    done = say("serve", "--database", path, "--port", 0)
    assert done.exit_code == 1
    assert "not a database" in done.output
    other = tmp_path / "other.db"
    change(other, "CREATE TABLE mine (x)")
    assert say("serve", "--database", other, "--port", 0).exit_code == 1
    assert say("replay", tmp_path / "missing.db").exit_code == 1
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("scheme", ["sqlite", "postgresql+psycopg", "mysql"])
def test_addresses_of_other_databases_are_no_paths(tmp_path, monkeypatch, scheme, workers):
    monkeypatch.chdir(tmp_path)
    database = f"{scheme}://me:secret@here/bandits"
    done = say("serve", "--database", database, "--port", 0, "--workers", workers)
    assert done.exit_code == 1
    assert f"a file, a folder or postgresql://..., got '{scheme}://...'" in done.output
    assert "secret" not in done.output
    assert not list(tmp_path.iterdir())


def test_one_server_at_a_time(path):
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match="served by another process"):
        SQLiteStore(path)
    reader = SQLiteStore(path, "read")
    assert reader.bandits(5) == []
    reader.close()
    store.close()
    SQLiteStore(path).close()


def test_a_full_disk(path):
    with client_of(path) as client:
        store = client.app.state.service.engine.store
        bandit = create(client, seed=1)
        play(client, bandit, 5)
        (pages,) = store._writing.execute("PRAGMA page_count").fetchone()
        store._writing.execute(f"PRAGMA max_page_count = {pages + 2}")
        statuses = [client.post(f"/v1/bandits/{bandit}/decisions").status_code for _ in range(60)]
        assert statuses[-1] == 507
        assert set(statuses) == {201, 507}
        assert client.get("/healthz").status_code == 503
        state = client.get(f"/v1/bandits/{bandit}").json()
        assert state["decisions"] == 5 + statuses.count(201)
        assert client.post(
            "/v1/bandits", json={"name": "more", "arms": 100_000, "k": 1}
        ).status_code in (201, 507)
        store._writing.execute("PRAGMA max_page_count = 1000000")
        assert client.get("/healthz").json()["status"] == "ok"
        play(client, bandit, 3)
        assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 8 + statuses.count(201)
    assert "the same bit for bit" in say("replay", path, "canteen").output


def test_a_file_that_can_no_longer_be_written(path):
    with client_of(path) as client:
        store = client.app.state.service.engine.store
        bandit = create(client, seed=1)
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        store._writing.execute("PRAGMA query_only = ON")
        refused = client.post(f"/v1/bandits/{bandit}/decisions")
        assert refused.status_code == 503
        assert "read-only" in refused.json()["detail"]
        tell = client.post(
            f"/v1/decisions/{decision['id']}/outcomes",
            json={"outcomes": {decision["arms"][0]: 1.0}},
        )
        assert tell.status_code == 503
        assert client.get("/healthz").json()["status"] == "read_only"
        state = client.get(f"/v1/bandits/{bandit}").json()
        assert (state["decisions"], state["events"]) == (1, 2)
        assert {row["a"] for row in state["posterior"]} == {1.0}
        store._writing.execute("PRAGMA query_only = OFF")
        tell = client.post(
            f"/v1/decisions/{decision['id']}/outcomes",
            json={"outcomes": {decision["arms"][0]: 1.0}},
        )
        assert tell.json()["new"] == [decision["arms"][0]]


def test_keys_on_the_command_line(path):
    key = say(
        "keys", "add", "--database", path, "--role", "decide", "--note", "the shop"
    ).output.strip()
    assert key.startswith("superarm_")
    listed = say("keys", "list", "--database", path).output
    assert "the shop" in listed
    assert key not in listed
    store = SQLiteStore(path, "read")
    (row,) = store.key_rows()
    store.close()
    assert say("keys", "drop", "--database", path, row.id).exit_code == 0
    assert say("keys", "drop", "--database", path, row.id).exit_code == 1
    refused = say("serve", "--database", path, "--host", "0.0.0.0", "--port", 0)
    assert refused.exit_code == 1
    assert "keys are required" in refused.output
    assert "0.0.0.0 can be reached by others" in refused.output
    asked_for = say("serve", "--database", path, "--keys", "--port", 0)
    assert asked_for.exit_code == 1
    assert "keys are required" in asked_for.output
    assert "by others" not in asked_for.output  # nobody else can reach a loopback address
