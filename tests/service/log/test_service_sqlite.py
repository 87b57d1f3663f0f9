"""Threads that share a commit: what is acknowledged is in the file, whichever thread fails."""

import threading
import time
from functools import partial

import pytest

from serving import client_of, create
from superarm.service import metrics
from superarm.service.log.events import Bandit, root, seal
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import Checkpoint, StoreError


class Failing:
    """A connection on which ``fails(query, values)`` decides which statements fail."""

    def __init__(self, connection, fails):
        self._connection, self._fails = connection, fails

    def execute(self, query, values=()):
        error = self._fails(query, values)
        if error is not None:
            raise error
        return self._connection.execute(query, values)

    def executemany(self, query, rows):
        for values in rows:
            self.execute(query, values)

    def __getattr__(self, name):
        return getattr(self._connection, name)


@pytest.fixture
def store(tmp_path):
    store = SQLiteStore(tmp_path / "bandits.db")
    yield store
    store.close()


def made(store, n_bandits=3):
    found = []
    for number in range(n_bandits):
        first = seal(root(f"b{number}"), 1, 0.0, "created", None, None, {"spec": {}})
        found.append(
            (store.create(Bandit(0, f"b{number}", f"name {number}", 1, 0.0), first), first)
        )
    return found


def appends(store, bandits):
    def of(bandit, first):
        return lambda: store.append(
            bandit.number, [seal(first.digest, 2, 1.0, "told", 1, None, {})]
        )

    return [of(*one) for one in bandits]


def together(store, actions):
    """The results of actions that all wait for one transaction."""
    said = [None] * len(actions)

    def act(place):
        try:
            actions[place]()
            said[place] = "acknowledged"
        except BaseException as error:
            said[place] = error

    threads = [threading.Thread(target=act, args=(place,)) for place in range(len(actions))]
    with store._write_lock:
        for n_waiting, thread in enumerate(threads, start=1):
            thread.start()
            while len(store._queue) < n_waiting:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    return said


def n_events(store, bandits):
    return [len(store.events(bandit.number, 1, 10)) for bandit, _ in bandits]


@pytest.mark.parametrize("error", [MemoryError(), OSError("gone")])
def test_what_fails_for_one_fails_for_nobody_else(store, error):
    bandits = made(store)
    store._writing = Failing(
        store._writing,
        lambda query, values: (
            error if "events" in query and values[0] == bandits[1][0].number else None
        ),
    )
    said = together(store, appends(store, bandits))
    assert [said[0], said[2]] == ["acknowledged", "acknowledged"]
    assert isinstance(said[1], StoreError)
    assert n_events(store, bandits) == [1, 0, 1]
    store.check()


def test_a_failure_that_passes_is_nobodys(store):
    bandits, errors = made(store), [MemoryError()]
    store._writing = Failing(
        store._writing, lambda query, values: errors.pop() if query == "COMMIT" and errors else None
    )
    assert together(store, appends(store, bandits)) == ["acknowledged"] * 3
    assert n_events(store, bandits) == [1, 1, 1]


def test_silence_is_no_success(store):
    """The thread that commits for all threads dies in between."""
    bandits, errors = made(store), [KeyboardInterrupt()]
    store._writing = Failing(
        store._writing, lambda query, values: errors.pop() if query == "COMMIT" and errors else None
    )
    said = together(store, appends(store, bandits))
    assert sorted(type(one).__name__ for one in said) == [
        "KeyboardInterrupt",
        "StoreError",
        "StoreError",
    ]
    assert n_events(store, bandits) == [0, 0, 0]
    for append in appends(store, bandits):
        append()


def test_a_rollback_that_fails_is_made_up_for(store):
    bandits, errors = made(store), {"COMMIT": MemoryError(), "ROLLBACK": MemoryError()}
    store._writing = Failing(store._writing, lambda query, values: errors.pop(query, None))
    first, second, _ = appends(store, bandits)
    with pytest.raises(StoreError, match="MemoryError"):
        first()
    assert store._writing.in_transaction
    second()
    assert n_events(store, bandits) == [0, 1, 0]


def test_a_checkpoint_without_room_takes_no_outcomes_along(store):
    bandits = made(store)
    (pages,) = store._writing.execute("PRAGMA page_count").fetchone()
    store._writing.execute(f"PRAGMA max_page_count = {pages + 4}")
    large = Checkpoint("{}", bytes(1 << 20), b"")
    said = together(
        store, [*appends(store, bandits), lambda: store.put_checkpoint(bandits[0][0].number, large)]
    )
    assert said[:3] == ["acknowledged"] * 3
    assert said[3].full
    assert n_events(store, bandits) == [1, 1, 1]


def test_a_bandit_that_could_not_be_made(store):
    errors = {"COMMIT": MemoryError()}
    store._writing = Failing(store._writing, lambda query, values: errors.pop(query, None))
    with pytest.raises(StoreError):
        made(store)
    assert store.bandits(10) == []
    assert [bandit.number for bandit, _ in made(store)] == [1, 2, 3]


def test_the_health_of_a_file_that_nobody_writes_to(tmp_path, monkeypatch):
    with client_of(tmp_path / "bandits.db") as client:
        store = client.app.state.service.engine.store
        store._writing.execute("PRAGMA query_only = ON")
        assert client.get("/healthz").status_code == 503  # nothing was tried before
        store._writing.execute("PRAGMA query_only = OFF")
        create(client)
        assert client.get("/healthz").status_code == 200
        store._writing.execute("PRAGMA query_only = ON")
        assert client.get("/healthz").status_code == 200  # a moment ago it worked
        assert (
            client.post("/v1/bandits", json={"name": "more", "arms": 2, "k": 1}).status_code == 503
        )
        assert client.get("/healthz").json()["status"] == "read_only"
        store._writing.execute("PRAGMA query_only = OFF")
        assert client.get("/healthz").status_code == 200
        store._writing.execute("PRAGMA query_only = ON")
        monkeypatch.setattr(metrics, "_HEALTHY_S", 0.0)  # and this is long ago
        assert client.get("/healthz").status_code == 503


def test_reads_do_not_wait_while_a_disk_hangs(tmp_path, monkeypatch):
    """Looks at the health of a database waited for its writer, and took all threads of readers."""
    monkeypatch.setattr(metrics, "_HEALTHY_S", 0.0)
    goes_on = threading.Event()
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client)
        monkeypatch.setattr(client.app.state.service.engine.store, "check", lambda: goes_on.wait(9))
        with monkeypatch.context() as now:
            now.setattr(metrics, "_PATIENCE_S", 0.001)
            answers = [client.get("/healthz") for _ in range(6)]
        assert {(one.status_code, one.json()["status"]) for one in answers} == {(503, "failing")}
        assert client.get(f"/v1/bandits/{bandit}/history").status_code == 200
        goes_on.set()
        assert client.get("/healthz").json()["status"] == "ok"


def test_a_link_to_a_served_file_is_that_file(path, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(path)
    served = SQLiteStore(path)
    try:
        with pytest.raises(StoreError, match="served by another process"):
            SQLiteStore(link)
    finally:
        served.close()
    SQLiteStore(link).close()


def events_of(first, n):
    """A decision and its outcome, ``n`` times."""
    found = [first]
    for number in range(1, n + 1):
        for kind in ("decided", "told"):
            before = found[-1]
            found.append(
                seal(before.digest, before.seq + 1, 1.0, kind, number, f"{kind}{number}", {})
            )
    return found[1:]


def test_events_that_are_committed_together_are_those_committed_one_by_one(store):
    (bandit, first), (other, twin) = made(store, 2)
    for size in (0, 1, 3, 4, 5, 64, 149):  # an odd number of each size of statement, or none
        events, alone = events_of(first, size)[:size], events_of(twin, size)[:size]
        events = [event._replace(key=f"{event.key} {event.seq}") for event in events]
        alone = [event._replace(key=f"{event.key} {event.seq}") for event in alone]
        store.append(bandit.number, events)
        for event in alone:
            store.append(other.number, [event])
        first, twin = [first, *events][-1], [twin, *alone][-1]
    columns = "seq, time, kind, decision, key, body"
    query = f"SELECT {columns} FROM events WHERE bandit = ? ORDER BY seq"
    found = store._read(query, (bandit.number,))
    assert len(found) == 1 + 226
    assert found == store._read(query, (other.number,))


def test_one_refused_row_among_many_leaves_none_of_them(store):
    ((bandit, first),) = made(store, 1)
    events = events_of(first, 50)
    events[70] = events[70]._replace(key=events[3].key)
    with pytest.raises(StoreError):
        store.append(bandit.number, events)
    assert store.last(bandit.number) == first


def steps_of(store, action):
    """How many steps SQLite's machine takes for an action: what it costs, without a clock."""
    steps = []
    store._reading.set_progress_handler(lambda: steps.append(1) or 0, 10)
    action()
    store._reading.set_progress_handler(None, 0)
    return len(steps)


LOOKUPS = {
    "about": lambda store, number, middle: store.about(number, middle),
    "decided_before": lambda store, number, middle: store.decided_before(number, middle, 1),
    "by_keys": lambda store, number, middle: store.by_keys(number, [f"told{middle}", "none"]),
    "last": lambda store, number, _: store.last(number),
    "events": lambda store, number, middle: store.events(number, middle, 1),
}


def test_a_lookup_costs_the_same_in_a_long_log(store):
    """``about`` used to read the whole log of the bandit."""
    (small, one), (large, two) = made(store, 2)
    store.append(small.number, events_of(one, 10))
    store.append(large.number, events_of(two, 2000))
    for name, lookup in LOOKUPS.items():
        few = steps_of(store, partial(lookup, store, small.number, 5))
        many = steps_of(store, partial(lookup, store, large.number, 1000))
        assert lookup(store, large.number, 1000), name
        assert many <= few + 2, name


def test_so_does_a_lookup_of_what_events_of_several_requests_have(store):
    many, few = made(store, 2)
    for (bandit, last), n_events in ((many, 1000), (few, 10)):
        events = []
        for number in range(1, n_events):
            ids = [f"b-{number}", f"b-{number + 1}"]
            bodies = {
                "decided": {"asks": [{}, {}], "keys": ids},
                "told": {"told": [{"decision": id, "outcomes": {}} for id in ids]},
            }
            kind = "told" if number % 2 else "decided"
            last = seal(last.digest, last.seq + 1, 1.0, kind, None, None, bodies[kind])
            events.append(last)
        store.append(bandit.number, events)
    steps = []
    for bandit, _ in (many, few):
        # The outcomes of decision 6 are in event 6, those of decision 5 as well.
        assert [event.seq for event in store.about(bandit.number, 6)] == [6]
        assert [event.seq for event in store.by_keys(bandit.number, ["b-4", "x"])] == [5]
        assert store.about(bandit.number, 2000) == store.by_keys(bandit.number, ["x"]) == []
        lookups = [partial(store.about, bandit.number, 6)]
        lookups.append(partial(store.by_keys, bandit.number, ["b-4", "x"]))
        steps.append([steps_of(store, lookup) for lookup in lookups])
    assert all(more <= less + 2 for more, less in zip(*steps, strict=True))


def test_a_database_with_two_names_is_not_served(tmp_path):
    """Each name has its own write-ahead log: two servers lost what the other had acknowledged."""
    store = SQLiteStore(tmp_path / "bandits.db")
    (tmp_path / "second.db").hardlink_to(tmp_path / "bandits.db")
    with pytest.raises(StoreError, match="must have one name"):
        SQLiteStore(tmp_path / "second.db")
    store.close()
    with pytest.raises(StoreError, match="hard links give it 2"):
        SQLiteStore(tmp_path / "bandits.db")
    (tmp_path / "second.db").unlink()
    SQLiteStore(tmp_path / "bandits.db").close()


def test_large_events_are_read_one_by_one(store, monkeypatch):
    """A thousand events with a million numbers each used to be read at once."""
    monkeypatch.setattr("superarm.service.log.queries._MOST_READ", 100)
    ((bandit, first),) = made(store, 1)
    last = first
    for size in (10, 10, 500, 10, 90):
        last = seal(last.digest, last.seq + 1, 1.0, "told", 1, None, {"x": "x" * size})
        store.append(bandit.number, [last])
    portions, seq = [], 1
    while some := store.events(bandit.number, seq, 1000):
        portions.append([event.seq for event in some])
        seq = some[-1].seq
    assert portions == [[2, 3], [4], [5], [6]]
    assert len(store.events(bandit.number, 1, 1)) == 1
