"""Propensities over HTTP: sampled, logged, kept over restarts, and read back as a `Log`."""

import json
import threading

import numpy as np
import pytest

import superarm as sa
from serving import client_of, create, events_of
from superarm.catalog import Part
from superarm.service.bandits import parts
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits


def ask(client, bandit, key=None, **body):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(f"/v1/bandits/{bandit}/decisions", json=body, headers=headers)


def tell(client, decision, *outcomes):
    told = dict(zip(decision["arms"], outcomes, strict=False))
    assert client.post(
        f"/v1/decisions/{decision['id']}/outcomes", json={"outcomes": told}
    ).is_success


@pytest.mark.parametrize("checkpoints", [True, False])
def test_they_are_logged_and_kept(tmp_path, checkpoints):
    path = tmp_path / "bandits.db"
    with client_of(path) as client:
        bandit = create(client, seed=1)
        decision = ask(client, bandit, "once", propensities=50).json()
        assert (len(decision["propensities"]), decision["n_samples"]) == (
            2,
            51,
        )  # the decision itself is one
        assert 0 < decision["set_propensity"] <= min(decision["propensities"]) <= 1.0
        batch = ask(client, bandit, n=2, propensities=50).json()["decisions"]
        assert [one["n_samples"] for one in batch] == [51, 51]
        assert "propensities" not in ask(client, bandit).json()
        logged = events_of(client, bandit)[1]["decisions"][0]
        assert logged["propensities"] == decision["propensities"]
    with client_of(path, checkpoints=checkpoints, limits=Limits(samples=0)) as client:
        known = client.get(f"/v1/decisions/{decision['id']}").json()
        assert known == {**decision, "status": "open", "outcomes": {}}
        assert (
            ask(client, bandit, "once", propensities=50).json() == decision
        )  # a retry draws nothing
        assert ask(client, bandit, "once", propensities=51).status_code == 409
    store = SQLiteStore(path, "read")
    (found,) = (replay(store, one, {}) for one in store.bandits(10))
    store.close()
    assert found.same or not checkpoints
    assert found.live.session.decision(decision["id"]).propensities == tuple(
        decision["propensities"]
    )


def test_the_same_is_decided_with_and_without(client):
    """Propensities do not move the generator, so later decisions are the same, too."""
    bandits = [
        create(client, name=name, seed=3, oracle="lazy_singletons") for name in ("with", "without")
    ]
    for _ in range(10):
        one, other = ask(client, bandits[0], propensities=7).json(), ask(client, bandits[1]).json()
        assert (one["arms"], one["values"]) == (other["arms"], other["values"])
        tell(client, one, 1.0, 0.0)
        tell(client, other, 1.0, 0.0)
    spent = [client.get(f"/v1/bandits/{bandit}").json()["evaluations"] for bandit in bandits]
    assert spent[0] == spent[1]


BAD = ["0", "-1", "1e9", "1e999", "1.5", "NaN", "Infinity", '"50"', "true", "[5]", "101"]


@pytest.mark.parametrize("text", BAD)
def test_bad_values_are_refused_and_change_nothing(tmp_path, text):
    with client_of(tmp_path / "bandits.db", limits=Limits(samples=100)) as client:
        bandit = create(client)
        body = f'{{"propensities": {text}}}'.encode()
        path = f"/v1/bandits/{bandit}/decisions"
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "propensities" in answer.json()["detail"]
        assert len(events_of(client, bandit)) == 1


def test_the_limit_is_of_a_request(tmp_path):
    with client_of(tmp_path / "bandits.db", limits=Limits(samples=100)) as client:
        bandit = create(client)
        assert ask(client, bandit, n=2, propensities=50).status_code == 201
        refused = ask(client, bandit, n=3, propensities=50)
        assert refused.status_code == 422
        assert (
            "at most 100 samples per request here, for all its decisions, got 150"
            in refused.json()["detail"]
        )
        assert refused.json()["fix"].endswith("--most-samples")


class Locked(sa.Singletons):
    """An oracle that cannot be copied."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_what_cannot_be_copied_is_refused(client, monkeypatch):
    monkeypatch.setitem(parts.ORACLES, "random_sets", Part("random_sets", "Locked", Locked, ""))
    bandit = create(client, oracle="random_sets")
    refused = ask(client, bandit, propensities=5)
    assert refused.status_code == 422
    assert "ask without propensities" in refused.json()["detail"]
    assert ask(client, bandit).json()["id"] == f"{bandit}-1"


def history(client):
    """The events of a bandit, with every kind of event, and its decisions with propensities."""
    bandit = create(client, belief="beta", seed=2, expiry={"after_rounds": 3, "missing": 0.0})
    ask(client, bandit)
    one, two = ask(client, bandit, n=2, propensities=20).json()["decisions"]
    tell(client, two, 1.0)
    three = ask(client, bandit, k=1, propensities=20).json()
    tell(client, two, 1.0, 0.5)
    client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"], "prior": [50.0, 1.0]})
    client.delete(f"/v1/bandits/{bandit}/arms/ant")
    four = ask(client, bandit, must=["eel"], propensities=20).json()
    tell(client, three, 0.75)
    ask(client, bandit)
    tell(client, four, 0.25, 1.0)
    ask(client, bandit)
    return events_of(client, bandit), [one, two, three, four]


def test_logs_of_events(client, tmp_path):
    events, made = history(client)
    kinds = {"created", "decided", "told", "arms_added", "arms_retired", "expired"}
    assert {event["kind"] for event in events} == kinds
    log = sa.offpolicy.Log.from_events(events)
    assert log.names == ("ant", "bee", "cat", "dog", "eel")
    outcomes = [[None, None], [1.0, 0.5], [0.75], [0.25, 1.0]]  # the first has expired
    wanted = [
        {name: one[name] for name in ("arms", "propensities", "set_propensity", "n_samples")}
        | {"outcomes": told}
        for one, told in zip(made, outcomes, strict=True)
    ]
    assert log.rows() == wanted
    changed = max(event["seq"] for event in events if event["kind"].startswith("arms"))
    assert sa.offpolicy.Log.from_events(events, after=changed).rows() == wanted[3:]

    lines = [json.dumps(event) for event in events]
    assert sa.offpolicy.Log.from_events(lines).rows() == wanted
    assert sa.offpolicy.Log.from_events(line.encode() for line in lines).rows() == wanted
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n\n")
    assert (
        sa.offpolicy.Log.from_events(path).rows()
        == sa.offpolicy.Log.from_events(str(path)).rows()
        == wanted
    )


def test_arms_by_number_have_names_as_the_service_has_them(client):
    bandit = create(client, arms=12, k=1)
    ask(client, bandit, propensities=5)
    log = sa.offpolicy.Log.from_events(events_of(client, bandit))
    assert log.names == tuple(map(str, range(12)))
    assert np.isnan(log.outcomes).all()


def without(events, number):
    return [event for event in events if event["seq"] != number]


BAD_LOGS = {
    "nothing": (lambda events: [], "decisions with propensities after event 0, got none"),
    "none": (lambda events: events[:2], "got none; ask the service for them"),
    "not from the start": (lambda events: events[1:], "got seq 2 as event 1; read the whole log"),
    "a gap": (lambda events: without(events, 4), "got seq 5 as event 4"),
    "twice": (lambda events: events + events[-1:], "one after the other"),
    "two bandits": (
        lambda events: [*events, {**events[-1], "bandit": "other"}],
        "of one bandit, got",
    ),
    "no event": (lambda events: [{"arms": ["a"]}], "event 1 must be one of a service's log"),
    "no object": (lambda events: [5], "event 1 must be one of a service's log, got 5"),
    "null": (
        lambda events: [{**events[0], "spec": None}],
        "event 1 must be one of a service's log",
    ),
    "not JSON": (lambda events: [json.dumps(events[0]), "{"], "line 2 must be JSON"),
    "a list": (lambda events: ["[]"], "line 1 must be a JSON object"),
    "not UTF-8": (lambda events: [b"\xff\xfe{"], "line 1 must be JSON"),
    "another arm": (
        lambda events: [*events[:3], {**events[3], "outcomes": {"zebra": 1.0}}],
        "must tell of the arms .* got an outcome of 'zebra'",
    ),
    "a bad outcome": (
        lambda events: [
            *events[:3],
            {**events[3], "outcomes": dict.fromkeys(events[3]["outcomes"], 2.0)},
        ],
        "outcomes must be in",
    ),
}


@pytest.mark.parametrize("name", BAD_LOGS)
def test_bad_logs_are_refused(client, name):
    events, _ = history(client)
    change, says = BAD_LOGS[name]
    with pytest.raises(ValueError, match=says):
        sa.offpolicy.Log.from_events(change(events))


@pytest.mark.parametrize("after", [-1, 1.5, "3"])
def test_bad_places_are_refused(after):
    with pytest.raises((ValueError, TypeError), match="after must be"):
        sa.offpolicy.Log.from_events([], after=after)
