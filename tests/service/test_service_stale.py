"""A bandit in memory that is behind its log: outcomes are learnt or refused, never taken for late ones."""

import asyncio
import threading

import pytest

from serving import client_of, create, events_of
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.log.store import StoreError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bandits.db"


def outcomes_of(decision):
    return {"outcomes": dict.fromkeys(decision["arms"], 1.0)}


def test_a_link_to_a_served_file_is_that_file(path, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(path)
    served = SQLiteStore(path)
    try:
        with pytest.raises(StoreError, match="served by another process"):
            SQLiteStore(link)
    finally:
        served.close()
    SQLiteStore(link).close()


def tell_twice(client, bandit, decision):
    """The first try finds memory behind the log, the second one a bandit that was loaded again."""
    url = f"/v1/decisions/{decision['id']}"
    assert client.post(f"{url}/outcomes", json=outcomes_of(decision)).status_code == 503
    assert (
        client.post(f"{url}/outcomes", json=outcomes_of(decision)).json()["new"] == decision["arms"]
    )
    assert client.get(url).json()["status"] == "told"
    told = [event["decision"] for event in events_of(client, bandit) if event["kind"] == "told"]
    assert told == [decision["id"]]


@pytest.mark.parametrize("late", ["refuse", "ignore"])
def test_a_decision_that_memory_has_not_seen(path, late):
    with client_of(path) as client:
        bandit = create(client, expiry={"after_rounds": 1000, "late": late})
        actor = client.app.state.service.engine._actors[bandit]
        old, actor.live = actor.live, None
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        actor.live = old
        tell_twice(client, bandit, decision)


@pytest.mark.parametrize("late", ["refuse", "ignore"])
def test_a_decision_that_memory_takes_for_closed(path, late):
    with client_of(path) as client:
        bandit = create(client, expiry={"after_rounds": 1000, "late": late})
        actor = client.app.state.service.engine._actors[bandit]
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        old, actor.live = actor.live, None
        client.post(f"/v1/bandits/{bandit}/decisions")
        old.session._ledger.open.clear()
        actor.live = old
        tell_twice(client, bandit, decision)


def test_a_bandit_that_is_asked_for_while_it_is_made(path):
    with client_of(path) as client:
        engine = client.app.state.service.engine
        create_, made, go_on = engine._create, threading.Event(), threading.Event()

        def slow(spec):
            actor = create_(spec)
            made.set()
            go_on.wait(30)
            return actor

        async def play(http):
            body = {
                "name": "canteen",
                "arms": 4,
                "k": 2,
                "expiry": {"after_rounds": 1000, "late": "ignore"},
            }
            making = asyncio.create_task(http.post("/v1/bandits", json=body))
            await asyncio.to_thread(made.wait, 30)
            (bandit,) = (await http.get("/v1/bandits")).json()["bandits"]
            decision = (await http.post(f"/v1/bandits/{bandit['id']}/decisions")).json()
            go_on.set()
            assert (await making).json()["id"] == bandit["id"]
            told = await http.post(
                f"/v1/decisions/{decision['id']}/outcomes", json=outcomes_of(decision)
            )
            assert told.json()["new"] == decision["arms"]

        engine._create = slow
        client._runner.run(play(client._client))
