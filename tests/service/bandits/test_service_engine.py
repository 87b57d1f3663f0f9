"""Many requests at once, bandits that leave memory, and memory that is behind the log."""

import asyncio
import re
import threading
from collections import Counter

import pytest

from serving import client_of, create, events_of, play
from superarm.service.bandits import actor, operations
from superarm.service.bandits.actor import Actor, HandOver, Reply, Waiting, resolve
from superarm.service.log.events import Bandit


def test_the_same_key_at_the_same_moment(client):
    bandit = create(client)
    ask = ("POST", f"/v1/bandits/{bandit}/decisions", {"headers": {"Idempotency-Key": "once"}})
    answers = client.together([ask] * 20)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert [event["kind"] for event in events_of(client, bandit)] == ["created", "decided"]


def test_many_at_once_are_committed_together(client):
    bandit = create(client, arms=50, k=3)
    answers = client.together([("POST", f"/v1/bandits/{bandit}/decisions", {})] * 100)
    ids = [answer.json()["id"] for answer in answers]
    assert len(set(ids)) == 100
    told = client.together(
        [
            (
                "POST",
                f"/v1/decisions/{one.json()['id']}/outcomes",
                {"json": {"outcomes": {one.json()["arms"][0]: 1.0}}},
            )
            for one in answers
            for _ in range(2)
        ]
    )
    assert sum(len(answer.json()["new"]) for answer in told) == 100
    metrics = client.get("/metrics").text
    assert 'superarm_events_total{kind="told"} 100.0' in metrics
    commits = next(
        float(line.split()[1])
        for line in metrics.splitlines()
        if line.startswith("superarm_commit_events_count")
    )
    assert commits < 200
    assert 'route="/v1/bandits/{id}/decisions",status="201"} 100.0' in metrics


def test_every_event_of_a_log_is_counted_by_its_kind(client):
    bandit = create(client, expiry={"after_rounds": 1}, k=1)
    create(client, name="another")
    for _ in range(2):  # the first one expires in the second round
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
    told = {"outcomes": dict.fromkeys(decision["arms"], 1.0)}
    client.post(f"/v1/decisions/{decision['id']}/outcomes", json=told)
    client.post(f"/v1/bandits/{bandit}/arms", json={"arms": ["new"]})
    client.delete(f"/v1/bandits/{bandit}/arms/new")
    kinds = Counter(event["kind"] for event in events_of(client, bandit))
    kinds["created"] += 1  # that of the other bandit
    assert len(kinds) >= 5
    counted = dict(
        re.findall(r'superarm_events_total\{kind="(\w+)"\} (\S+)', client.get("/metrics").text)
    )
    assert {kind: float(n) for kind, n in counted.items()} == dict(kinds)


def test_where_decisions_are_slow_each_is_committed_and_answered(client, monkeypatch):
    monkeypatch.setattr(operations, "LONGEST_S", 0.0)
    bandit = create(client)
    # With a constraint, so that they are not decided together.
    ask = ("POST", f"/v1/bandits/{bandit}/decisions", {"json": {"k": 1}})
    answers = client.together([ask] * 10)
    assert len({answer.json()["id"] for answer in answers}) == 10
    assert "superarm_commit_events_count 10.0" in client.get("/metrics").text


def test_bandits_leave_memory_and_come_back(tmp_path):
    with client_of(tmp_path / "bandits.db", most_loaded=2) as client:
        bandits = [create(client, name=f"bandit {number}") for number in range(5)]
        for _ in range(3):
            answers = client.together(
                [("POST", f"/v1/bandits/{bandit}/decisions", {}) for bandit in bandits] * 2
            )
            assert {answer.status_code for answer in answers} == {201}
        for bandit in bandits:
            play(client, bandit, 2)
            assert client.get(f"/v1/bandits/{bandit}").json()["decisions"] == 8
        metrics = client.get("/metrics").text.splitlines()
        loaded = next(line for line in metrics if line.startswith("superarm_bandits_loaded "))
        assert float(loaded.split()[1]) <= 3


def outcomes_of(decision):
    return {"outcomes": dict.fromkeys(decision["arms"], 1.0)}


def tell_twice(client, bandit, decision):
    """The first request finds memory behind the log; the second one loads the bandit again."""
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
        old.session._unlocked.ledger.open.clear()
        actor.live = old
        tell_twice(client, bandit, decision)


def test_a_bandit_that_is_asked_for_while_it_is_made(path):
    with client_of(path) as client:
        engine = client.app.state.service.engine
        create_, made, go_on = engine.make, threading.Event(), threading.Event()

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

        engine.make = slow
        client._runner.run(play(client._client))


def test_an_answer_that_cannot_be_delivered_stops_no_other_answer(caplog):
    said, replies = [], [Reply(1), Reply(1)]  # the first one cannot end
    replies[1].end = said.extend
    resolve([Waiting(lambda *_: None, reply) for reply in replies], ["first", "second"])
    assert said == ["second"]
    assert "answer_failed" in caplog.text


def test_a_bandit_without_a_thread_stops_no_other_bandit(caplog):
    """When the operating system allows no more threads, other bandits still have theirs."""

    class Pool:
        def submit(self, function, *args):
            asked.append(args[0].bandit.id)
            if len(asked) == 1:
                raise RuntimeError("can't start new thread")

    async def main():
        handover = HandOver(Pool(), None, None)
        for id in ("one", "two"):
            handover.actors[id] = Actor(Bandit(1, id, id, 1, 0.0))
            handover.start([(id, None)], Reply(1))
        await asyncio.sleep(0)

    asked = []
    asyncio.run(main())
    assert asked == ["one", "two"]
    assert "no_thread" in caplog.text


def test_the_clients_of_a_large_turn_are_waited_for(monkeypatch):
    """They ask again as soon as they have their answers, but not all in the same moment."""
    monkeypatch.setattr(actor, "_LONGEST_WAIT_S", 60.0)
    bandit, some = Actor(Bandit(1, "one", "one", 1, 0.0)), [Waiting(None, Reply(1))]
    assert bandit.put(some * 5)
    assert bandit.take() == some * 5
    bandit._since -= 1000.0  # the turn took long, so there is much time to wait
    bandit.put(some)  # a sixth client
    timer = threading.Timer(0.05, lambda: [bandit.put(some * n) for n in (2, 3)])
    timer.start()
    assert bandit.take() == some * 6
    timer.join()


@pytest.mark.parametrize(("n", "seconds"), [(3, 60.0), (50, 0.0)])
def test_the_clients_of_small_turns_and_those_that_leave_are_not(n, seconds, monkeypatch):
    monkeypatch.setattr(actor, "_LONGEST_WAIT_S", seconds)
    bandit, some = Actor(Bandit(1, "one", "one", 1, 0.0)), [Waiting(None, Reply(1))]
    bandit.put(some * n)
    assert bandit.take() == some * n
    bandit._since -= 1000.0
    bandit.put(some)
    assert bandit.take() == some
    assert bandit.take() == []
    assert bandit.put(some)  # a thread is needed again
