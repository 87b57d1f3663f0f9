"""Many decisions or outcomes in one request: each as a request of its own, each with its result."""

import json

import pytest

import superarm.client as sc
from serving import client_of, create, events_of


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("bulk") / "bandits.db"


@pytest.fixture(scope="module")
def client(path):
    with client_of(path) as client:
        yield client


def post(client, path, members):
    answer = client.post(path, json=members)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_one_by_one_or_all_at_once_is_the_same(client):
    """Two bandits with the same seed get the same decisions, and learn the same.

    So it is for few arms and this belief. Others draw several samples in another way: same law.
    """
    twins = [create(client, name=f"twin {n}", seed=5, belief="beta") for n in range(2)]
    alone, together = twins
    made = [client.post(f"/v1/bandits/{alone}/decisions", json={}).json() for _ in range(5)]
    results = post(client, "/v1/decisions", {"decisions": [{"bandit": together}] * 5})
    assert [one["answer"]["arms"] for one in results] == [one["arms"] for one in made]
    told = []
    for one, other in zip(made, results, strict=True):
        outcomes = dict.fromkeys(one["arms"], 1.0)
        client.post(f"/v1/decisions/{one['id']}/outcomes", json={"outcomes": outcomes})
        told.append({"decision": other["answer"]["id"], "outcomes": outcomes})
    for one in post(client, "/v1/outcomes", {"outcomes": told}):
        assert one["answer"]["status"] == "told"

    def known(bandit):
        state = client.get(f"/v1/bandits/{bandit}", params={"top": 4}).json()
        return state["posterior"], events_of(client, bandit)[-1]["counts"]

    assert known(together) == known(alone)


def test_a_problem_of_one_is_no_problem_of_the_others(client):
    bandit = create(client, name="mixed")
    results = post(
        client,
        "/v1/decisions",
        {"decisions": [{"bandit": "nobody"}, {"bandit": bandit}, {"bandit": bandit, "k": 999}]},
    )
    assert [one.get("problem", {}).get("status") for one in results] == [404, None, 422]
    made = results[1]["answer"]
    arm = made["arms"][0]
    items = [
        {"decision": "what?", "outcomes": {"a": 1.0}},
        {"decision": made["id"], "outcomes": {arm: 1.0}},
        {"decision": made["id"], "outcomes": {arm: 0.0}},
        {"decision": made["id"], "outcomes": {arm: 1.0}},
    ]
    results = post(client, "/v1/outcomes", {"outcomes": items})
    assert [one.get("problem", {}).get("status") for one in results] == [404, None, 409, None]
    assert [one["answer"]["new"] for one in (results[1], results[3])] == [[arm], []]


def test_the_same_key_gets_the_same_decision(client):
    item = {"bandit": create(client, name="keys"), "key": "k1"}
    first, second = post(client, "/v1/decisions", {"decisions": [item, item]})
    assert {**first, "replayed": True} == second
    assert post(client, "/v1/decisions", {"decisions": [item]}) == [second]


def test_json_lines(client):
    bandit = create(client, name="lines")
    lines = "\n".join(json.dumps({"bandit": bandit, "k": k}) for k in (1, 2)) + "\n\n"
    headers = {"Content-Type": "application/x-ndjson"}
    answer = client.post("/v1/decisions", content=lines, headers=headers)
    assert [len(one["answer"]["arms"]) for one in answer.json()["results"]] == [1, 2]
    broken = lines.replace("\n", "\n\n", 1) + "not JSON"
    answer = client.post("/v1/decisions", content=broken, headers=headers)
    assert answer.status_code == 400
    assert "at line 5 column" in answer.json()["detail"]  # blank lines count
    # Only where many are taken.
    one = client.post(f"/v1/bandits/{bandit}/decisions", content="{}", headers=headers)
    assert one.status_code == 415


@pytest.mark.parametrize(
    ("at", "members"),
    [
        ("/v1/decisions", {"decisions": []}),
        ("/v1/decisions", {"decisions": [{"bandit": "x"}] * 10_001}),
        ("/v1/decisions", {"decisions": [{"bandit": "x"}], "more": 1}),
        ("/v1/decisions", {"outcomes": [{"k": 1}]}),
        ("/v1/outcomes", {"outcomes": {"decision": "x", "outcomes": {"a": 2.0}}}),
        ("/v1/outcomes", [{"decision": "x", "outcomes": {"a": 1.0}}]),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(client, at, members):
    assert client.post(at, json=members).status_code == 422


def test_an_item_that_does_not_fit_is_a_problem_of_its_own(client):
    """Of both routes, as a list or as lines. The other items are carried out."""
    bandit = create(client, name="misfits", arms=["a", "b"], k=2)
    items = [
        {"k": 1},
        {"bandit": bandit},
        {"bandit": "x", "key": "a b"},
        None,
        {"bandit": bandit, "colour": 1},
    ]
    results = post(client, "/v1/decisions", {"decisions": items})
    problems = [one["problem"] for one in results if "problem" in one]
    assert [one["status"] for one in problems] == [422] * 4
    assert [one["detail"] for one in problems[:3]] == [
        "bandit is missing",
        "key must be 1 to 200 visible ASCII characters, got 'a b'",
        "the item must be an object, got None",
    ]
    assert problems[3]["detail"].startswith("colour is unknown: known members are n, k,")
    told = [
        {"decision": results[1]["answer"]["id"], "outcomes": outcomes}
        for outcomes in ({"a": 2}, {"a": 1}, {"b": "1"})
    ]
    headers = {"Content-Type": "application/x-ndjson"}
    lines = "\n".join(map(json.dumps, told))
    answer = client.post("/v1/outcomes", content=lines, headers=headers)
    high, fits, text = answer.json()["results"]
    assert high["problem"]["errors"] == [
        {"at": "outcomes.a", "detail": "must be at most 1", "got": "2"}
    ]
    assert fits["answer"]["new"] == ["a"]
    assert text["problem"]["detail"] == "outcomes.b must be a number, got '1'"
    assert len(events_of(client, bandit)) == 3  # made, decided, told


def test_the_client_asks_and_tells_many(client):
    bandit = create(client, name="python")

    def call(verb):
        """The verb of the Python client, on this server."""
        request = next(verb)
        answer = client.post(request.path, json=request.body)
        with pytest.raises(StopIteration) as ended:
            verb.send(answer.json())
        return ended.value.value

    first, second, refused = call(
        sc.bulk_verbs.ask_all([(bandit, {}), (bandit, {"k": 1}), (bandit, {"k": 999})])
    )
    assert isinstance(refused, sc.InvalidError)
    assert len(second.arms) == 1
    told = call(
        sc.bulk_verbs.tell_all([(first, {first.arms[0]: 1.0}), (second.id, {"no arm of it": 1.0})])
    )
    assert told[0] == (first.arms[0],)
    assert isinstance(told[1], sc.ProblemError)
    for nothing in (sc.bulk_verbs.ask_all([]), sc.bulk_verbs.tell_all([])):
        with pytest.raises(StopIteration) as ended:
            next(nothing)
        assert ended.value.value == []
