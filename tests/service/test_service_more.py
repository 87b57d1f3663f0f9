"""Idempotency, batches, expiry, stories, metrics: the service beyond its first steps."""

import json

import pytest

from serving import client_of, create, events_of, play
from superarm.service.bandits import engine
from superarm.service.http import bandit_routes


@pytest.fixture
def client(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        yield client


class Time:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


def test_the_same_key_gets_the_same_decision(client):
    bandit = create(client)
    path, headers = (
        f"/v1/bandits/{bandit}/decisions",
        {"Idempotency-Key": "order 66".replace(" ", "-")},
    )
    first = client.post(path, headers=headers)
    again = client.post(path, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    batch = client.post(path, json={"n": 2}, headers={"Idempotency-Key": "batch"}).json()
    assert client.post(path, json={"n": 2}, headers={"Idempotency-Key": "batch"}).json() == batch
    other = client.post(path, json={"n": 3}, headers={"Idempotency-Key": "batch"})
    assert other.status_code == 409
    assert client.post(path, headers={"Idempotency-Key": "ä".encode("latin-1")}).status_code == 400
    assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 3


def test_the_same_key_at_the_same_moment(client):
    bandit = create(client)
    ask = ("POST", f"/v1/bandits/{bandit}/decisions", {"headers": {"Idempotency-Key": "once"}})
    answers = client.together([ask] * 20)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert [event["kind"] for event in events_of(client, bandit)] == ["created", "decided"]


def test_the_key_is_known_after_a_restart(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client)
        path, headers = f"/v1/bandits/{bandit}/decisions", {"Idempotency-Key": "once"}
        first = client.post(path, headers=headers).json()
    with client_of(tmp_path / "bandits.db") as client:
        assert client.post(path, headers=headers).json() == first


def test_many_at_once_are_committed_together(client):
    bandit = create(client, arms=50, k=3)
    answers = client.together([("POST", f"/v1/bandits/{bandit}/decisions", {})] * 100)
    ids = [answer.json()["id"] for answer in answers]
    assert len(set(ids)) == 100
    told = client.together(
        [
            (
                "POST",
                f"/v1/decisions/{one.json()['id']}/outcomes",
                {"json": {"outcomes": {one.json()["arms"][0]: 1.0}}},
            )
            for one in answers
            for _ in range(2)
        ]
    )
    assert sum(len(answer.json()["new"]) for answer in told) == 100
    metrics = client.get("/metrics").text
    assert 'superarm_events_total{kind="told"} 100.0' in metrics
    commits = next(
        float(line.split()[1])
        for line in metrics.splitlines()
        if line.startswith("superarm_commit_events_count")
    )
    assert commits < 200
    assert 'route="/v1/bandits/{id}/decisions",status="201"} 100.0' in metrics


def test_where_decisions_are_slow_each_is_committed_and_answered(client, monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_S", 0.0)
    bandit = create(client)
    answers = client.together([("POST", f"/v1/bandits/{bandit}/decisions", {})] * 10)
    assert len({answer.json()["id"] for answer in answers}) == 10
    assert "superarm_commit_events_count 10.0" in client.get("/metrics").text


def test_decisions_expire_by_the_clock(tmp_path):
    clock = Time()
    with client_of(tmp_path / "bandits.db", clock=clock) as client:
        bandit = create(client, expiry={"after_s": 60.0, "missing": 0.0})
        first = client.post(f"/v1/bandits/{bandit}/decisions").json()
        clock.now += 59
        second = client.post(f"/v1/bandits/{bandit}/decisions").json()
        clock.now += 2
        tell = f"/v1/decisions/{first['id']}/outcomes"
        assert client.post(tell, json={"outcomes": {first["arms"][0]: 1.0}}).status_code == 410
        assert client.get(f"/v1/decisions/{first['id']}").json()["status"] == "expired"
        assert client.get(f"/v1/decisions/{second['id']}").json()["status"] == "open"
        kinds = [event["kind"] for event in events_of(client, bandit)]
        assert kinds == ["created", "decided", "decided", "expired"]
        state = client.get(f"/v1/bandits/{bandit}").json()
        assert (state["open"], state["expired"], state["told"]) == (1, 1, 0)
        assert sum(row["b"] for row in state["posterior"]) == 4 + 2  # two arms counted as 0


def test_a_clock_that_jumps_back_does_no_harm(tmp_path):
    clock = Time()
    with client_of(tmp_path / "bandits.db", clock=clock) as client:
        bandit = create(client, expiry={"after_s": 60.0})
        client.post(f"/v1/bandits/{bandit}/decisions")
        clock.now -= 900
        client.post(f"/v1/bandits/{bandit}/decisions")
        clock.now += 930
        client.post(f"/v1/bandits/{bandit}/decisions")
        times = [event["time"] for event in events_of(client, bandit)]
        assert times == [1000.0, 1000.0, 1000.0, 1030.0]
        assert client.get(f"/v1/bandits/{bandit}").json()["open"] == 3
    with client_of(tmp_path / "bandits.db", clock=clock, checkpoints=False) as client:
        clock.now = 1070.0
        client.post(f"/v1/bandits/{bandit}/decisions")
        assert client.get(f"/v1/bandits/{bandit}").json()["expired"] == 2


def test_feedback_for_decisions_that_memory_has_forgotten(client):
    bandit = create(client, keep=1, expiry={"after_rounds": 3})
    decisions = []
    for number in range(8):
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        decisions.append(decision)
        if number % 2:
            outcomes = {"outcomes": dict.fromkeys(decision["arms"], 1.0)}
            assert (
                client.post(f"/v1/decisions/{decision['id']}/outcomes", json=outcomes).status_code
                == 200
            )
    told, expired = decisions[1], decisions[0]
    path = f"/v1/decisions/{told['id']}/outcomes"
    again = client.post(path, json={"outcomes": dict.fromkeys(told["arms"], 1.0)})
    assert again.json() == {"id": told["id"], "new": [], "status": "told"}
    assert client.post(path, json={"outcomes": {told["arms"][0]: 0.0}}).status_code == 409
    assert client.post(path, json={"outcomes": {"zebra": 0.0}}).status_code == 422
    late = client.post(
        f"/v1/decisions/{expired['id']}/outcomes", json={"outcomes": {expired["arms"][0]: 1.0}}
    )
    assert late.status_code == 410
    assert client.get(f"/v1/decisions/{expired['id']}").json() == {
        **expired,
        "status": "expired",
        "outcomes": {},
    }
    assert client.get(f"/v1/decisions/{bandit}-99").status_code == 404


def test_decisions_are_listed_newest_first(client):
    bandit = create(client)
    client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 3})
    play(client, bandit, 9)
    path = f"/v1/bandits/{bandit}/decisions"

    def numbers(**params):
        found, before = [], None
        while True:
            page = client.get(
                path, params={**params, "limit": 2, **({"before": before} if before else {})}
            ).json()
            found += [int(one["id"].split("-")[1]) for one in page["decisions"]]
            before = page["next"]
            if before is None:
                return found

    assert numbers() == list(range(12, 0, -1))
    assert numbers(status="open") == [12, 8, 4, 3, 2, 1]
    assert numbers(status="told") == [11, 10, 9, 7, 6, 5]
    assert numbers(status="expired") == []
    assert client.get(path, params={"status": "lost"}).status_code == 422


def test_a_decision_is_explained(client):
    bandit = create(client, explain_last=2, oracle="singletons")
    path = f"/v1/bandits/{bandit}/decisions"
    decisions = [client.post(path).json() for _ in range(4)]
    newest = client.get(f"/v1/decisions/{decisions[-1]['id']}/explanation").json()
    assert newest["complete"]
    assert {reason["arm"] for reason in newest["reasons"]} == set(decisions[-1]["arms"])
    assert newest["best_left_out"]["arm"] not in decisions[-1]["arms"]
    assert "sampled" in newest["text"]
    oldest = client.get(f"/v1/decisions/{decisions[0]['id']}/explanation").json()
    assert not oldest["complete"]
    assert sorted(reason["value"] for reason in oldest["reasons"]) == sorted(decisions[0]["values"])


def test_the_history_is_that_of_the_log(client):
    bandit = create(client, reward="any_success", oracle="singletons")
    play(client, bandit, 30)
    history = client.get(f"/v1/bandits/{bandit}/history", params={"points": 10}).json()
    points, described = (
        history["points"],
        client.get("/openapi.json").json()["components"]["schemas"]["HistoryPoint"],
    )
    assert history["estimate_is"] in " ".join(described["description"].split())
    assert len(points) == 10
    assert [points[0]["round"], points[-1]["round"]] == [1, 30]
    assert [point["evaluations"] for point in points] == [4 * point["round"] for point in points]
    assert points[0]["estimate"] is None  # round 1 was never told
    assert any(point["estimate"] is not None for point in points)
    assert client.get(f"/v1/bandits/{create(client, name='new')}/history").json()["points"] == []


def test_the_log_goes_on_from_an_event(client):
    bandit = create(client)
    play(client, bandit, 5)
    every = events_of(client, bandit)
    assert [event["seq"] for event in every] == list(range(1, len(every) + 1))
    assert events_of(client, bandit, after=4) == every[4:]
    assert "mark" not in json.dumps(every)


def test_a_log_is_whole_also_while_the_server_stops(client, monkeypatch):
    bandit = create(client)
    play(client, bandit, 5)
    every = events_of(client, bandit)
    monkeypatch.setattr(bandit_routes, "_EVENTS_PER_READ", 2)
    client.app.state.service.closing = lambda: True
    assert events_of(client, bandit) == every
    assert events_of(client, bandit, after=3) == every[3:]
    assert events_of(client, bandit, follow=True) == []


def test_a_log_ends_where_it_ended_when_it_was_asked_for(client, monkeypatch):
    bandit = create(client)
    play(client, bandit, 5)
    every, store = events_of(client, bandit), client.app.state.service.engine.store
    monkeypatch.setattr(
        store, "last", lambda number: store.events(number, 0, 3)[-1]
    )  # the others came later
    assert events_of(client, bandit) == every[:3]
    assert events_of(client, bandit, after=9) == []


def test_bandits_leave_memory_and_come_back(tmp_path):
    with client_of(tmp_path / "bandits.db", most_loaded=2) as client:
        bandits = [create(client, name=f"bandit {number}") for number in range(5)]
        for _ in range(3):
            answers = client.together(
                [("POST", f"/v1/bandits/{bandit}/decisions", {}) for bandit in bandits] * 2
            )
            assert {answer.status_code for answer in answers} == {201}
        for bandit in bandits:
            play(client, bandit, 2)
            assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 8
        metrics = client.get("/metrics").text.splitlines()
        loaded = next(line for line in metrics if line.startswith("superarm_bandits_loaded "))
        assert float(loaded.split()[1]) <= 3


def test_everything_answered_is_described(client):
    description = client.get("/openapi.json").json()
    assert set(description["paths"]["/v1/decisions/{id}/outcomes"]["post"]["responses"]) >= {
        "200",
        "409",
        "410",
        "422",
    }
    refs = set(_refs(description))
    assert refs
    for ref in refs:
        assert ref.split("/")[-1] in description["components"]["schemas"], ref


def _refs(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def test_a_batch_is_read_once_however_many_look_at_it(client, monkeypatch):
    bandit = create(client)
    for _ in range(3):
        client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 500})
    store, n_read = client.app.state.service.engine.store, []
    read = store.decided_before
    monkeypatch.setattr(store, "decided_before", lambda *args: n_read.append(args) or read(*args))
    points = client.get(f"/v1/bandits/{bandit}/history?points=200").json()["points"]
    assert len(points) == 200
    assert [points[0]["round"], points[-1]["round"]] == [1, 3]
    assert len(n_read) == 3
    n_read.clear()
    assert len(client.get(f"/v1/bandits/{bandit}/decisions?limit=1000").json()["decisions"]) == 1000
    assert len(n_read) == 1
