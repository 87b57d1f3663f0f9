"""Bandits that are deleted: from the lists, the log, the checkpoints and memory, and no others."""

import asyncio
from functools import partial

import pytest

from serving import client_of, client_on, create, decide, events_of, play
from superarm.rewards import LinearReward
from superarm.service.bandits import retention
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.replay import replay
from superarm.service.http.service import Service
from superarm.service.log import queries
from superarm.service.log.folder import FolderStore, prepare
from superarm.service.log.sqlite import SQLiteStore


def rows(path, table):
    store = SQLiteStore(path, "read")
    try:
        return store._read(f"SELECT * FROM {table}")
    finally:
        store.close()


def test_a_deleted_bandit_is_gone(path, monkeypatch):
    monkeypatch.setattr(queries, "_EVENTS_PER_PURGE", 3)
    with client_of(path, checkpoint_every=5) as client:
        gone, stays = create(client), create(client, name="other", seed=2)
        for bandit in (gone, stays):
            play(client, bandit, 9)
        decision = decide(client, gone)
        assert client.delete(f"/v1/bandits/{gone}?name=canteen").status_code == 204
        said = [
            client.get(f"/v1/bandits/{gone}"),
            client.get(f"/v1/bandits/{gone}/log"),
            client.get(f"/v1/decisions/{decision['id']}"),
            client.post(f"/v1/bandits/{gone}/decisions"),
            client.post(f"/v1/decisions/{decision['id']}/outcomes", json={"outcomes": {"ant": 1}}),
        ]
        assert [answer.status_code for answer in said] == [410] * 5
        assert said[0].json()["type"] == "urn:superarm:bandit-deleted"
        assert client.delete(f"/v1/bandits/{gone}?name=canteen").status_code == 204  # a repeat
        assert client.delete("/v1/bandits/aaaaaaaaaa").status_code == 404
        assert [one["id"] for one in client.get("/v1/bandits").json()["bandits"]] == [stays]
        # Its name is free, and its number is not used again.
        again = create(client)
        assert again != gone
        assert len(events_of(client, again)) == 1
        decide(client, stays)
    assert {row[0] for row in rows(path, "events")} == {2, 3}
    assert {row[0] for row in rows(path, "checkpoints")} == {2, 3}
    with client_of(path) as client:
        assert client.get(f"/v1/bandits/{gone}").status_code == 410
        assert client.get("/v1/bandits?name=canteen").json()["bandits"][0]["id"] == again
    store = SQLiteStore(path, "read")
    assert all(replay(store, bandit, {}).same for bandit in store.bandits(10))
    store.close()


def test_a_bandit_that_cannot_be_loaded_is_deleted(path):
    with client_of(path, own={"mine": LinearReward}) as client:
        bandit = create(client, reward="mine")
    with client_of(path) as client:
        assert client.post(f"/v1/bandits/{bandit}/decisions").status_code == 500
        assert client.delete(f"/v1/bandits/{bandit}?name=canteen").status_code == 204
        assert client.get("/v1/bandits").json()["bandits"] == []


def test_the_name_confirms_a_deletion(path):
    """An HTTP library may turn the address of the arm ".." into that of the bandit."""
    with client_of(path) as client:
        bandit = create(client)
        for name in ("", "?name=", "?name=other"):
            refused = client.delete(f"/v1/bandits/{bandit}{name}")
            assert refused.status_code == 422
        assert client.delete(f"/v1/bandits/{bandit}/arms/..").status_code in (404, 422)
        assert len(events_of(client, bandit)) == 1


def test_requests_behind_a_deletion_are_refused(path):
    with client_of(path) as client:
        bandit = create(client)
        engine = client.app.state.service.engine

        async def together():
            read = partial(engine.do, bandit, lambda live, turn: live.seq)
            asked = [read(), engine.delete(bandit), read(), read()]
            return await asyncio.gather(*asked, return_exceptions=True)

        first, deleted, *behind = client.run(together())
        assert (first, deleted) == (1, None)
        assert [problem.status for problem in behind] == [410, 410]
        assert engine._actors == {}


def test_a_purge_goes_on_after_a_crash(path, monkeypatch):
    """The bandit is deleted at once, and its events by whoever serves next."""
    monkeypatch.setattr(retention, "purge", lambda *args: None)
    with client_of(path) as client:
        bandit = create(client)
        play(client, bandit, 5)
        assert client.delete(f"/v1/bandits/{bandit}?name=canteen").status_code == 204
    monkeypatch.undo()
    assert rows(path, "events")
    store = SQLiteStore(path)
    assert store.bandits(10) == []
    retention.purge(store, store.to_purge())
    assert store.to_purge() == []
    store.close()
    assert not rows(path, "events")


def test_a_log_that_is_followed_ends(path):
    with client_of(path) as client:
        bandit = create(client)

        async def race():
            address = f"/v1/bandits/{bandit}/log?follow=true"
            following = asyncio.ensure_future(client.async_request("GET", address))
            await client.async_request("DELETE", f"/v1/bandits/{bandit}?name=canteen")
            return (await following).text.splitlines()

        assert len(client.run(race())) <= 1


@pytest.mark.parametrize("n_files", [1, 2])
def test_a_list_goes_on_after_a_bandit_that_was_deleted(path, n_files):
    """It may be deleted between two pages, of which it was the end of the first."""
    if n_files > 1:
        prepare(path, n_files)
    store = SQLiteStore(path) if n_files == 1 else FolderStore(path)
    with client_on(Service(Engine(store))) as client:
        made = [create(client, name=f"listed {n}") for n in range(4)]
        page = client.get("/v1/bandits?limit=2").json()
        assert page["next"] == made[1]
        assert client.delete(f"/v1/bandits/{made[1]}?name=listed%201").status_code == 204
        rest = client.get("/v1/bandits", params={"after": page["next"]}).json()
        assert [one["id"] for one in rest["bandits"]] == made[2:]
