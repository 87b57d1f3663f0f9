"""Requests that wait at the same time are decided together, and keep all that is theirs."""

import asyncio
import json
from collections import Counter

import pytest
from scipy.stats import chi2_contingency

import superarm as sa
from serving import client_of, client_on, create, decide, events_of
from superarm.service.bandits.actor import Reply, Waiting
from superarm.service.bandits.changes import Ask
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.operations import MOST_TOGETHER, arranged
from superarm.service.bandits.outcomes import Tell
from superarm.service.bandits.records import outcomes_in
from superarm.service.bandits.replay import fingerprint, replay
from superarm.service.export import export
from superarm.service.http.service import Service
from superarm.service.log.postgres import PostgresStore
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits

N_ARMS = 2100  # so many that samples are drawn in the way that pays


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request, path):
    """A client of a service on each database."""
    if request.param == "sqlite":
        store = SQLiteStore(path)
    else:
        store = PostgresStore(request.getfixturevalue("postgres_database"))
    with client_on(Service(Engine(store), Limits())) as client:
        yield client


class To(Reply):
    """Gives its answer to a function."""

    is_over = False

    def __init__(self, end, *, is_over=False):
        super().__init__(1)
        self.end, self.is_over = end, is_over


def asks(bandit, n, **body):
    return [("POST", f"/v1/bandits/{bandit}/decisions", {"json": body})] * n


def answers(client, requests, status=201):
    made = client.together(requests)
    assert {answer.status_code for answer in made} == {status}
    return [answer.json() for answer in made]


def same_again(path, bandit):
    """Replay the log, also with every decision made again, and compare with what is in memory."""
    store = SQLiteStore(path, "read")
    try:
        row = store.bandit(bandit)
        plain, again = (replay(store, row, {}, decide=decide) for decide in (False, True))
        assert fingerprint(plain.live) == fingerprint(again.live)
        return plain.live
    finally:
        store.close()


def test_each_request_has_its_own_round_and_metadata(path, client):
    bandit = create(client, arms=N_ARMS, k=3, belief="beta")
    with_page = asks(bandit, 1, metadata={"page": "front"})
    made = answers(client, asks(bandit, 20) + with_page + asks(bandit, 20))
    assert sorted(one["round"] for one in made) == list(range(1, 42))
    assert sorted(int(one["id"].split("-")[1]) for one in made) == list(range(1, 42))
    assert [one["metadata"] for one in made if "metadata" in one] == [{"page": "front"}]
    events = [event for event in events_of(client, bandit) if event["kind"] == "decided"]
    assert len(events) < 41
    assert sum(len(event["decisions"]) for event in events) == 41
    # Each is looked up with what was answered, in memory and in lists of the log.
    for one in made[::10] + made[20:21]:
        found = client.get(f"/v1/decisions/{one['id']}").json()
        assert found == {**one, "status": "open", "outcomes": {}}
    listed = client.get(f"/v1/bandits/{bandit}/decisions", params={"limit": 100}).json()
    assert {one["id"]: one for one in listed["decisions"]} == {
        one["id"]: {**one, "status": "open", "outcomes": {}} for one in made
    }
    last = max(made, key=lambda one: one["round"])
    why = client.get(f"/v1/decisions/{last['id']}/explanation").json()
    assert why["complete"]
    assert [reason["arm"] for reason in why["reasons"]] == last["arms"]
    history = client.get(f"/v1/bandits/{bandit}/history", params={"points": 41}).json()
    assert [point["round"] for point in history["points"]] == list(range(1, 42))
    same_again(path, bandit)


@pytest.mark.parametrize("belief", ["beta", "learned_beta"])
def test_a_grouped_log_is_replayed_and_goes_on(path, belief):
    with client_of(path, checkpoint_every=3) as client:
        bandit = create(client, arms=N_ARMS, k=3, belief=belief, seed=3)
        for _ in range(4):
            told = [
                ("POST", f"/v1/decisions/{one['id']}/outcomes", {"json": {"outcomes": outcomes}})
                for one in answers(client, asks(bandit, 12))
                for outcomes in [dict.fromkeys(one["arms"], 1.0)]
            ]
            client.together(told + asks(bandit, 5))
        before = fingerprint(client.app.state.service.engine._actors[bandit].live)
    live = same_again(path, bandit)
    assert fingerprint(live) == before
    assert live.counts[:2] == [68, 68]
    for checkpoints in (True, False):
        with client_of(path, checkpoints=checkpoints) as client:
            answers(client, asks(bandit, 10))
            assert decide(client, bandit)["round"] == live.counts[0] + 11
            live = same_again(path, bandit)


def test_alone_or_together_arms_have_the_same_probabilities(client):
    """3 of 6 arms in 600 decisions each, where one arm is known to be good.

    A test of independence: of 1,000 seeds, one fails.
    """
    counts = []
    for name in ("alone", "together"):
        bandit = create(client, name=name, arms=6, k=3, belief="beta", seed=7)
        first = decide(client, bandit)
        outcomes = {arm: float(arm == first["arms"][0]) for arm in first["arms"]}
        client.post(f"/v1/decisions/{first['id']}/outcomes", json={"outcomes": outcomes})
        if name == "alone":
            made = [decide(client, bandit, n=600)]
            made = made[0]["decisions"]
        else:
            client.app.state.service.engine._actors[bandit].live.session._unlocked.rng.random()
            made = answers(client, asks(bandit, 600))
        counts.append(Counter(arm for one in made for arm in one["arms"]))
    arms = sorted(counts[0])
    assert chi2_contingency([[one[arm] for arm in arms] for one in counts]).pvalue > 0.001


def test_only_requests_above_the_limit_are_refused(path):
    with client_of(path, limits=Limits(open=7)) as client:
        bandit = create(client, arms=50, k=3)
        made = client.together(asks(bandit, 12))
        assert Counter(answer.status_code for answer in made) == {201: 7, 429: 5}
        problem = next(answer.json() for answer in made if answer.status_code == 429)
        assert "got 8" in problem["detail"]
        items = {"decisions": [{"bandit": bandit}] * 3}
        results = client.post("/v1/decisions", json=items).json()["results"]
        assert [one["problem"]["status"] for one in results] == [429] * 3


def test_decisions_expire_by_rounds_as_they_did(client):
    """The twin asks one at a time."""
    found = []
    for name in ("alone", "together"):
        bandit = create(client, name=name, arms=50, k=3, expiry={"after_rounds": 4})
        if name == "alone":
            made = [decide(client, bandit) for _ in range(30)]
        else:
            made = answers(client, asks(bandit, 30))
        numbers = {one["id"]: one["round"] for one in made}
        expired = [event for event in events_of(client, bandit) if event["kind"] == "expired"]
        ids = [id for event in expired for id in event["decisions"]]
        found.append(([numbers[id] for id in ids], events_of(client, bandit)[-1]["counts"]))
    assert found[0] == found[1]
    assert found[0][0] == list(range(1, 26))


def told(made, outcome=1.0):
    return [
        ("POST", f"/v1/decisions/{one['id']}/outcomes", {"json": {"outcomes": outcomes}})
        for one in made
        for outcomes in [dict.fromkeys(one["arms"], outcome)]
    ]


def test_keys_of_requests_that_were_decided_together(either):
    bandit = create(either, arms=50, k=3)
    url = f"/v1/bandits/{bandit}/decisions"
    keyed = [("POST", url, {"headers": {"Idempotency-Key": f"key-{n % 10}"}}) for n in range(30)]
    made = either.together(keyed + asks(bandit, 5))
    assert {answer.status_code for answer in made} == {201}
    # Each key has one decision, and its repetitions say so.
    by_key = [{made[n + step].text for step in (0, 10, 20)} for n in range(10)]
    assert [len(answers) for answers in by_key] == [1] * 10
    replayed = [answer.headers.get("idempotent-replayed") for answer in made]
    assert Counter(replayed) == {None: 15, "true": 20}
    assert either.get(f"/v1/bandits/{bandit}").json()["decisions"] == 15
    grouped = [event for event in events_of(either, bandit) if "asks" in event]
    keys = [key for event in grouped for key in event.get("keys", []) if key]
    assert sorted(keys) == [f"key-{n}" for n in range(10)]
    # Also after the commit, alone and with others, and not with another request.
    again = either.together(keyed[:3] + asks(bandit, 3))
    assert [answer.text for answer in again[:3]] == [answer.text for answer in made[:3]]
    header = {"headers": {"Idempotency-Key": "key-4"}}
    assert either.post(url, **header).text == made[4].text
    other = either.together([("POST", url, {"json": {"metadata": {"page": 1}}, **header})] * 2)
    assert [answer.json()["type"] for answer in other] == ["urn:superarm:key-taken"] * 2


def test_outcomes_that_come_together(either):
    """Each is answered, refused, logged and looked up as if it had come alone."""
    bandit = create(either, arms=50, k=3, keep=0, expiry={"after_rounds": 100})
    made = answers(either, asks(bandit, 20))
    part = {made[0]["arms"][0]: 0.5}
    wrong = [
        ("POST", f"/v1/decisions/{id}/outcomes", {"json": {"outcomes": outcomes}})
        for id, outcomes in [
            (made[0]["id"], part),
            (made[0]["id"], {made[0]["arms"][0]: 1.0}),
            (made[1]["id"], {"nobody": 1.0}),
            (f"{bandit}-99", {"1": 1.0}),
            (made[0]["id"], {**part, made[0]["arms"][1]: 0.0}),
        ]
    ]
    found = either.together(wrong + told(made[2:]) + told(made[2:4]))
    assert [answer.status_code for answer in found] == [200, 409, 422, 404, 200] + [200] * 20
    assert [answer.json()["new"] for answer in (found[0], found[4], *found[5:])] == [
        made[0]["arms"][:1],
        made[0]["arms"][1:2],
        *(one["arms"] for one in made[2:]),
        [],
        [],
    ]
    assert {answer.json()["status"] for answer in found[5:]} == {"told"}
    grouped = [event for event in events_of(either, bandit) if event["kind"] == "told"]
    assert len(grouped) < 20
    assert sum(len(event.get("told", [event])) for event in grouped) == 20
    assert grouped[-1]["counts"]["told"] == 18
    # The outcomes of closed decisions are in the log alone (keep).
    for one in made[2::5]:
        known = either.get(f"/v1/decisions/{one['id']}").json()
        assert known["outcomes"] == dict.fromkeys(one["arms"], 1.0)
        again = either.together(told([one]) + told([one], 0.0))
        assert [answer.status_code for answer in again] == [200, 409]
    listed = either.get(f"/v1/bandits/{bandit}/decisions", params={"status": "told"}).json()
    assert [len(one["outcomes"]) for one in listed["decisions"]] == [3] * 18
    assert either.get(f"/v1/decisions/{made[0]['id']}").json()["outcomes"] == {
        made[0]["arms"][0]: 0.5,
        made[0]["arms"][1]: 0.0,
    }


@pytest.mark.parametrize("belief", ["beta", "learned_beta"])
def test_outcomes_together_teach_what_they_teach_alone(client, belief):
    """Bit for bit, also outcomes that are drawn as coins."""
    states = []
    for name in ("alone", "together"):
        bandit = create(client, name=name, arms=50, k=3, seed=4, belief=belief)
        made = [decide(client, bandit) for _ in range(12)]
        requests = told(made[:6], 0.3) + told(made[6:], 1.0)
        if name == "together":
            answers(client, requests, 200)
        else:
            for request in requests:
                answers(client, [request], 200)
        session = client.app.state.service.engine._actors[bandit].live.session
        states.append((session.policy.belief.state(), session.mark()))
    assert states[0] == states[1]


def test_the_members_of_removed_events_are_removed(path):
    """Purging a bandit leaves no row of it, and those of others stay."""
    with client_of(path) as client:
        gone, stays = (create(client, name=name, arms=50, k=3) for name in ("gone", "stays"))
        for bandit in (gone, stays):
            url = f"/v1/bandits/{bandit}/decisions"
            keyed = [("POST", url, {"headers": {"Idempotency-Key": f"{n}"}}) for n in range(4)]
            answers(client, told(answers(client, keyed)), 200)
        store = client.app.state.service.engine.store
        count = "SELECT (SELECT count(*) FROM told), (SELECT count(*) FROM asked)"
        assert store._read(count) == [(8, 8)]
        deleted = client.delete(f"/v1/bandits/{gone}", params={"name": "gone"})
        assert deleted.status_code == 204
    store = SQLiteStore(path)
    for number in store.to_purge():
        store.purge(number)
    assert store._read(count) == [(4, 4)]
    store.close()


def test_outcomes_go_first_and_other_operations_keep_their_places():
    reply = Reply(1)

    def waiting(operation, place):
        return Waiting(operation, reply, place)

    def ask(place, key=None, **asked):
        return waiting(Ask(asked, key, float, Limits()), place)

    def tell(place):
        return waiting(Tell("b-1", {}, float), place)

    batch = [
        ask(0),
        tell(1),
        ask(2, metadata=1),
        waiting(print, 3),
        ask(4),
        ask(5, n=2),
        ask(6, key="once"),
        ask(7),
        tell(8),
    ]
    assert [one.place for one in arranged(batch)] == [1, 0, 2, 3, 4, 5, 8, 6, 7]


def test_a_client_that_has_left_gets_no_decision(client):
    bandit = create(client, arms=50, k=3)
    engine = client.app.state.service.engine

    async def play():
        given, loop = [], asyncio.get_running_loop()
        done = loop.create_future()
        gone = [To(given.append, is_over=True) for _ in range(2)]
        here = [To(given.append) for _ in range(4)]
        here.append(To(done.set_result))
        for reply in (here[0], gone[0], *here[1:3], gone[1], *here[3:]):
            engine.start([(bandit, Ask({}, None, engine.clock, Limits()))], reply)
        await done

    client.run(play())
    assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 5


def test_repetitions_are_looked_up_at_once(client, monkeypatch):
    """However many come together, the log is read once for all of them."""
    bandit = create(client, arms=50, k=3)
    items = {"decisions": [{"bandit": bandit, "key": f"key-{n}"} for n in range(20)]}
    first = client.post("/v1/decisions", json=items).json()["results"]
    n_reads, by_keys = [], SQLiteStore.by_keys
    monkeypatch.setattr(SQLiteStore, "by_keys", lambda *args: n_reads.append(1) or by_keys(*args))
    again = client.post("/v1/decisions", json=items).json()["results"]
    assert [one["answer"] for one in again] == [one["answer"] for one in first]
    assert all(one["replayed"] for one in again)
    assert len(n_reads) == 1


def test_events_of_many_requests_are_not_too_long(client):
    """Who looks for one of the decisions reads all of the event."""
    bandit = create(client, arms=50, k=3)
    made = client.post("/v1/decisions", json={"decisions": [{"bandit": bandit}] * 300}).json()
    decisions = [one["answer"] for one in made["results"]]
    items = [{"decision": one["id"], "outcomes": {one["arms"][0]: 1.0}} for one in decisions]
    client.post("/v1/outcomes", json={"outcomes": items})
    sizes = [
        len(event.get("asks") or event.get("told") or ()) for event in events_of(client, bandit)
    ]
    assert max(sizes) == MOST_TOGETHER
    assert sum(sizes) == 600


def test_checkpoints_come_after_so_many_requests(path):
    """A killed server has as much to repeat as with single requests, however large the events."""
    with client_of(path, checkpoint_every=100) as client:
        bandit = create(client, arms=50, k=3)
        client.post("/v1/decisions", json={"decisions": [{"bandit": bandit}] * 99})
        client.get(f"/v1/bandits/{bandit}")  # comes after the checkpoint was begun
        engine = client.app.state.service.engine
        engine.checkpoints.wait()
        row = engine.store.bandit(bandit)
        meta = json.loads(engine.store.checkpoint(row.number).meta)
        assert meta["seq"] == engine.store.last(row.number).seq == 2


def test_outcomes_are_found_in_an_event_of_many_decisions(client):
    """As by parsing all of it, also if names of arms look like parts of events."""
    names = ["decision", '{"decision":"b-1","outcomes":', '","outcomes":{}', "told", "ä\\"]
    bandit = create(client, arms=names, k=2)
    made = [decide(client, bandit) for _ in range(12)]
    answers(client, told(made), 200)
    body = client.app.state.service.engine.store.last(1).body
    for one in json.loads(body)["told"]:
        assert outcomes_in(body, one["decision"]) == one["outcomes"]
    assert outcomes_in(body, f"{bandit}-99") == {}


def test_logs_of_several_requests_are_read_by_other_programs(tmp_path):
    """As Parquet files, and as lines for off-policy estimates: as if each had come alone."""
    import duckdb  # here: a module that keeps it makes it complain at the end of the process

    columns = "number, round, status, place, arm, value, outcome, propensity"
    found = []
    for name in ("alone", "together"):

        def sent(requests, status, name=name):
            groups = [[one] for one in requests] if name == "alone" else [requests]
            return [one for group in groups for one in answers(client, group, status)]

        with client_of(tmp_path / f"{name}.db") as client:
            bandit = create(client, arms=20, k=2, belief="beta", seed=6)
            shares = [decide(client, bandit, propensities=20) for _ in range(3)]
            made = sent(asks(bandit, 6), 201)
            sent(told(shares, 0.5) + told(made, 1.0), 200)
            lines = client.get(f"/v1/bandits/{bandit}/log").text.splitlines()
        store = SQLiteStore(tmp_path / f"{name}.db", "read")
        export(store, store.bandits(1)[0], tmp_path / name)
        store.close()
        files = duckdb.read_parquet(f"{tmp_path / name}/**/*.parquet")
        rows = files.project(columns).order("number, place").fetchall()
        assert len(rows) == 9 * 2
        found.append((rows, sa.offpolicy.Log.from_events(lines).rows()))
    assert found[0] == found[1]
