"""Requests that are too large, too frequent, or not allowed with the given key."""

import asyncio
import json

from serving import client_of, create, events_of
from superarm.service.http import keys
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits


def test_limits(tmp_path):
    limits = Limits(body=200, arms=10, open=3, rate=0.0)
    with client_of(tmp_path / "bandits.db", limits=limits) as client:
        assert client.post("/v1/bandits", json={"name": "x", "arms": 11, "k": 1}).status_code == 422
        bandit = create(client)
        large = client.post(
            "/v1/bandits", json={"name": "x" * 150, "arms": ["a", "b", "c"] * 20, "k": 1}
        )
        assert large.status_code == 413
        stream = client.post(
            "/v1/bandits", content=_slowly(), headers={"content-type": "application/json"}
        )
        assert stream.status_code == 413
        path = f"/v1/bandits/{bandit}/decisions"
        assert [client.post(path).status_code for _ in range(4)] == [201, 201, 201, 429]
        assert (
            client.post(f"/v1/bandits/{bandit}/arms", json={"arms": list("efghijklm")}).status_code
            == 422
        )
        assert client.get(f"/v1/bandits/{bandit}").json()["n_arms"] == 4


async def _slowly():
    for _ in range(100):
        yield b"x" * 100


def test_long_bodies_find_room_together(tmp_path):
    """An address may have 512 connections, and each could hold a body of 64 MiB."""
    most = 100_000
    with client_of(tmp_path / "bandits.db", limits=Limits(body=most)) as client:
        headers = {"content-type": "application/json"}
        text = json.dumps({"name": "any", "arms": 3, "k": 1}).encode()

        async def play():
            ended, begun = asyncio.Event(), []

            async def held():
                yield b" " * most
                begun.append(True)
                await ended.wait()

            def post(content):
                options = {"content": content, "headers": headers}
                return client.async_request("POST", "/v1/bandits", **options)

            waiting = [asyncio.create_task(post(held())) for _ in range(8)]
            while len(begun) < 8:
                await asyncio.sleep(0)
            others = [await post(text + b" " * 90_000), await post(text)]
            ended.set()
            statuses = [(await one).status_code for one in waiting]
            return others, statuses, await post(text + b" " * 90_000)

        (long, short), statuses, later = client.run(play())
        assert (long.status_code, long.headers["retry-after"]) == (503, "1")
        assert long.json()["detail"] == "too many long bodies are in memory"
        assert short.status_code == 201
        assert statuses == [400] * 8  # bodies without JSON
        assert later.headers["idempotent-replayed"] == "true"


def test_the_rate_is_limited(tmp_path):
    with client_of(tmp_path / "bandits.db", limits=Limits(rate=0.001)) as client:
        assert client.get("/v1/bandits").status_code == 200
        refused = client.get("/v1/bandits")
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1


def test_keys_have_roles(tmp_path):
    path = tmp_path / "bandits.db"
    made = {role: keys.make(role) for role in keys.ROLES}
    store = SQLiteStore(path, "write")
    for _, row in made.values():
        store.add_key(row)
    store.close()
    assert not any(key in str(path.read_bytes()) for key, _ in made.values())
    with client_of(path, with_keys=True) as client:
        as_ = {role: {"Authorization": f"Bearer {key}"} for role, (key, _) in made.items()}
        assert client.get("/healthz").status_code == 200
        nobody = client.get("/v1/bandits")
        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Bearer")
        assert client.get("/v1/bandits", headers={"X-API-Key": "wrong"}).status_code == 401
        assert client.get("/v1/bandits", headers={"X-API-Key": made["read"][0]}).status_code == 200
        body = {"name": "canteen", "arms": 4, "k": 2}
        assert client.post("/v1/bandits", json=body, headers=as_["decide"]).status_code == 403
        bandit = client.post("/v1/bandits", json=body, headers=as_["admin"]).json()["id"]
        ask = f"/v1/bandits/{bandit}/decisions"
        assert client.post(ask, headers=as_["read"]).status_code == 403
        decision = client.post(ask, headers=as_["decide"]).json()
        tell, outcomes = (
            f"/v1/decisions/{decision['id']}/outcomes",
            {"outcomes": {decision["arms"][0]: 1.0}},
        )
        assert client.post(tell, json=outcomes, headers=as_["read"]).status_code == 403
        assert client.post(tell, json=outcomes, headers=as_["decide"]).status_code == 200
        assert (
            client.delete(f"/v1/bandits/{bandit}/arms/1", headers=as_["decide"]).status_code == 403
        )
        assert (
            client.delete(f"/v1/bandits/{bandit}/arms/1", headers=as_["admin"]).status_code == 200
        )
        assert client.get("/metrics").status_code == 401


def test_a_batch_is_not_too_long_to_read(tmp_path):
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client, arms=100, k=50)
        answer = client.post(f"/v1/bandits/{bandit}/decisions", json={"n": 4001})
        assert answer.status_code == 422
        assert "n times k must be at most 200,000" in answer.json()["detail"]
        assert len(events_of(client, bandit)) == 1


def test_health_has_its_own_rate(tmp_path):
    # One request in 1,000 seconds: no bucket fills up again during the test.
    with client_of(tmp_path / "s.db", limits=Limits(rate=0.001)) as client:
        said = [client.get("/v1/bandits").status_code for _ in range(3)]
        assert said[-1] == 429
        assert client.get("/healthz").status_code == 200
