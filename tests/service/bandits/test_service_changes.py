"""Decisions and outcomes: idempotent, with constraints, late, and expired."""

import logging

import numpy as np
import pytest

import superarm as sa
from serving import client_of, create, events_of
from superarm.service.bandits import engine
from superarm.service.metrics import ClockWatch


class Time:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


def test_a_bandit_decides_and_learns(client):
    bandit = create(client, seed=1)
    decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
    assert decision["id"] == f"{bandit}-1"
    assert len(decision["arms"]) == 2
    told = client.post(
        f"/v1/decisions/{decision['id']}/outcomes", json={"outcomes": {decision["arms"][0]: 1.0}}
    )
    assert told.json() == {"id": decision["id"], "new": [decision["arms"][0]], "status": "open"}
    state = client.get(f"/v1/bandits/{bandit}").json()
    assert (state["open"], state["told"], state["events"]) == (1, 0, 3)
    assert state["posterior"][0]["arm"] == decision["arms"][0]
    assert (state["posterior"][0]["a"], state["posterior"][0]["b"]) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("given", "make", "options"),
    [
        ({}, sa.thompson, {}),
        ({"prior": "learned"}, sa.thompson, {}),
        ({"prior": "flat"}, sa.thompson, {"prior": "flat"}),
        ({"prior": [1, 9]}, sa.thompson, {"prior": (1, 9)}),
        ({"belief": "beta"}, sa.cts, {}),
        ({"belief": "beta", "prior": "flat"}, sa.cts, {}),
        ({"belief": "beta", "prior": [1, 9]}, sa.cts, {"prior": (1, 9)}),
        ({"belief": "beta", "prior": "learned"}, sa.cts, {"prior": "learned"}),
    ],
)
def test_it_decides_as_the_library_does(client, given, make, options):
    bandit = create(client, seed=7, **given)
    policy = make(sa.LinearReward(4), 2, oracle=sa.TopK(), **options)
    session = sa.Session(policy, ["ant", "bee", "cat", "dog"], seed=7)
    for round_ in range(20):
        served, own = client.post(f"/v1/bandits/{bandit}/decisions", json={}).json(), session.ask()
        assert served["arms"] == list(own.arms)
        assert served["values"] == list(own.values)
        outcomes = dict.fromkeys(own.arms, 0.25 * (round_ % 5))
        session.tell(own, outcomes)
        client.post(f"/v1/decisions/{served['id']}/outcomes", json={"outcomes": outcomes})
    state = client.get(f"/v1/bandits/{bandit}").json()
    posterior = session.policy.belief.posterior(np.arange(4))
    assert {row["arm"]: row["a"] for row in state["posterior"]} == dict(
        zip(session.names, posterior.a.tolist(), strict=True)
    )
    assert sorted(row["mean"] for row in state["posterior"]) == sorted(posterior.mean().tolist())
    assert all(row["low"] < row["mean"] < row["high"] for row in state["posterior"])


def test_outcomes_are_idempotent_and_conflicts_refused(client):
    bandit = create(client)
    decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
    path, arm = f"/v1/decisions/{decision['id']}/outcomes", decision["arms"][0]
    assert client.post(path, json={"outcomes": {arm: 1.0}}).json()["new"] == [arm]
    assert client.post(path, json={"outcomes": {arm: 1.0}}).json()["new"] == []
    conflict = client.post(path, json={"outcomes": {arm: 0.0}})
    assert conflict.status_code == 409
    assert conflict.headers["content-type"] == "application/problem+json"
    assert (
        client.post("/v1/decisions/nothing-1/outcomes", json={"outcomes": {"x": 1}}).status_code
        == 404
    )
    assert client.post(path, json={"outcomes": {"zebra": 1.0}}).status_code == 422
    assert len(events_of(client, bandit)) == 3


def test_constraints_by_name(client):
    bandit = create(client, seed=1)
    path = f"/v1/bandits/{bandit}/decisions"
    arms = client.post(path, json={"must": ["dog"], "must_not": ["bee"]}).json()["arms"]
    assert sorted(arms)[-1] == "dog"
    arms = client.post(path, json={"available": ["ant", "cat"]}).json()["arms"]
    assert sorted(arms) == ["ant", "cat"]
    groups = [{"arms": ["ant", "bee"], "most": 1}]
    arms = client.post(path, json={"k": 3, "groups": groups}).json()["arms"]
    assert sorted(arms)[-2:] == ["cat", "dog"]
    heavy = {"weights": {"ant": 2.0, "bee": 2.0}, "capacity": 1.0}
    assert sorted(client.post(path, json=heavy).json()["arms"]) == ["cat", "dog"]
    clash = client.post(path, json={"must": ["dog"], "must_not": ["dog"]})
    assert clash.status_code == 422
    assert "clash" in clash.json()["detail"]
    assert client.post(path, json={"must": ["zebra"]}).status_code == 422
    batch = client.post(path, json={"n": 3}).json()["decisions"]
    assert [one["id"] for one in batch] == [f"{bandit}-{number}" for number in (5, 6, 7)]


def test_the_same_name_again(client):
    first = create(client, seed=3)
    assert create(client, seed=3) == first
    again = client.post("/v1/bandits", json={"name": "canteen", "arms": 5, "k": 2})
    assert again.status_code == 409
    assert len(client.get("/v1/bandits").json()["bandits"]) == 1


def test_bandits_are_listed_in_pages(client):
    ids = [create(client, name=f"bandit {number}") for number in range(5)]
    first = client.get("/v1/bandits", params={"limit": 3}).json()
    rest = client.get("/v1/bandits", params={"limit": 3, "after": first["next"]}).json()
    assert [one["id"] for one in first["bandits"] + rest["bandits"]] == ids
    assert rest["next"] is None


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


def test_the_key_is_known_after_a_restart(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client)
        path, headers = f"/v1/bandits/{bandit}/decisions", {"Idempotency-Key": "once"}
        first = client.post(path, headers=headers).json()
    with client_of(tmp_path / "bandits.db") as client:
        assert client.post(path, headers=headers).json() == first


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


def test_a_clock_that_jumps_back_does_no_harm_and_is_reported(tmp_path, caplog, monkeypatch):
    clock = Time()
    monkeypatch.setattr(engine, "ClockWatch", lambda: ClockWatch(clock))
    caplog.set_level(logging.WARNING, "superarm.service")
    with client_of(tmp_path / "bandits.db", clock=clock) as client:
        bandit = create(client, expiry={"after_s": 60.0})
        client.post(f"/v1/bandits/{bandit}/decisions")
        clock.now -= 900
        client.post(f"/v1/bandits/{bandit}/decisions")
        clock.now += 930
        client.post(f"/v1/bandits/{bandit}/decisions")
        jumps = [
            record.fields["seconds"]
            for record in caplog.records
            if record.message == "clock_jumped"
        ]
        assert [round(seconds, -1) for seconds in jumps] == [-900, 930]
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
