"""Requests that add and retire arms, their idempotency keys, and decisions with no arms."""

import pytest

from serving import client_of, create, events_of
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore


def keyed(key):
    return {"Idempotency-Key": key}


def kinds(client, bandit):
    return [event["kind"] for event in events_of(client, bandit)]


def test_a_late_repeat_of_an_addition_brings_nothing_back(path):
    with client_of(path) as client:
        bandit = create(client, belief="beta")
        url = f"/v1/bandits/{bandit}/arms"
        client.delete(f"{url}/ant")
        body = {"arms": ["eel", "ant", "bee"], "prior": [2.0, 1.0]}
        first = client.post(url, json=body, headers=keyed("one"))
        assert first.json() == {
            "added": ["eel"],
            "restored": ["ant"],
            "retired": [],
            "n_arms": 5,
            "n_retired": 0,
        }
        client.delete(f"{url}/eel")
        client.delete(f"{url}/ant")
        before = kinds(client, bandit)
        again = client.post(url, json=body, headers=keyed("one"))
        assert (again.status_code, again.json()) == (200, first.json())
        assert kinds(client, bandit) == before
        assert set(client.get(f"/v1/bandits/{bandit}").json()["retired"]) == {"ant", "eel"}
    with client_of(path, checkpoints=False) as client:  # a key is known after a start, too
        assert client.post(url, json=body, headers=keyed("one")).json() == first.json()
        assert client.post(url, json=body, headers=keyed("two")).json()["restored"] == [
            "eel",
            "ant",
        ]
    store = SQLiteStore(path, "read")
    assert replay(store, store.bandit(bandit), {}, decide=True).same
    store.close()


def test_a_late_repeat_of_a_retirement_retires_nothing(path):
    with client_of(path) as client:
        bandit = create(client)
        url = f"/v1/bandits/{bandit}/arms"
        first = client.delete(f"{url}/ant", headers=keyed("one"))
        assert first.json() == {
            "added": [],
            "restored": [],
            "retired": ["ant"],
            "n_arms": 4,
            "n_retired": 1,
        }
        client.post(url, json={"arms": ["ant"]})
        assert client.delete(f"{url}/ant", headers=keyed("one")).json() == first.json()
        assert client.get(f"/v1/bandits/{bandit}").json()["retired"] == []
        assert client.delete(f"{url}/ant", headers=keyed("x" * 201)).status_code == 400


def test_a_key_is_of_one_request(path):
    with client_of(path) as client:
        bandit = create(client)
        url = f"/v1/bandits/{bandit}"
        assert (
            client.post(f"{url}/arms", json={"arms": ["eel"]}, headers=keyed("one")).status_code
            == 200
        )
        assert (
            client.post(f"{url}/arms", json={"arms": ["fox"]}, headers=keyed("one")).status_code
            == 409
        )
        assert client.delete(f"{url}/arms/eel", headers=keyed("one")).status_code == 409
        assert client.post(f"{url}/decisions", headers=keyed("one")).status_code == 409
        assert client.post(f"{url}/decisions", headers=keyed("two")).status_code == 201
        assert client.delete(f"{url}/arms/eel", headers=keyed("two")).status_code == 409
        assert kinds(client, bandit) == ["created", "arms_added", "decided"]
        added = events_of(client, bandit)[1]
        assert (added["key"], added["arms"]) == ("one", ["eel"])
        assert "again" not in added


def test_the_same_key_at_the_same_time(path):
    with client_of(path) as client:
        bandit = create(client)
        request = (
            "POST",
            f"/v1/bandits/{bandit}/arms",
            {"json": {"arms": ["eel"]}, "headers": keyed("one")},
        )
        answers = client.together([request] * 5)
        assert [answer.json()["added"] for answer in answers] == [["eel"]] * 5
        assert kinds(client, bandit) == ["created", "arms_added"]


@pytest.mark.parametrize("keep", [0, 10])
def test_a_decision_of_no_arms_has_nothing_to_wait_for(path, keep):
    with client_of(path) as client:
        bandit = create(client, keep=keep)
        heavy = dict.fromkeys(["ant", "bee", "cat", "dog"], 2.0)
        body = {"n": 2, "at_most": True, "weights": heavy, "capacity": 1.0}
        decisions = client.post(f"/v1/bandits/{bandit}/decisions", json=body).json()["decisions"]
        assert [one["arms"] for one in decisions] == [[], []]
        client.post(f"/v1/bandits/{bandit}/decisions")
        state = client.get(f"/v1/bandits/{bandit}").json()
        assert (state["decisions"], state["open"], state["told"]) == (3, 1, 2)
        assert client.get(f"/v1/decisions/{decisions[0]['id']}").json()["status"] == "told"
    store = SQLiteStore(path, "read")
    assert replay(store, store.bandit(bandit), {}, decide=True).same
    assert replay(store, store.bandit(bandit), {}).same
    store.close()


def test_a_prior_that_is_learned_is_that_of_new_arms(client):
    path = f"/v1/bandits/{create(client)}/arms"
    refused = client.post(path, json={"arms": ["eel"], "prior": [5.0, 1.0]})
    assert refused.status_code == 422
    assert "has no prior for each arm" in refused.json()["detail"]
    assert "new arms start from the learned prior" in refused.json()["detail"]
    assert client.post(path, json={"arms": ["eel"]}).json()["added"] == ["eel"]


def test_arms_come_and_go(client):
    bandit = create(client, belief="beta")
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
    arms = client.post(f"/v1/bandits/{bandit}/decisions").json()["arms"]
    assert sorted(arms) == ["dog", "eel"]


@pytest.mark.parametrize(
    "reward",
    [
        {"name": "linear", "weights": [1, 2, 3, 4]},
        {"name": "network", "W1": [[0.1] * 4] * 2, "w2": [1, 1]},
    ],
    ids=lambda reward: reward["name"],
)
def test_a_reward_with_parameters_for_each_arm_takes_no_more_arms(path, reward):
    with client_of(path) as client:
        bandit = create(client, reward=reward)
        answer = client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["eel"]})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("arms cannot be added: reward")
        assert "another bandit" in answer.json()["fix"]
        assert kinds(client, bandit) == ["created"]
