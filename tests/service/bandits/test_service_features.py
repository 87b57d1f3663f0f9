"""Features of arms over HTTP: those of a new bandit, and those of arms added later."""

import pytest

from serving import create, decide, events_of, play, tell

ARMS = ["ant", "bee", "cat", "dog"]
FEATURES = [[0.0, 1.5], [1.0, -0.5], [1.0, 2.0], [0.0, 0.25]]


def test_features_by_name_are_those_in_order(client):
    by_name = dict(zip(ARMS[::-1], FEATURES[::-1], strict=True))
    sets = []
    for name, features in (("rows", FEATURES), ("names", by_name)):
        bandit = create(client, name=name, seed=2, belief="linear", features=features)
        play(client, bandit, 20)
        sets.append([event.get("decisions") for event in events_of(client, bandit)])
        (created, *_) = events_of(client, bandit)
        assert created["spec"]["features"] == FEATURES
        assert client.get(f"/v1/bandits/{bandit}").json()["spec"]["features"] == 2
    first, second = ([[one["values"] for one in some or ()] for some in each] for each in sets)
    assert first == second


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"features": FEATURES},
            "for the beliefs linear and logistic, got some for 'learned_beta'",
        ),
        ({"belief": "beta", "features": FEATURES}, "got some for 'beta'"),
        ({"belief": {"name": "linear"}, "features": FEATURES}, "got some for None"),
        ({"belief": {"name": "linear"}}, "belief must be one that is known, got None"),
        ({"belief": "linear", "features": FEATURES[:3]}, "each of 4 arms, got 3 rows"),
        ({"belief": "linear", "features": [*FEATURES[:3], [1.0]]}, "same length, got 1 and 2"),
        ({"belief": "linear", "features": {"ant": [1.0]}}, "every arm, got none of 'bee'"),
        (
            {"belief": "linear", "features": {arm: [1.0] for arm in [*ARMS, "eel"]}},
            "of the arms, got some of 'eel'",
        ),
        ({"belief": {"kind": "linear", "features": FEATURES}}, "got 'features'"),
        ({"belief": {"kind": "linear", "context": 0}}, "context"),
        ({"belief": {"kind": "linear", "context": "two"}}, "context"),
        ({"belief": {"kind": "linear", "context": 1000}}, "at most 1,000 columns"),
        ({"belief": {"kind": "linear", "context": 2, "structure": "round"}}, "structure must be"),
        ({"belief": {"kind": "linear", "structure": "shared"}}, "without a context"),
        ({"belief": {"kind": "linear", "context": 900}, "arms": 2000}, "at most 100,000,000"),
        ({"belief": "linear", "prior": [1.0, 1.0]}, "got 'prior'"),
        ({"belief": "linear", "features": [[1e7, 1.0]] * 4}, ""),
        ({"belief": "linear", "features": [[]] * 4}, ""),
    ],
)
def test_features_that_do_not_fit_are_refused(client, body, words):
    answer = client.post("/v1/bandits", json={"name": "a", "arms": ARMS, "k": 2, **body})
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["detail"]


def test_new_arms_start_from_their_features(client):
    bandit = create(
        client,
        arms=40,
        k=10,
        seed=1,
        belief="linear",
        features=[[float(arm % 2)] for arm in range(40)],
    )
    for _ in range(12):
        made = decide(client, bandit)
        tell(client, made["id"], {arm: float(int(arm) % 2) for arm in made["arms"]})
    new = {"arms": ["good", "bad", "average"], "features": [[1.0], [0.0], [0.5]]}
    assert client.post(f"/v1/bandits/{bandit}/arms", json=new).status_code == 200
    assert client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["nothing known"]}).is_success
    rows = client.get(f"/v1/bandits/{bandit}", params={"top": 100}).json()["posterior"]
    means = {row["arm"]: row["mean"] for row in rows}
    assert means["good"] > means["average"] > means["bad"]
    assert means["nothing known"] == pytest.approx(means["average"])


def test_features_of_new_arms_that_do_not_fit_are_refused(client):
    bandit = create(client, seed=1, belief="linear", features=FEATURES)
    url = f"/v1/bandits/{bandit}/arms"
    for body, words in (
        ({"arms": ["eel"], "features": [[1.0]]}, "shape (1, 2)"),
        ({"arms": ["eel"], "features": [[1.0, 2.0]] * 2}, "each of 1 arms, got 2 rows"),
        ({"arms": ["eel"], "features": {"fox": [1.0, 2.0]}}, "got none of 'eel'"),
        ({"arms": ["eel"], "features": [[1.0, 2.0]], "prior": [1.0, 1.0]}, "got both"),
        ({"arms": ["eel"], "prior": [1.0, 1.0]}, "cannot be added"),
    ):
        answer = client.post(url, json=body)
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
    assert len(events_of(client, bandit)) == 1
    other = create(client, name="other")
    body = {"arms": ["eel"], "features": [[1.0]]}
    refused = client.post(f"/v1/bandits/{other}/arms", json=body)
    assert "for the beliefs linear and logistic" in refused.json()["detail"]


def test_adding_with_a_key_gives_the_first_answer_for_the_same_features_only(client):
    bandit = create(client, seed=1, belief="linear", features=FEATURES)
    url, headers = f"/v1/bandits/{bandit}/arms", {"Idempotency-Key": "monday"}
    body = {"arms": ["ant", "eel"], "features": {"eel": [1.0, 2.0], "ant": [9.0, 9.0]}}
    first = client.post(url, json=body, headers=headers).json()
    assert first["added"] == ["eel"]
    assert client.post(url, json=body, headers=headers).json() == first
    body["features"]["eel"] = [0.0, 0.0]
    assert client.post(url, json=body, headers=headers).status_code == 409
    assert events_of(client, bandit)[-1]["features"] == [[1.0, 2.0]]
