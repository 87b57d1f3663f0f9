"""Ranked decisions and a belief about places, over HTTP."""

import json

import pytest

from serving import client_of, create, decide, tell
from superarm.beliefs import PositionBiasedBelief

ARMS = ["ant", "bee", "cat", "dog"]
BELIEF = {"kind": "position_biased", "weights": [1.0, 0.5]}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("places") / "bandits.db") as client:
        yield client


def test_decisions_are_ranked_everywhere(client):
    """In the answer, in lists, in explanations and in the log."""
    bandit = create(client, name="ranked", seed=1)
    made = decide(client, bandit)
    assert made["ranked"] is True
    assert made["values"] == sorted(made["values"], reverse=True)
    listed = client.get(f"/v1/bandits/{bandit}/decisions").json()["decisions"][0]
    assert (listed["arms"], listed["ranked"]) == (made["arms"], True)
    found = client.get(f"/v1/decisions/{made['id']}/explanation").json()
    assert [reason["arm"] for reason in found["reasons"]] == made["arms"]
    assert made["arms"] in [
        one["arms"]
        for line in client.get(f"/v1/bandits/{bandit}/log").text.splitlines()
        for one in json.loads(line).get("decisions", [])
    ]


def test_the_belief_learns_the_place_of_each_arm(client):
    """Also if the second place is told first: as if every list was told at once."""
    bandit = create(client, name="places", seed=1, belief=BELIEF)
    twin = PositionBiasedBelief(4, BELIEF["weights"])
    for t in range(6):
        arms = decide(client, bandit)["arms"]
        outcomes = [float(t % 2), float(t % 3 == 0)]
        id = client.get(f"/v1/bandits/{bandit}/decisions").json()["decisions"][0]["id"]
        tell(client, id, {arms[1]: outcomes[1]})
        tell(client, id, {arms[0]: outcomes[0]})
        twin.update([ARMS.index(arm) for arm in arms], outcomes, rng=None)
    posterior = client.get(f"/v1/bandits/{bandit}").json()["posterior"]
    found = {row["arm"]: row["mean"] for row in posterior}
    assert found == pytest.approx(dict(zip(ARMS, twin.mean().tolist(), strict=True)))


def test_a_list_that_is_read_until_a_click(client):
    """That the third was not clicked is told before the click above it."""
    bandit = create(client, name="cascade", seed=1, k=3, belief={"kind": "cascading"})
    made = decide(client, bandit)
    first, second, third = made["arms"]
    for outcomes, means in (
        ({third: 0.0}, {third: 1 / 3}),
        ({second: 1.0}, {second: 2 / 3, third: 0.5}),  # nobody looked at the third
        ({first: 0.0}, {first: 1 / 3, second: 2 / 3, third: 0.5}),
    ):
        tell(client, made["id"], outcomes)
        posterior = client.get(f"/v1/bandits/{bandit}").json()["posterior"]
        found = {row["arm"]: row["mean"] for row in posterior}
        assert found == pytest.approx({**dict.fromkeys(ARMS, 0.5), **means})


@pytest.mark.parametrize(
    ("belief", "says"),
    [
        ({"kind": "position_biased"}, "weights must be given"),
        ({**BELIEF, "weights": [1.0]}, "at most 1 arms, one for each place"),
        ({**BELIEF, "weights": [1.0, 2.0]}, "weights"),
        ({**BELIEF, "weights": [0.5] * 101}, "at most 100 places"),
    ],
)
def test_weights_are_checked(client, belief, says):
    body = {"name": "bad", "arms": ARMS, "k": 2, "belief": belief}
    answer = client.post("/v1/bandits", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
