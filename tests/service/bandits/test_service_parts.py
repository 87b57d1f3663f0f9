"""What bandits are made of: the catalog, and rewards of the operator."""

import json

import pytest

import superarm as sa
from serving import client_of, create, events_of, play
from superarm import catalog
from superarm.service import server
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"reward": "any_success"},
        {"belief": {"kind": "discounted", "discount": 0.9}},
        {"belief": {"kind": "sliding", "window": 5}},
        {"belief": {"kind": "sliding", "window": 9, "shared": 0.8}},
        {"belief": {"kind": "discounted", "shared": 1.0}},
        {"belief": {"kind": "gaussian", "shared": 0.5}},
        {"belief": {"kind": "flat_gaussian", "set_size": 2, "boost": 1.5, "shared": 0.5}},
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
        assert len(before["posterior"]) == before["n_arms"]
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


def test_a_reward_of_your_own(path, tmp_path, monkeypatch):
    (tmp_path / "shop_rewards.py").write_text(
        "import numpy as np\n"
        "import superarm as sa\n"
        "calls = 0\n"
        "def square(n_arms, power=2.0):\n"
        "    def value(arms, means):\n"
        "        global calls\n"
        "        calls += 1\n"
        "        if calls % 50 == 49:\n"
        "            raise RuntimeError('secret insides')\n"
        "        return float(np.sum(means ** power))\n"
        "    options = {'lipschitz': power, 'upper': float(n_arms), 'monotone': True}\n"
        "    return sa.BlackBox(value, n_arms=n_arms, **options)\n"
    )
    monkeypatch.chdir(tmp_path)
    own = server.own_rewards("shop_rewards")
    assert set(own) == {"square"}
    with client_of(path, own=own) as client:
        bandit = create(
            client, reward={"name": "square", "power": 3.0}, oracle="singletons", seed=3
        )
        statuses = []
        for number in range(40):
            answer = client.post(f"/v1/bandits/{bandit}/decisions")
            statuses.append(answer.status_code)
            assert "secret" not in answer.text
            if answer.status_code == 201:
                one = answer.json()
                outcomes = {"outcomes": dict.fromkeys(one["arms"], 0.25 * (number % 4))}
                assert (
                    client.post(f"/v1/decisions/{one['id']}/outcomes", json=outcomes).status_code
                    == 200
                )
        assert {201, 500} == set(statuses)
        state = client.get(f"/v1/bandits/{bandit}").json()
        assert state["told"] == statuses.count(201)
        bad = client.post(
            "/v1/bandits",
            json={"name": "x", "arms": 3, "k": 1, "reward": {"name": "square", "wings": 2}},
        )
        assert bad.status_code == 422
    store = SQLiteStore(path, "read")
    assert replay(store, store.bandit(bandit), own).same
    store.close()
    with client_of(path) as client:  # without the module the bandit cannot be loaded, and says so
        assert client.get(f"/v1/bandits/{bandit}").status_code == 500
        assert len(events_of(client, bandit)) == state["events"]
    with pytest.raises(server.StartError, match="no_such_module"):
        server.own_rewards("no_such_module")


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_what_a_reward_of_your_own_says_is_not_for_clients(path, error, caplog):
    def leaky(n_arms, at_once=False):
        def value(arms, means):
            raise error("cannot read /srv/secret")

        if at_once:
            value(None, None)
        return sa.BlackBox(value, n_arms=n_arms, lipschitz=1.0, upper=float(n_arms), monotone=True)

    with client_of(path, own={"leaky": leaky}) as client:
        bandit = create(client, reward="leaky", oracle="singletons")
        failed = client.post(f"/v1/bandits/{bandit}/decisions")
        assert failed.status_code == 500
        reward = {"name": "leaky", "at_once": True}
        refused = client.post(
            "/v1/bandits", json={"name": "x", "arms": 3, "k": 1, "reward": reward}
        )
        assert refused.status_code == 422
        assert "secret" not in failed.text + refused.text
        assert caplog.text.count(f"{error.__name__}: cannot read /srv/secret") == 2


def test_every_part_of_the_catalog_is_offered(client):
    parts = client.get("/v1/parts").json()
    for kind, offered in (
        ("beliefs", catalog.BELIEFS),
        ("oracles", catalog.ORACLES),
        ("rewards", catalog.REWARDS),
    ):
        names = sorted(name for name, part in offered.items() if part.over_http)
        if kind == "beliefs":  # the recommended one comes first
            names = ["learned_beta", *(name for name in names if name != "learned_beta")]
        assert [part["name"] for part in parts[kind]] == names
    (sliding,) = (part for part in parts["beliefs"] if part["name"] == "sliding")
    assert sliding["label"] == "SlidingBetaBelief"
    (window,) = (one for one in sliding["parameters"] if one["name"] == "window")
    assert (window["kind"], window["required"], window["default"]) == ("int", False, 1000)
    assert (window["least"], window["most"]) == (1, 1_000_000)
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    described = schemas["CreateBody"]["properties"]["belief"]["anyOf"][0]["enum"]
    assert described == sorted(part["name"] for part in parts["beliefs"])


def test_rewards_of_the_operator_are_offered(path):
    with client_of(path, own={"basket": sa.LinearReward}) as client:
        rewards = client.get("/v1/parts").json()["rewards"]
    assert rewards[-1]["name"] == "basket"
    assert rewards[-1]["parameters"] == []


def parameters_of(parts):
    return [(part["name"], one) for part in parts for one in part["parameters"]]


def test_values_beyond_the_limits_of_the_catalog_are_refused(client):
    parts = client.get("/v1/parts").json()
    n_refused = 0
    for kind in ("belief", "oracle"):
        for name, parameter in parameters_of(parts[f"{kind}s"]):
            values = [end for end in (parameter["least"], parameter["most"]) if end is not None]
            beyond = [*([values[0] - 1] if values else []), *[end + 1 for end in values[1:]]]
            for value in beyond:
                given = {"kind": name, "oracle": "top_k", parameter["name"]: value}
                given = given if kind == "oracle" and name in NESTED else without(given, "oracle")
                body = {"name": "x", "arms": 3, "k": 1, kind: {**REQUIRED.get(name, {}), **given}}
                refused = client.post("/v1/bandits", json=body)
                assert refused.status_code == 422, (name, parameter["name"], value)
                assert parameter["name"] in refused.json()["detail"]
                n_refused += 1
    assert n_refused > 20
    assert client.get("/v1/bandits").json()["bandits"] == []


def test_huge_numbers_are_refused(client):
    parts = client.get("/v1/parts").json()
    huge, n_refused = 10**400, 0
    for kind in ("belief", "oracle"):
        for name, parameter in parameters_of(parts[f"{kind}s"]):
            value = [huge, 1] if parameter["kind"] == "pair" else huge
            given = {"kind": name, "oracle": "top_k", parameter["name"]: value}
            given = given if kind == "oracle" and name in NESTED else without(given, "oracle")
            body = {"name": "x", "arms": 3, "k": 1, kind: {**REQUIRED.get(name, {}), **given}}
            refused = client.post("/v1/bandits", json=body)
            assert refused.status_code == 422, (name, parameter["name"])
            n_refused += parameter["name"] in refused.json()["detail"]
    assert n_refused > 50
    assert client.get("/v1/bandits").json()["bandits"] == []


NESTED = ("epsilon_random", "rarely")
REQUIRED = {
    "group_testing": {"delta": 0.25},
    "position_biased": {"weights": [1.0]},
    "rarely": {"when": 2},
}


def without(members, name):
    return {key: value for key, value in members.items() if key != name}
