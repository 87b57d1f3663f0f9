"""The service on a real PostgreSQL, with several servers at once."""

import uuid

import psycopg
import pytest
from click.testing import CliRunner

import edge_clients
import postgres
from serving import client_on, create, events_of, play
from superarm import cli
from superarm.client import UnreachableError
from superarm.service import export
from superarm.service.bandits import loading
from superarm.service.bandits.compaction import compact
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.http.service import Service
from superarm.service.log import chain, queries
from superarm.service.log import postgres as log
from superarm.service.log.events import Bandit
from superarm.service.log.postgres import PostgresStore
from superarm.service.log.store import BehindError, DeletedError, StoreError


@pytest.fixture
def address(postgres_database):
    return postgres_database


@pytest.fixture(params=[1000, 0], ids=["with locks", "trusting"])
def turns(request, monkeypatch):
    """Whether turns begin with a lock: not if the process has been alone for so many turns."""
    monkeypatch.setattr(log, "_ALONE", request.param)


def client_of(address, **options):
    return client_on(Service(Engine(PostgresStore(address), **options)))


def test_a_bandit_on_postgres(address):
    with client_of(address) as client:
        bandit = create(client, seed=4)
        play(client, bandit, 12)
        before = client.get(f"/v1/bandits/{bandit}").json()
        log = events_of(client, bandit)
        assert client.get("/healthz").json()["database"] == "postgresql"
        again = client.post("/v1/bandits", json={"name": "canteen", "arms": 9, "k": 2})
        assert again.status_code == 409
    with client_of(address) as client:
        assert client.get(f"/v1/bandits/{bandit}").json() == before
        assert events_of(client, bandit) == log
        path, headers = f"/v1/bandits/{bandit}/decisions", {"Idempotency-Key": "once"}
        first = client.post(path, headers=headers).json()
        assert client.post(path, headers=headers).json() == first
        assert len(client.get(path).json()["decisions"]) == 13
        assert client.get(f"/v1/decisions/{first['id']}/explanation").json()["complete"]


def test_no_bandit_has_a_name_that_postgres_refuses(address):
    with client_of(address) as client:
        create(client)
        answer = client.get("/v1/bandits", params={"name": "\0"})
        assert (answer.status_code, answer.json()["bandits"]) == (200, [])


def test_the_same_log_as_sqlite(address, tmp_path):
    import serving

    logs = []
    for client_ in (client_of(address), serving.client_of(tmp_path / "bandits.db")):
        with client_ as client:
            bandit = create(client, arms=3000, k=5, seed=4)
            play(client, bandit, 10)
            logs.append(
                [
                    (event["kind"], event.get("decisions"), event["counts"])
                    for event in events_of(client, bandit)
                ]
            )
            for _, decisions, _ in logs[-1]:
                for decision in decisions or ():
                    decision["id"] = decision["id"].split("-")[1]
    assert logs[0] == logs[1]


@pytest.mark.usefixtures("turns")
def test_batches_of_the_edge_go_to_any_server(address):
    with client_of(address) as one, client_of(address) as two:
        line, bandit = edge_clients.Line(one), create(one, seed=2)
        edge = line.edge(bandit)
        sent = edge_clients.play(edge, 5)
        line.service, line.lost = two, "answer"
        with pytest.raises(UnreachableError):
            edge.sync()  # the other server has the batch, and the client does not know it
        line.service, line.lost = one, None
        sent += edge_clients.play(edge, 2)
        assert edge.sync() == 7
        beliefs = []
        for line.service in (one, two):
            found = edge_clients.merged(line, bandit)
            assert [made["id"] for made in found] == [made.id for made in sent]
            beliefs += [edge_clients.belief_of(line, bandit), edge_clients.taught(line, bandit)]
        assert beliefs == beliefs[:1] * 4
    store = PostgresStore(address, "read")
    try:
        assert replay(store, store.bandit(bandit), {}, decide=True).same
    finally:
        store.close()


@pytest.mark.usefixtures("turns")
def test_two_servers_take_turns(address):
    with client_of(address) as one, client_of(address) as two:
        bandit = create(one, arms=3000, k=3, seed=2)
        told = 0
        for _ in range(6):
            for client, other in ((one, two), (two, one)):
                answers = client.together([("POST", f"/v1/bandits/{bandit}/decisions", {})] * 5)
                for answer in answers:
                    decision = answer.json()
                    outcomes = {"outcomes": dict.fromkeys(decision["arms"], 0.5)}
                    told += (
                        other.post(
                            f"/v1/decisions/{decision['id']}/outcomes", json=outcomes
                        ).status_code
                        == 200
                    )
        states = [client.get(f"/v1/bandits/{bandit}").json() for client in (one, two)]
        assert states[0] == states[1]
        assert told == 60
        assert states[0]["told"] == 60
        events = events_of(one, bandit)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        ids = [
            decision["id"]
            for event in events
            if event["kind"] == "decided"
            for decision in event["decisions"]
        ]
        assert ids == [f"{bandit}-{number}" for number in range(1, 61)]
    store = PostgresStore(address)
    found = replay(store, store.bandit(bandit), {})
    assert found.same
    assert fingerprint(found.live)["counts"][4] == 60
    store.close()


def test_a_turn_without_a_lock_writes_nothing_if_it_saw_an_old_state(address, monkeypatch):
    with client_of(address) as client:
        bandit = create(client)
        play(client, bandit, 3)
    one, other = PostgresStore(address), PostgresStore(address)
    row, events = one.bandit(bandit), other.events(1, 0, 100)
    seen, late = events[-1].seq, events[-1]._replace(seq=events[-1].seq + 1, key=None)
    monkeypatch.setattr(log, "_ALONE", 0)
    asked = []
    monkeypatch.setattr(one, "_begin", lambda *given: asked.append(given))

    def take(*events):
        with one.turn(row, seen) as turn:
            assert turn.news == []
            with other.turn(row, seen) as before:
                if not before.news:
                    before.commit([late])
            if events:
                turn.commit(list(events))

    for events in ([late._replace(body="{}")], []):  # also if it only answers
        with pytest.raises(BehindError):
            take(*events)
    assert not asked  # the turns had no lock
    assert one.events(row.number, seen, 100) == [late]
    monkeypatch.undo()
    with one.turn(row, seen) as turn:  # the next turn locks, and has the news
        assert turn.news == [late]
    one.close(), other.close()


def test_a_process_that_is_alone_soon_needs_no_locks(address, monkeypatch):
    monkeypatch.setattr(log, "_ALONE", 3)
    with client_of(address) as one, client_of(address) as other:
        bandit, store = create(one), one.app.state.service.engine.store
        locked, lock = [], store._begin
        monkeypatch.setattr(store, "_begin", lambda *given: locked.append(1) or lock(*given))
        path = f"/v1/bandits/{bandit}/decisions"

        def n_locked(n):
            locked.clear()
            assert [one.post(path).status_code for _ in range(n)] == [201] * n
            return len(locked)

        assert [n_locked(1) for _ in range(5)] == [1, 1, 1, 0, 0]
        assert other.post(path).status_code == 201
        assert n_locked(6) == 3  # the first of them is repeated with a lock
        assert len(one.get(path).json()["decisions"]) == 12
        states = [client.get(f"/v1/bandits/{bandit}").json() for client in (one, other)]
        assert states[0] == states[1]


def end_connections(admin):
    """End all other connections of the database, and wait until they have ended."""
    ended = admin.execute(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ).fetchall()
    assert ended
    assert all(did_end for (did_end,) in ended)


@pytest.mark.parametrize("reads", [False, True])
def test_a_server_follows_however_large_the_news_are(address, monkeypatch, reads):
    """Events are read in portions of some megabytes, here of one event each."""
    monkeypatch.setattr(queries, "_MOST_READ", 1)
    with client_of(address) as one, client_of(address) as other:
        bandit = create(one)
        path = f"/v1/bandits/{bandit}/decisions"
        assert other.post(path).status_code == 201
        for _ in range(3):
            one.post(path)
        if reads:
            assert other.get(f"/v1/bandits/{bandit}").json()["decisions"] == 4
        assert other.post(path).json()["id"] == f"{bandit}-5"


@pytest.mark.usefixtures("turns")
def test_a_lost_connection_is_made_again(address):
    store = PostgresStore(address)
    with client_on(Service(Engine(store))) as client:
        bandit = create(client)
        client.post(f"/v1/bandits/{bandit}/decisions")
        with psycopg.connect(address, autocommit=True) as admin:
            end_connections(admin)
        statuses = [client.post(f"/v1/bandits/{bandit}/decisions").status_code for _ in range(20)]
        assert statuses == [201] * 20
        assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 21


@pytest.mark.usefixtures("turns")
def test_who_waits_for_a_bandit_is_told_to_come_back(address):
    with client_of(f"{address}&options=-c%20lock_timeout%3D200ms") as client:
        bandit = create(client)
        path = f"/v1/bandits/{bandit}"
        with psycopg.connect(address, options="-c search_path=superarm") as elsewhere:
            elsewhere.execute("SELECT 1 FROM bandits FOR UPDATE")  # a server that has vanished, say
            refused, seen = client.together([("POST", f"{path}/decisions", {}), ("GET", path, {})])
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert seen.status_code in (200, 503)  # it may have waited in the same turn
            assert client.get(path).json()["decisions"] == 0
            elsewhere.rollback()
        assert client.post(f"{path}/decisions").status_code == 201


def test_nobody_holds_a_bandit_for_ever(address):
    store = PostgresStore(address)
    shown = [
        store._read(f"SHOW {name}")[0][0]
        for name in ("lock_timeout", "idle_in_transaction_session_timeout")
    ]
    store.close()
    assert shown == ["5s", "5min"]


def test_a_turn_sees_what_was_appended_while_it_waited(address):
    """Also if the database has another default isolation level."""
    name = address.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'"
        )
    with client_of(address) as one, client_of(address) as two:
        bandit = create(one)
        store = two.app.state.service.engine.store
        with store.turn(store.bandit(bandit), seen=0) as turn:
            assert store._read("SHOW transaction_isolation")[0][0] == "read committed"
            assert len(turn.news) == 1
        play(one, bandit, 3)
        play(two, bandit, 3)


def test_a_read_only_database_keeps_serving_reads(address):
    with client_of(address) as client:
        bandit = create(client)
        play(client, bandit, 3)
        name = address.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(address, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            end_connections(admin)
        for _ in range(12):
            client.post(f"/v1/bandits/{bandit}/decisions")
        assert client.post(f"/v1/bandits/{bandit}/decisions").status_code == 503
        assert client.get("/v1/bandits").json()["bandits"][0]["decisions"] == 3
        assert client.get("/healthz").json()["status"] == "read_only"


def test_what_is_no_database(postgres_server):
    with pytest.raises(StoreError, match="nothing_here"):
        PostgresStore(postgres_server.replace("/postgres?", "/nothing_here?"))


def test_a_dump_is_restored(address, postgres_server, tmp_path):
    """As in docs/operations.md, while the service runs."""
    with client_of(address, checkpoint_every=7) as client:
        bandit = create(client, seed=4)
        play(client, bandit, 10)
        before, dump = events_of(client, bandit), str(tmp_path / "dump")
        postgres.call("pg_dump", "--format=custom", "--schema=superarm", f"--file={dump}", address)
        play(client, bandit, 3)
        known = client.get(f"/v1/bandits/{bandit}").json()
    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    copy = postgres_server.replace("/postgres?", f"/{name}?")
    for _ in range(2):  # also over what is there
        postgres.call("pg_restore", "--clean", "--if-exists", f"--dbname={copy}", dump)
    store = PostgresStore(copy)
    assert replay(store, store.bandit(bandit), {}).same
    store.close()
    with client_of(copy) as client:
        assert events_of(client, bandit) == before
        play(client, bandit, 3)
        assert client.get(f"/v1/bandits/{bandit}").json()["posterior"] == known["posterior"]


@pytest.mark.usefixtures("turns")
def test_a_bandit_that_another_server_deletes_is_gone(address, caplog):
    with client_of(address) as one:
        bandit = create(one)
        play(one, bandit, 3)
        other = PostgresStore(address)
        (row,) = other.bandits(10)
        assert compact(other, row, {}, before=0.0).n_events == 0
        other.delete(row.number)
        # Reads answered from memory, or said that the log is damaged if its events were gone.
        for method, path in (("GET", ""), ("POST", "/decisions"), ("GET", "/history")):
            gone = one.request(method, f"/v1/bandits/{bandit}{path}")
            assert (gone.status_code, gone.json()["type"]) == (410, "urn:superarm:bandit-deleted")
        assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
        assert other.to_purge() == [row.number]
        other.purge(row.number)
        assert other.to_purge() == other.bandits(10) == []
        other.close()


def test_a_bandit_that_is_not_in_memory_and_that_another_server_deletes_is_gone(address, caplog):
    with client_of(address) as one:
        bandit = create(one)
        play(one, bandit, 3)
        one.app.state.service.engine._actors[bandit].live = None  # as after a failure
        other = PostgresStore(address)
        other.delete(1), other.purge(1)
        gone = one.get(f"/v1/bandits/{bandit}")
        assert (gone.status_code, gone.json()["type"]) == (410, "urn:superarm:bandit-deleted")
        with pytest.raises(DeletedError):  # by a thread that loads it beside its own
            loading.load(other, Bandit(1, bandit, "canteen", 2, 0.0), {})
        other.close()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_log_is_compacted(address):
    with client_of(address, clock=lambda: 1e9) as client:
        bandit = create(client, keep=0)
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        outcomes = {"outcomes": dict.fromkeys(decision["arms"], 1.0)}
        client.post(f"/v1/decisions/{decision['id']}/outcomes", json=outcomes)
    store = PostgresStore(address)
    (row,) = store.bandits(10)
    before = fingerprint(replay(store, row, {}).live)
    assert compact(store, row, {}, before=2e9).n_events == 2
    assert len(store.events(row.number, 0, 10)) == 2  # the first, and that of the base
    found = replay(store, row, {})
    assert found.same
    assert fingerprint(found.live) == before
    store.close()


class Days:
    """A clock that moves by a day with each round."""

    now = 100 * 86_400.0

    def __call__(self):
        return self.now

    def play(self, client, bandit, n_rounds):
        """Rounds whose outcomes are all told. Returns the last decision."""
        for _ in range(n_rounds):
            self.now += 86_400.0
            made = client.post(f"/v1/bandits/{bandit}/decisions").json()
            told = {"outcomes": dict.fromkeys(made["arms"], 1.0)}
            assert client.post(f"/v1/decisions/{made['id']}/outcomes", json=told).is_success
        return made


@pytest.mark.usefixtures("turns")
def test_a_log_is_compacted_while_servers_use_it(address):
    """One server has seen few of the events that are removed, and both go on as with all."""
    days = Days()
    with client_of(address, clock=days) as one, client_of(address, clock=days) as two:
        bandits = [create(one, name=name, seed=3, keep=0) for name in ("short", "whole")]
        for id in bandits:
            days.play(one, id, 2), days.play(two, id, 4)
        store = PostgresStore(address)
        row = store.bandit(bandits[0])
        assert compact(store, row, {}, days.now).n_events > 5
        values = [[days.play(client, id, 1)["values"] for client in (one, two)] for id in bandits]
        assert values[0] == values[1]
        assert replay(store, row, {}).same
        store.close()


def test_outcomes_between_export_and_compaction_are_exported(address, tmp_path, monkeypatch):
    """What was open when it was exported stays until the next time."""
    duckdb = pytest.importorskip("duckdb")
    days, out = Days(), tmp_path / "archive"
    words = ["compact", address, "shop", "--before", "1970-05-01", "--out", str(out)]
    with client_of(address, clock=days) as client:
        bandit = create(client, name="shop", keep=0)
        days.play(client, bandit, 2)
        days.now += 86_400.0
        late = client.post(f"/v1/bandits/{bandit}/decisions").json()
        days.play(client, bandit, 2)
        exported = export.export

        def and_then(*args):
            exported(*args)
            told = {"outcomes": dict.fromkeys(late["arms"], 1.0)}
            assert client.post(f"/v1/decisions/{late['id']}/outcomes", json=told).is_success

        with monkeypatch.context() as patch:
            patch.setattr(export, "export", and_then)
            said = CliRunner().invoke(cli.app, words).output
        assert f"decisions before 1970-05-01 are open: 1, the oldest {late['id']};" in said
        assert CliRunner().invoke(cli.app, words).exit_code == 0
    found = duckdb.sql(f"SELECT count(*), count(outcome) FROM '{out}/**/*.parquet'")
    assert found.fetchall() == [(10, 10)]  # two arms of five decisions


def test_an_older_base_does_not_replace_a_newer_one(address):
    """Two compactions at once: the slower one has a base whose next events are gone."""
    days = Days()
    with client_of(address, clock=days) as client:
        bandit = create(client, keep=0)
        days.play(client, bandit, 3)
    store = PostgresStore(address)
    row = store.bandit(bandit)
    slower = chain.make_checkpoint(*loading.created(store, row, {}).snapshot())
    assert compact(store, row, {}, days.now).n_events > 3
    base = store.base(row.number)
    store.compact(row.number, 1, slower)
    assert store.base(row.number) == base
    assert replay(store, row, {}).same
    store.close()


def test_a_bandit_is_loaded_while_its_log_is_compacted(address, monkeypatch):
    """The checkpoint that was read is of an event that is removed before the events are read."""
    days, store = Days(), PostgresStore(address)
    with client_of(address, clock=days) as client:
        bandit = create(client, keep=0)
        days.play(client, bandit, 1)
    row = store.bandit(bandit)
    early = store.checkpoint(row.number)
    with client_of(address, clock=days) as client:
        days.play(client, bandit, 3)
    read, wanted = store.checkpoint, fingerprint(loading.load(store, row, {}))

    def slowly(_):
        monkeypatch.setattr(store, "checkpoint", read)
        assert compact(store, row, {}, days.now).n_events > 3
        return early

    monkeypatch.setattr(store, "checkpoint", slowly)
    assert fingerprint(loading.load(store, row, {})) == wanted
    store.close()
