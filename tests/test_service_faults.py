"""Disks that are full, small or read-only, and files that somebody changed: what was acknowledged stays, that alone."""

import random
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

import broken_disks
from server_process import Server
from serving import client_of, events_of
from superarm import cli
from superarm.client import Client, ProblemError, Retries
from superarm.service import serving
from superarm.service.replay import fingerprint, replay

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


def some_history(database):
    """A database with one bandit and a checkpoint, left by a server that was stopped."""
    with client_of(database) as client:
        bandit = client.post("/v1/bandits", json={"name": "history", "arms": 20, "k": 2, "seed": 1}).json()["id"]
        for _ in range(30):
            decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
            outcomes = {"outcomes": dict.fromkeys(decision["arms"], 1.0)}
            assert client.post(f"/v1/decisions/{decision['id']}/outcomes", json=outcomes).is_success


def change(database, query, *values):
    connection = sqlite3.connect(database)
    with connection:
        assert connection.execute(query, values).rowcount > 0
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """The bytes of a database with a history, to be damaged, and what replay says of it while it is whole."""
    folder = tmp_path_factory.mktemp("history")
    some_history(folder / "s.db")
    found = replayed(folder / "s.db")
    assert "the same bit for bit" in found.output
    assert found.exit_code == 0
    return (folder / "s.db").read_bytes(), fingerprints(folder / "s.db")


def replayed(database):
    return CliRunner().invoke(cli.app, ["replay", str(database)])


def fingerprints(database):
    with serving.opened(str(database), "read") as store:
        return [fingerprint(replay(store, bandit, {}).live) for bandit in store.bandits(10)]


def refused(database, **options):
    """Why the database is not served."""
    with pytest.raises(serving.StartError) as caught:
        serving.serve(serving.Settings(database=str(database), port=0, **options))
    return str(caught.value)


def test_a_read_only_disk_is_refused_at_the_start(history, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "s.db").write_bytes(history[0])
    server = Server(f"{disk}/s.db", tmp_path / "log", prefix=broken_disks.read_only(disk))
    with pytest.raises(RuntimeError, match="must be writable"), server:
        pass
    assert {path.name: path.read_bytes() for path in disk.iterdir()} == {"s.db": history[0]}
    assert "Traceback" not in server.said


@pytest.mark.parametrize("damage", ["data = zeroblob(length(data))", "meta = '{}'", "sha256 = x'00'", "data = x''"])
def test_a_damaged_checkpoint_is_made_again_from_the_log(history, tmp_path, damage, caplog):
    database = tmp_path / "s.db"
    database.write_bytes(history[0])
    change(database, f"UPDATE checkpoints SET {damage}")
    with client_of(database) as client:
        bandit = client.get("/v1/bandits").json()["bandits"][0]["id"]
        state = client.get(f"/v1/bandits/{bandit}?top=20").json()
        belief = history[1][0]["belief"]
        assert {row["arm"]: row["a"] for row in state["posterior"]} == {
            str(arm): a for arm, a in enumerate(belief["a"])
        }
        assert "checkpoint_damaged" in caplog.messages
        assert client.post(f"/v1/bandits/{bandit}/decisions").is_success
    found = replayed(database)
    assert found.exit_code == 0
    assert "the same bit for bit" in found.output


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE events SET body = replace(body, '1.0', '0.0') WHERE seq = 3", "event 3"),
        ("UPDATE events SET time = time + 1 WHERE seq = 40", "event 40"),
        ("UPDATE events SET key = 'another' WHERE seq = 2", "event 2"),
        ("UPDATE events SET digest = zeroblob(32) WHERE seq = (SELECT max(seq) FROM events)", "event 61"),
        ("DELETE FROM events WHERE seq = 50", "event 50"),
        ("DELETE FROM events WHERE seq = 1", "creation"),
        ("UPDATE events SET body = '{' WHERE seq = 61", "event 61"),
        ("UPDATE bandits SET id = 'aaaaaaaaaa'", "event 1"),
    ],
)
@pytest.mark.parametrize("checkpoint", [True, False], ids=["checkpoint", "no checkpoint"])
def test_a_damaged_log_is_refused_and_left_as_it_is(history, tmp_path, damage, words, checkpoint):
    database = tmp_path / "s.db"
    database.write_bytes(history[0])
    change(database, damage)
    if not checkpoint:
        change(database, "DELETE FROM checkpoints")
    before = database.read_bytes()
    found = replayed(database)
    assert found.exit_code == 1
    assert "damaged" in found.output
    assert words in found.output
    assert words in refused(database, check_all=True)
    assert database.read_bytes() == before


def test_the_end_of_a_log_is_looked_at_without_being_asked(history, tmp_path):
    database = tmp_path / "s.db"
    database.write_bytes(history[0])
    change(database, "DELETE FROM checkpoints")
    change(database, "UPDATE events SET body = replace(body, '1.0', '0.0') WHERE seq = 61")
    before = database.read_bytes()
    server = Server(str(database), tmp_path / "log")
    with pytest.raises(RuntimeError, match="event 61"), server:
        pass
    assert "Traceback" not in server.said
    assert database.read_bytes() == before


def test_events_cut_off_behind_a_checkpoint_are_missed(history, tmp_path):
    database = tmp_path / "s.db"
    database.write_bytes(history[0])
    change(database, "DELETE FROM events WHERE seq > 55")
    assert "events are missing or altered" in refused(database)


def test_no_flipped_byte_passes_for_the_truth(history, tmp_path):
    """Anywhere in the file: it is refused, or what comes out is what was there (room that is not used, or caches)."""
    whole, known = history
    rng, n_refused = random.Random(0), 0
    for _ in range(40):
        place = rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        database = tmp_path / "s.db"
        database.write_bytes(damaged)
        found = replayed(database)
        assert found.exception is None or isinstance(found.exception, SystemExit), (place, found.exception)
        if found.exit_code:
            n_refused += 1
        else:
            assert fingerprints(database) == known, place
        assert database.read_bytes() == damaged
        for beside in tmp_path.glob("s.db-*"):
            beside.unlink()
    assert n_refused > 5


def test_a_clock_that_jumps_back(tmp_path):
    now = [1000.0]
    with client_of(tmp_path / "s.db", clock=lambda: now[0]) as client:
        made = {"name": "clock", "arms": 5, "k": 2, "seed": 1, "expiry": {"after_s": 60, "missing": 0.0}}
        bandit = client.post("/v1/bandits", json=made).json()["id"]
        ids = []
        for now[0] in (1000.0, 1030.0, 10.0, -5e9, 0.0, 1040.0):
            ids.append(client.post(f"/v1/bandits/{bandit}/decisions").json()["id"])
        now[0] = 20.0  # by this clock nothing has expired, and by the log nothing either
        assert client.get(f"/v1/decisions/{ids[0]}").json()["status"] == "open"
        now[0] = 1095.0
        late = client.post(f"/v1/decisions/{ids[0]}/outcomes", json={"outcomes": {"0": 1.0}})
        assert late.status_code in (410, 422)
        assert client.get(f"/v1/decisions/{ids[-1]}").json()["status"] == "open"
        times = [event["time"] for event in events_of(client, bandit)]
        assert times == sorted(times)
        assert times[:2] == [1000.0, 1000.0]
        known = client.get(f"/v1/bandits/{bandit}").json()
    now[0] = 3.0  # as after a start with a clock that is not set yet
    with client_of(tmp_path / "s.db", clock=lambda: now[0], checkpoints=False) as client:
        assert client.get(f"/v1/bandits/{bandit}").json() == known
        assert client.post(f"/v1/bandits/{bandit}/decisions").json()["time"] == times[-1]
    assert replayed(tmp_path / "s.db").exit_code == 0
