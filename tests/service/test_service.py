"""The service, asked in this process."""

import json

import pytest

import superarm as sa
from serving import client_of, create, events_of, play
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore


@pytest.fixture
def client(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        yield client


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


def test_whole_numbers_may_have_a_point(client):
    body = b'{"name": "x", "arms": 4.0, "k": 2.0, "seed": 1.0}'
    answer = client.post("/v1/bandits", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["n_arms"]) == (201, 4)
    half = client.post(f"/v1/bandits/{answer.json()['id']}/decisions", json={"n": 1.5})
    assert half.status_code == 422


def test_it_decides_as_the_library_does(client):
    bandit = create(client, seed=7)
    policy = sa.Policy(sa.BetaBelief(4), sa.TopK(), sa.LinearReward(4), 2)
    session = sa.Session(policy, ["ant", "bee", "cat", "dog"], seed=7)
    for round_ in range(20):
        served, own = client.post(f"/v1/bandits/{bandit}/decisions", json={}).json(), session.ask()
        assert served["arms"] == list(own.arms)
        assert served["values"] == list(own.values)
        outcomes = dict.fromkeys(own.arms, 0.25 * (round_ % 5))
        session.tell(own, outcomes)
        client.post(f"/v1/decisions/{served['id']}/outcomes", json={"outcomes": outcomes})
    state = client.get(f"/v1/bandits/{bandit}").json()
    assert {row["arm"]: row["a"] for row in state["posterior"]} == dict(
        zip(session.names, session.policy.belief.a.tolist(), strict=True)
    )


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
    assert (
        client.post(path, json={"must": ["dog"], "must_not": ["bee"]}).json()["arms"][-1] == "dog"
    )
    assert client.post(path, json={"available": ["ant", "cat"]}).json()["arms"] == ["ant", "cat"]
    assert client.post(path, json={"k": 3, "groups": [{"arms": ["ant", "bee"], "most": 1}]}).json()[
        "arms"
    ][-2:] == [
        "cat",
        "dog",
    ]
    heavy = {"weights": {"ant": 2.0, "bee": 2.0}, "capacity": 1.0}
    assert client.post(path, json=heavy).json()["arms"] == ["cat", "dog"]
    clash = client.post(path, json={"must": ["dog"], "must_not": ["dog"]})
    assert clash.status_code == 422
    assert "clash" in clash.json()["detail"]
    assert client.post(path, json={"must": ["zebra"]}).status_code == 422
    batch = client.post(path, json={"n": 3}).json()["decisions"]
    assert [one["id"] for one in batch] == [f"{bandit}-{number}" for number in (5, 6, 7)]


def test_arms_come_and_go(client):
    bandit = create(client)
    path = f"/v1/bandits/{bandit}/arms"
    assert client.post(path, json={"arms": ["eel", "eel"], "prior": [5.0, 1.0]}).json()[
        "added"
    ] == ["eel"]
    assert client.delete(f"{path}/ant").json()["retired"] == ["ant"]
    assert client.delete(f"{path}/ant").json()["retired"] == []
    assert client.post(path, json={"arms": ["ant", "bee"]}).json()["restored"] == ["ant"]
    assert client.delete(f"{path}/zebra").status_code == 404
    for name in ("ant", "bee", "cat"):
        assert client.delete(f"{path}/{name}").status_code == 200
    assert client.delete(f"{path}/dog").status_code == 409
    state = client.get(f"/v1/bandits/{bandit}").json()
    assert state["retired"] == ["ant", "bee", "cat"]
    assert client.post(f"/v1/bandits/{bandit}/decisions").json()["arms"] == ["dog", "eel"]


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


BAD = {
    "not JSON": (b"{", 400),
    "deep": (b'{"name":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
    "no name": (b'{"arms": 3, "k": 1}', 422),
    "a number for a name": (b'{"name": 3, "arms": 3, "k": 1}', 422),
    "NUL": (b'{"name": "a\\u0000b", "arms": 3, "k": 1}', 422),
    "half a surrogate": (b'{"name": "a\\ud800b", "arms": 3, "k": 1}', 400),
    "k too large": (b'{"name": "x", "arms": 3, "k": 4}', 422),
    "huge k": (b'{"name": "x", "arms": 3, "k": 1' + b"0" * 400 + b"}", 422),
    "twice the same arm": (b'{"name": "x", "arms": ["a", "a"], "k": 1}', 422),
    "another member": (b'{"name": "x", "arms": 3, "k": 1, "colour": "red"}', 422),
    "unknown belief": (b'{"name": "x", "arms": 3, "k": 1, "belief": "beta; drop"}', 422),
    "unknown parameter": (
        b'{"name": "x", "arms": 3, "k": 1, "belief": {"kind": "beta", "colour": 1}}',
        422,
    ),
    "infinite prior": (b'{"name": "x", "arms": 3, "k": 1, "prior": [1e999, 1]}', 422),
    "NaN": (b'{"name": "x", "arms": 3, "k": 1, "prior": [NaN, 1]}', 422),
    "NaN in a reward": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [NaN, 1]}}',
        422,
    ),
    "huge weight": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [1e999, 1]}}',
        422,
    ),
    "reward of others": (
        b'{"name": "x", "arms": 2, "k": 1, "reward": {"name": "linear", "weights": [1]}}',
        422,
    ),
    "top k of what is no sum": (
        b'{"name": "x", "arms": 3, "k": 1, "reward": "any_success", "oracle": "top_k"}',
        422,
    ),
    "an oracle in itself": (
        b'{"name": "x", "arms": 3, "k": 1, "oracle": '
        + b'{"kind": "rarely", "when": 2, "oracle": ' * 9
        + b'"top_k"'
        + b"}" * 10,
        422,
    ),
    "an oracle without its parameter": (
        b'{"name": "x", "arms": 3, "k": 1, "oracle": "group_testing"}',
        422,
    ),
    "negative seed": (b'{"name": "x", "arms": 3, "k": 1, "seed": -1}', 422),
}


@pytest.mark.parametrize(("raw", "status"), BAD.values(), ids=BAD)
def test_bad_bodies_are_refused_and_change_nothing(client, raw, status):
    answer = client.post("/v1/bandits", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert "Traceback" not in answer.text
    assert client.get("/v1/bandits").json()["bandits"] == []


def test_what_is_not_there(client):
    assert client.get("/v1/bandits/aaaaaaaaaa").status_code == 404
    assert client.post("/v1/bandits/aaaaaaaaaa/decisions").status_code == 404
    assert client.get("/v1/nothing").json()["status"] == 404
    refused = client.put("/v1/bandits")
    assert (refused.json()["status"], refused.headers["allow"]) == (405, "GET, POST")
    assert client.put(f"/v1/bandits/{create(client)}/decisions").headers["allow"] == "GET, POST"
    text = client.post("/v1/bandits", content=b"name=x", headers={"content-type": "text/plain"})
    assert text.json()["status"] == 415


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"reward": "any_success"},
        {"belief": {"kind": "discounted", "discount": 0.9}},
        {"belief": {"kind": "sliding", "window": 5}},
        {"belief": "gaussian", "oracle": "singletons"},
        {"belief": "ucb", "oracle": "greedy"},
        {"belief": "kl_ucb"},
        {"belief": "mean", "oracle": {"kind": "epsilon_random", "oracle": "top_k", "epsilon": 0.3}},
        {"belief": "single_seed", "oracle": "lazy_greedy"},
        {"oracle": {"kind": "rarely", "oracle": "lazy_singletons", "when": 3}},
        {"oracle": {"kind": "group_testing", "delta": 0.25, "n_tests": 20}},
        {
            "oracle": {
                "kind": "group_testing",
                "delta": 0.25,
                "n_tests": 20,
                "decoder": "regression",
            }
        },
        {"oracle": {"kind": "local_search", "start": "greedy"}},
        {"oracle": "random_sets"},
        {"oracle": "exhaustive"},
        {"reward": {"name": "coverage", "reach": [[1, 0], [0, 1], [1, 1], [0.5, 0.5]]}},
        {"reward": {"name": "network", "W1": [[1.0, 2.0, 0.5, 1.0]], "w2": [1.0]}},
        {"expiry": {"after_rounds": 2, "missing": 0.25, "late": "ignore"}},
    ],
    ids=lambda parts: json.dumps(parts)[:60],
)
def test_every_part_is_the_same_after_a_restart(tmp_path, parts):
    path = tmp_path / "bandits.db"
    with client_of(path) as client:
        bandit = create(client, seed=5, **parts)
        play(client, bandit, 15)
        before = client.get(f"/v1/bandits/{bandit}").json()
        log = events_of(client, bandit)
    with client_of(path, checkpoints=False) as client:
        assert client.get(f"/v1/bandits/{bandit}").json() == before
        assert events_of(client, bandit) == log
        play(client, bandit, 5)
    store = SQLiteStore(path, "read")
    forgets = parts.get("oracle", {}) and "regression" in str(
        parts["oracle"]
    )  # its weights began anew without one
    found = replay(store, store.bandit(bandit), {}, decide=not forgets)
    store.close()
    assert found.same
