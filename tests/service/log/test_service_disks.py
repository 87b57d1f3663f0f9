"""Full and read-only disks, flipped bytes, clocks that jump: nothing acknowledged is lost."""

import random
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

import broken_disks
from forked_server import ForkedServer
from serving import client_of, client_on, create, events_of
from superarm import cli
from superarm.client import Client, ProblemError, Retries
from superarm.service import server
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.http.service import Service
from superarm.service.log import sqlite
from superarm.service.log.folder import FolderStore, prepare
from superarm.service.settings import Settings

ONCE = Retries(tries=1)


def acknowledged_until_no(client, bandit, *, most=3000):
    """Ask and tell until the service refuses. Returns what it acknowledged, and the refusal."""
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
        "decided": [
            one["id"]
            for event in events
            if event["kind"] == "decided"
            for one in event["decisions"]
        ],
        "told": [event["decision"] for event in events if event["kind"] == "told"],
    }


def test_a_full_disk_refuses_and_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    server = ForkedServer(f"{disk}/s.db", tmp_path / "log", prefix=broken_disks.small(disk, "2m"))
    with server, Client(server.url, retries=ONCE) as client:
        inside = Path(f"/proc/{server.process.pid}/root{disk}")
        (inside / "ballast").write_bytes(bytes(900_000))
        bandit = client.create("full", 20, 2, seed=1)
        done, problem = acknowledged_until_no(client, bandit)
        assert problem.status == 507
        assert "room" in problem.detail
        assert (
            in_log(client, bandit) == done
        )  # reading goes on, and the one that was refused is not there
        (inside / "ballast").unlink()
        decision = client.ask(bandit)
        client.tell(decision, dict.fromkeys(decision.arms, 0.0))
        assert in_log(client, bandit) == {kind: [*ids, decision.id] for kind, ids in done.items()}
        assert server.stop() == 0


def test_a_file_that_may_not_grow(tmp_path):
    database = tmp_path / "s.db"
    server = ForkedServer(str(database), tmp_path / "log", prefix=broken_disks.small_files(600_000))
    with server, Client(server.url, retries=ONCE) as client:
        bandit = client.create("small", 20, 2, seed=1)
        done, problem = acknowledged_until_no(client, bandit)
        assert problem.status in (503, 507)
        server.kill()
    with (
        ForkedServer(str(database), tmp_path / "log") as server,
        Client(server.url, retries=ONCE) as client,
    ):
        assert in_log(client, bandit) == done
        client.ask(bandit)


def some_history(database):
    """A database with one bandit and a checkpoint, left by a server that was stopped."""
    with client_of(database) as client:
        bandit = client.post(
            "/v1/bandits", json={"name": "history", "arms": 20, "k": 2, "seed": 1}
        ).json()["id"]
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
    """The bytes of an intact database, to be damaged, and the fingerprints of its bandits."""
    folder = tmp_path_factory.mktemp("history")
    some_history(folder / "s.db")
    found = replayed(folder / "s.db")
    assert "the same bit for bit" in found.output
    assert found.exit_code == 0
    return (folder / "s.db").read_bytes(), fingerprints(folder / "s.db")


def replayed(database):
    return CliRunner().invoke(cli.app, ["replay", str(database)])


def fingerprints(database):
    with server.opened(str(database), "read") as store:
        return [fingerprint(replay(store, bandit, {}).live) for bandit in store.bandits(10)]


def refused(database, **options):
    """Why the database is not served."""
    with pytest.raises(server.StartError) as caught:
        server.serve(Settings(database=str(database), port=0, **options))
    return str(caught.value)


def test_a_read_only_disk_is_refused_at_the_start(history, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "s.db").write_bytes(history[0])
    server = ForkedServer(f"{disk}/s.db", tmp_path / "log", prefix=broken_disks.read_only(disk))
    with pytest.raises(RuntimeError, match="must be writable"), server:
        pass
    assert {path.name: path.read_bytes() for path in disk.iterdir()} == {"s.db": history[0]}
    assert "Traceback" not in server.said


def test_events_cut_off_behind_a_checkpoint_are_missed(history, tmp_path):
    database = tmp_path / "s.db"
    database.write_bytes(history[0])
    change(database, "DELETE FROM events WHERE seq > 55")
    assert "events are missing or altered" in refused(database)


def test_no_flipped_byte_passes_for_the_truth(history, tmp_path):
    """Each damaged file is refused, or the byte was unused or in a cache and nothing differs."""
    whole, known = history
    rng, n_refused = random.Random(0), 0
    for _ in range(40):
        place = rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        database = tmp_path / "s.db"
        database.write_bytes(damaged)
        found = replayed(database)
        assert found.exception is None or isinstance(found.exception, SystemExit), (
            place,
            found.exception,
        )
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
        made = {
            "name": "clock",
            "arms": 5,
            "k": 2,
            "seed": 1,
            "expiry": {"after_s": 60, "missing": 0.0},
        }
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


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-serving"])
@pytest.mark.parametrize("what", ["removed", "moved", "replaced"])
def test_nothing_is_acknowledged_when_a_file_of_the_database_is_gone(
    tmp_path, monkeypatch, end, what
):
    """It would be written where nobody finds it, or beside another server."""
    monkeypatch.setattr(sqlite, "_LOOK_S", 0.0)
    path = tmp_path / "served.db"
    file = path.with_name(f"{path.name}{end}")
    with client_of(path) as client:
        bandit = create(client)
        key = {"Idempotency-Key": "once"}
        address = f"/v1/bandits/{bandit}/decisions"
        assert client.post(address, headers=key).status_code == 201
        content = file.read_bytes()
        file.rename(tmp_path / "moved")
        if what == "removed":
            (tmp_path / "moved").unlink()
        if what == "replaced":
            file.write_bytes(content)
        for _ in range(2):  # the second time from the log
            answer = client.post(address, headers={"Idempotency-Key": "again"})
            assert answer.status_code == 503
            assert answer.json()["type"] == "urn:superarm:database-failing"
        made = client.post("/v1/bandits", json={"name": "late", "arms": 3, "k": 1})
        assert made.status_code == 503
        assert client.get("/healthz").status_code == 503
        assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 1
        if what == "moved":  # back again
            (tmp_path / "moved").rename(file)
            assert client.post(address, headers={"Idempotency-Key": "again"}).status_code == 201
            assert client.get("/healthz").status_code == 200


def test_nothing_is_acknowledged_when_a_file_of_the_database_cannot_be_reached(
    tmp_path, monkeypatch
):
    """Such as in a folder whose rights have changed, or on a stale network drive."""
    monkeypatch.setattr(sqlite, "_LOOK_S", 0.0)
    look = Path.stat

    def refused(file, **options):
        if file.name == "served.db-wal":
            raise PermissionError(13, "Permission denied")
        return look(file, **options)

    with client_of(tmp_path / "served.db") as client:
        bandit = create(client)
        monkeypatch.setattr(Path, "stat", refused)
        for address in ("/v1/bandits", f"/v1/bandits/{bandit}/decisions"):
            body = {} if bandit in address else {"name": "late", "arms": 3, "k": 1}
            answer = client.post(address, json=body)
            assert answer.status_code == 503
            assert answer.json()["type"] == "urn:superarm:database-failing"


def test_a_folder_that_was_moved_is_not_made_again(tmp_path):
    """It would be in the way of the real one, and look like one without bandits."""
    folder = tmp_path / "served"
    prepare(folder, 2)
    with client_on(Service(Engine(FolderStore(folder)))) as client:
        folder.rename(tmp_path / "moved")
        made = {"name": "late", "arms": 3, "k": 1}
        assert client.post("/v1/bandits", json=made).status_code == 503
        assert not folder.exists()
        (tmp_path / "moved").rename(folder)
        assert client.post("/v1/bandits", json=made).status_code == 201
