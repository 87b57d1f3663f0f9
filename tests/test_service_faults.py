"""Disks that are full, small or read-only, and files that somebody changed: what was acknowledged stays, that alone."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import broken_disks
from server_process import Server
from superarm.client import Client, ProblemError, Retries

ONCE = Retries(tries=1)


def acknowledged_until_no(client, bandit, *, most=3000):
    """Ask and tell until the service says no: what it had acknowledged, and the no."""
    done = {"decided": [], "told": []}
    for number in range(most):
        try:
            decision = client.ask(bandit, key=f"key-{number}-" + "x" * 180)
            done["decided"].append(decision.id)
            client.tell(decision, dict.fromkeys(decision.arms, 1.0))
            done["told"].append(decision.id)
        except ProblemError as problem:
            return done, problem
    raise AssertionError("the disk must be full by now")


def in_log(client, bandit):
    events = list(client.log(bandit))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return {
        "decided": [one["id"] for event in events if event["kind"] == "decided" for one in event["decisions"]],
        "told": [event["decision"] for event in events if event["kind"] == "told"],
    }


def test_a_full_disk_refuses_and_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    server = Server(f"{disk}/s.db", tmp_path / "log", prefix=broken_disks.small(disk, "2m"))
    with server, Client(server.url, retries=ONCE) as client:
        inside = Path(f"/proc/{server.process.pid}/root{disk}")
        (inside / "ballast").write_bytes(bytes(900_000))
        bandit = client.create("full", 20, 2, seed=1)
        done, problem = acknowledged_until_no(client, bandit)
        assert problem.status == 507
        assert "room" in problem.detail
        assert in_log(client, bandit) == done  # reading goes on, and the one that was refused is not there
        (inside / "ballast").unlink()
        decision = client.ask(bandit)
        client.tell(decision, dict.fromkeys(decision.arms, 0.0))
        assert in_log(client, bandit) == {kind: [*ids, decision.id] for kind, ids in done.items()}
        assert server.stop() == 0


def test_a_file_that_may_not_grow(tmp_path):
    database = tmp_path / "s.db"
    server = Server(str(database), tmp_path / "log", prefix=broken_disks.small_files(600_000))
    with server, Client(server.url, retries=ONCE) as client:
        bandit = client.create("small", 20, 2, seed=1)
        done, problem = acknowledged_until_no(client, bandit)
        assert problem.status in (503, 507)
        server.kill()
    with Server(str(database), tmp_path / "log") as server, Client(server.url, retries=ONCE) as client:
        assert in_log(client, bandit) == done
        client.ask(bandit)


def some_history(database, log, rounds=30):
    """A database with one bandit and a checkpoint, left by a server that was stopped: the bandit, and what is known."""
    server = Server(str(database), log)
    with server, Client(server.url) as client:
        bandit = client.create("history", 20, 2, seed=1)
        for _ in range(rounds):
            decision = client.ask(bandit)
            client.tell(decision, dict.fromkeys(decision.arms, 1.0))
        known = client.bandit(bandit, top=20)
        assert server.stop() == 0
    return known


def change(database, query, *values):
    connection = sqlite3.connect(database)
    with connection:
        assert connection.execute(query, values).rowcount > 0
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_a_read_only_disk_is_refused_at_the_start(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    some_history(disk / "s.db", tmp_path / "log")
    before = {path.name: path.read_bytes() for path in disk.iterdir()}
    server = Server(f"{disk}/s.db", tmp_path / "log", prefix=broken_disks.read_only(disk))
    with pytest.raises(RuntimeError, match="must be writable"), server:
        pass
    assert {path.name: path.read_bytes() for path in disk.iterdir()} == before
    assert "Traceback" not in server.said


def test_a_damaged_checkpoint_is_made_again_from_the_log(tmp_path):
    database = tmp_path / "s.db"
    known = some_history(database, tmp_path / "log")
    change(database, "UPDATE checkpoints SET data = zeroblob(length(data))")
    server = Server(str(database), tmp_path / "log")
    with server, Client(server.url) as client:
        assert client.bandit(known, top=20) == known
        assert "checkpoint_damaged" in server.said
        client.ask(known)
        assert server.stop() == 0
    assert replayed(database).returncode == 0


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = replace(body, '1.0', '0.0') WHERE seq = 3",
        "UPDATE events SET time = time + 1 WHERE seq = 40",
        "UPDATE events SET digest = zeroblob(32) WHERE seq = (SELECT max(seq) FROM events)",
        "DELETE FROM events WHERE seq = 50",
        "DELETE FROM events WHERE seq = 1",
        "UPDATE events SET body = '{' WHERE seq = 61",
    ],
)
@pytest.mark.parametrize("checkpoint", [True, False], ids=["checkpoint", "no checkpoint"])
def test_a_damaged_log_is_refused_and_left_as_it_is(histories, tmp_path, damage, checkpoint):
    database = tmp_path / "s.db"
    database.write_bytes(histories)
    change(database, damage)
    if not checkpoint:
        change(database, "DELETE FROM checkpoints")
    before = database.read_bytes()
    done = replayed(database)
    assert done.returncode != 0
    assert "event" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert database.read_bytes() == before


@pytest.fixture(scope="module")
def histories(tmp_path_factory):
    """The bytes of a database with a history, to be damaged."""
    folder = tmp_path_factory.mktemp("history")
    some_history(folder / "s.db", folder / "log")
    return (folder / "s.db").read_bytes()


def test_a_damaged_log_is_not_served(histories, tmp_path):
    database = tmp_path / "s.db"
    database.write_bytes(histories)
    change(database, "UPDATE events SET body = replace(body, '1.0', '0.0') WHERE seq = 61")
    change(database, "DELETE FROM checkpoints")
    before = database.read_bytes()
    server = Server(str(database), tmp_path / "log")
    with pytest.raises(RuntimeError, match="event 61"), server:
        pass
    assert "Traceback" not in server.said
    assert database.read_bytes() == before


def replayed(database):
    command = [sys.executable, "-m", "superarm", "replay", str(database)]
    return subprocess.run(command, capture_output=True, text=True)
