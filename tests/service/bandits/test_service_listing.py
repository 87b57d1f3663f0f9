"""Lists of decisions by status: the same as looking at every decision, without doing so."""

import random

import pytest

from serving import client_of, create, decide
from superarm.service.bandits import decisions, listing


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A client, a bandit and its decisions, of which some are open, complete or expired."""
    rng = random.Random(4)
    with client_of(tmp_path_factory.mktemp("s") / "bandits.db") as client:
        bandit = create(client, keep=3, expiry={"after_rounds": 4})
        ids = []
        for _ in range(20):
            ids += [one["id"] for one in decide(client, bandit, n=rng.randint(1, 3))["decisions"]]
            for id in rng.sample(ids[-8:], 2) if len(ids) > 8 else ():
                arms = client.get(f"/v1/decisions/{id}").json()["arms"]
                outcomes = dict.fromkeys(arms[: rng.randint(1, 2)], 0.5)
                # Perhaps it expires just now, and is refused.
                client.post(f"/v1/decisions/{id}/outcomes", json={"outcomes": outcomes})
        every = [client.get(f"/v1/decisions/{id}").json() for id in reversed(ids)]
        assert {one["status"] for one in every} == {"open", "told", "expired"}
        yield client, bandit, every


def pages(client, bandit, **params):
    while True:
        page = client.get(f"/v1/bandits/{bandit}/decisions", params=params).json()
        yield page["decisions"]
        if page["next"] is None:
            return
        params["before"] = page["next"]


@pytest.mark.parametrize("status", [None, "open", "told", "expired"])
@pytest.mark.parametrize("limit", [3, 1000])
def test_a_list_is_that_of_all_decisions(played, status, limit):
    client, bandit, every = played
    params = {"limit": limit, **({} if status is None else {"status": status})}
    found = [one for page in pages(client, bandit, **params) for one in page]
    assert found == [one for one in every if status in (None, one["status"])]


@pytest.mark.parametrize("status", [None, "open", "told", "expired"])
@pytest.mark.parametrize("most", [1, 11])
def test_a_page_of_long_decisions_is_short(played, status, most, monkeypatch):
    """The event loop writes an answer down, and all requests wait for that."""
    monkeypatch.setattr(listing, "_MOST_LISTED", most)
    client, bandit, every = played
    found = list(pages(client, bandit, **({} if status is None else {"status": status})))
    assert max(sum(len(one["arms"]) for one in page) for page in found) <= max(2, most)
    wanted = [one for one in every if status in (None, one["status"])]
    assert [one for page in found for one in page] == wanted


def test_contexts_and_metadata_make_decisions_long(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "_MOST_LISTED", 12)
    with client_of(tmp_path / "bandits.db") as client:
        belief = {"kind": "linear", "context": 2}
        bandit = create(client, name="long", k=1, belief=belief, seed=1)
        for metadata in ({}, {"note": "x" * 76}, {}):
            decide(client, bandit, context=[1.0, 2.0], metadata=metadata)
        assert [len(page) for page in pages(client, bandit)] == [2, 1]  # 3 + 7, 3


def test_a_list_begins_anywhere(played):
    client, bandit, every = played
    for before in range(1, len(every) + 2, 9):
        for status in ("told", "expired"):
            params = {"status": status, "before": before, "limit": 2}
            found = client.get(f"/v1/bandits/{bandit}/decisions", params=params).json()
            older = [one for one in every if int(one["id"].split("-")[1]) < before]
            assert found["decisions"] == [one for one in older if one["status"] == status][:2]


def test_few_decisions_are_read(played, monkeypatch):
    """The log is not looked through: as many events are read as decisions are listed."""
    client, bandit, every = played
    store, n_read = client.app.state.service.engine.store, []
    for name in ("decided_before", "about"):
        read = getattr(store, name)
        monkeypatch.setattr(
            store, name, lambda *args, read=read: n_read.append(args) or read(*args)
        )
    for status in ("told", "expired"):
        n_read.clear()
        params = {"status": status, "limit": 2, "before": len(every) // 2}
        assert len(next(pages(client, bandit, **params))) == 2
        assert len(n_read) <= 4
    plan = store._read(
        "EXPLAIN QUERY PLAN SELECT * FROM events WHERE bandit = 1 AND kind = 'expired' "
        "AND seq < 100 ORDER BY seq DESC LIMIT 2"
    )
    assert "events_expired" in str(plan)


def test_a_long_search_goes_on_in_the_next_page(played, monkeypatch):
    client, bandit, every = played
    monkeypatch.setattr(listing, "_MOST_EXAMINED", 5)
    found = list(pages(client, bandit, status="told", limit=3))
    assert [one for page in found for one in page] == [
        one for one in every if one["status"] == "told"
    ]


def test_a_bandit_that_is_deleted_while_it_is_read(tmp_path):
    """The reader, in a thread of its own, finds fewer events than there were before."""
    with client_of(tmp_path / "bandits.db") as client:
        bandit = create(client, name="gone")
        for _ in range(3):
            decide(client, bandit)
        engine = client.app.state.service.engine
        live = engine._actors[bandit].live
        read = decisions.with_counts(engine.store, live, [1, 2, 3])
        assert next(read)[0]["id"] == f"{bandit}-1"
        assert client.delete(f"/v1/bandits/{bandit}?name=gone").status_code == 204
        engine.store.purge(live.bandit.number)  # a thread does so, too, but later
        assert list(read) == []
        assert decisions._history(engine.store, live, 3, 10)["points"] == []
        assert listing._list(engine.store, live, [], None, 3, 10)["decisions"] == []
        assert listing._list(engine.store, live, [], "told", 3, 10)["decisions"] == []
