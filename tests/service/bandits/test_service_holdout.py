"""Hold-outs over HTTP: in the spec, in answers and the log, kept over restarts and replays."""

import httpx
import pytest

import superarm as sa
from serving import client_of, create, events_of
from superarm.client import Client, Retries, ServerError
from superarm.service.bandits.replay import replay
from superarm.service.log.sqlite import SQLiteStore

ARMS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A database with one bandit, its id, and its 24 decisions; the outcomes are 1 and 0."""
    path = tmp_path_factory.mktemp("holdout") / "bandits.db"
    with client_of(path) as client:
        bandit = create(client, name="held", arms=ARMS, k=2, seed=7, holdout=0.4)
        decisions = [ask_and_tell(client, bandit) for _ in range(24)]
    return path, bandit, decisions


def ask_and_tell(client, bandit):
    made = client.post(f"/v1/bandits/{bandit}/decisions", json={"propensities": 5}).json()
    outcomes = {arm: float(arm in "ab") for arm in made["arms"]}
    client.post(f"/v1/decisions/{made['id']}/outcomes", json={"outcomes": outcomes})
    return made


@pytest.fixture(scope="module")
def session_like(played):
    """A session of the library that does the same."""
    decisions = played[2]
    policy = sa.thompson(sa.LinearReward(4), 2, oracle=sa.TopK())
    session = sa.Session(policy, ARMS, seed=7, holdout=0.4, key=decisions[0]["bandit"])
    for logged in decisions:
        decision = session.ask(propensities=5)
        assert list(decision.arms) == logged["arms"]
        assert list(decision.propensities) == logged["propensities"]
        assert decision.holdout == logged.get("holdout", False)
        session.tell(decision, {arm: float(arm in "ab") for arm in decision.arms})
    return session


def test_the_service_decides_and_counts_as_a_session_does(played, session_like):
    path, bandit, decisions = played
    wanted = session_like.lift(0.1)
    assert 0 < wanted.n_holdout < 24
    with client_of(path) as client:
        found = client.get(f"/v1/bandits/{bandit}/lift", params={"delta": 0.1}).json()
        assert found.pop("text") == str(wanted)
        assert found == vars(wanted)
        assert client.get(f"/v1/bandits/{bandit}").json()["spec"]["holdout"] == 0.4
        held = next(one["id"] for one in decisions if one.get("holdout"))
        assert client.get(f"/v1/decisions/{held}").json()["holdout"] is True
        why = client.get(f"/v1/decisions/{held}/explanation").json()
        assert "of the hold-out" in why["text"]
        made = [
            one
            for event in events_of(client, bandit)
            if event["kind"] == "decided"
            for one in event["decisions"]
        ]
        assert [one.get("holdout", False) for one in made] == [
            one.get("holdout", False) for one in decisions
        ]


@pytest.mark.parametrize("decide", [False, True])
def test_replay_counts_alike(played, session_like, decide):
    path, bandit, _ = played
    store = SQLiteStore(path, "read")
    found = replay(store, store.bandit(bandit), {}, decide=decide)
    store.close()
    assert found.live.session.lift() == session_like.lift()
    assert found.same is not False


def test_a_fixed_set_and_what_is_refused(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        held = {"share": 0.9, "arms": ["d", "b"]}
        bandit = create(client, name="fixed", arms=ARMS, k=2, holdout=held)
        made = [client.post(f"/v1/bandits/{bandit}/decisions", json={}).json() for _ in range(9)]
        assert ["d", "b"] in [one["arms"] for one in made if one.get("holdout")]
        plain = create(client, name="plain", arms=ARMS, k=2)
        assert "holdout" not in client.get(f"/v1/bandits/{plain}").json()["spec"]
        refused = client.get(f"/v1/bandits/{plain}/lift")
        assert (refused.status_code, refused.json()["detail"]) == (
            422,
            "a lift needs a hold-out, got none",
        )
        for bad in (0, 1, -0.5, {"share": 0.1, "arms": ["d"]}, {"share": 0.1, "arms": ["x", "a"]}):
            body = {"name": "bad", "arms": ARMS, "k": 2, "holdout": bad}
            assert client.post("/v1/bandits", json=body).status_code == 422


def test_the_client_sends_a_hold_out_and_asks_for_the_lift():
    seen = []

    def service(request):
        seen.append((str(request.url.raw_path, "ascii"), request.content))
        return httpx.Response(500 if request.method == "POST" else 200, json={"lift": 0.5})

    retries = Retries(tries=1)
    with Client("http://x", transport=httpx.MockTransport(service), retries=retries) as client:
        assert client.lift("b1", delta=0.2) == {"lift": 0.5}
        with pytest.raises(ServerError):
            client.create("shop", 4, 2, holdout=0.1)
    assert seen[0][0] == "/v1/bandits/b1/lift?delta=0.2"
    assert b'"holdout": 0.1' in seen[1][1]
