"""Slow work: deadlines, clients that leave, and bandits that wait for nobody else."""

import asyncio
import json
import math
import threading

import httpx
import pytest

import superarm as sa
from forked_server import ForkedServer
from serving import client_of, create, decide, events_of
from superarm.beliefs.learned_prior import LearnedPosterior
from superarm.core.stopping import stopping
from superarm.service.bandits import views
from superarm.service.http import app
from superarm.service.http.gate import Gate
from superarm.service.http.guard import Guard
from superarm.service.http.to_home import INSIDE
from superarm.service.metrics import Metrics
from superarm.sessions import verdict
from superarm.sessions.view import SessionView

LONG = {"propensities": 10_000}  # with the reward below, more than a minute


class Slow:
    """A reward whose evaluations wait for ``pause``, or for 2 ms. The first one calls ``first``."""

    def __init__(self):
        self.begun, self.pause = threading.Event(), threading.Event()
        self.first = lambda: None

    def __call__(self, n_arms):
        def value(arms, means):
            if not self.begun.is_set():
                self.begun.set()
                self.first()
            self.pause.wait(0.002)
            return float(means.sum())

        return sa.BlackBox(value, n_arms=n_arms, lipschitz=1.0, upper=4.0)


@pytest.fixture
def slow():
    return Slow()


def kinds(client, bandit):
    return [event["kind"] for event in events_of(client, bandit)]


def lines(answer):
    """The lines of an answer, each of which is JSON. The order of members is no matter."""
    return [json.loads(line) for line in answer.text.splitlines()]


async def current_loop():
    return asyncio.get_running_loop()


def test_a_request_has_a_deadline(tmp_path, slow):
    """The deadline passes when the work has begun: the reward moves the clock of the loop."""
    with client_of(tmp_path / "s.db", own={"slow": slow}, deadline_s=1000.0) as client:
        bandit = create(client, reward="slow", oracle="singletons")
        loop = client.run(current_loop())
        now = loop.time

        def move_clock():
            loop.time = lambda: now() + 1000
            loop.call_soon_threadsafe(int)  # wakes the loop up

        slow.first = move_clock
        late = client.post(f"/v1/bandits/{bandit}/decisions", json=LONG)
        assert late.status_code == 504
        assert late.json()["type"] == "urn:superarm:deadline-exceeded"
        assert slow.begun.is_set()
        # The bandit has stopped working for it, and nothing of it is in the log.
        slow.pause.set()
        decision = decide(client, bandit)
        assert decision["id"].endswith("-1")
        assert kinds(client, bandit) == ["created", "decided"]


def test_the_same_is_decided_after_a_request_was_given_up(tmp_path, slow, monkeypatch):
    """Memory stays as it was, or is loaded again."""
    slow.pause.set()
    spec = {"reward": "slow", "oracle": "singletons", "seed": 5}
    with client_of(tmp_path / "s.db", own={"slow": slow}) as client:
        one, other = (create(client, name=name, **spec) for name in ("one", "other"))
        for n_looks in range(9):  # in the sample, and then in the decision itself
            looks = iter(range(n_looks))
            monkeypatch.setattr(app, "_never", lambda looks=looks: next(looks, None) is None)
            given_up = client.post(f"/v1/bandits/{one}/decisions", json={"propensities": 1})
            monkeypatch.undo()
            assert given_up.status_code == 499
            pair = [decide(client, bandit) for bandit in (one, other)]
            assert pair[0]["values"] == pair[1]["values"], n_looks
        assert kinds(client, one) == kinds(client, other)


def test_work_ends_when_its_client_has_left(tmp_path, slow):
    with client_of(tmp_path / "s.db", own={"slow": slow}) as client:
        bandit = create(client, reward="slow", oracle="singletons")
        path = f"/v1/bandits/{bandit}/decisions"

        async def leave():
            asked = asyncio.ensure_future(client.async_request("POST", path, json=LONG))
            behind = asyncio.ensure_future(client.async_request("POST", path))
            await asyncio.to_thread(slow.begun.wait, 120)
            for task in (asked, behind):
                task.cancel()
            await asyncio.wait([asked, behind])

        client.run(leave())
        slow.pause.set()
        decide(client, bandit)
        # Not even the request that waited behind the slow one was carried out.
        assert kinds(client, bandit) == ["created", "decided"]


def test_slow_bandits_keep_no_other_one_waiting(tmp_path, slow):
    slow.pause = gate = threading.Event()
    gate.wait, opened = lambda seconds: opened.wait(120), threading.Event()
    with client_of(tmp_path / "s.db", own={"slow": slow}) as client:
        bandits = [create(client, name=f"{i}", reward="slow") for i in range(66)]
        quick = create(client)

        async def race():
            asking = [
                asyncio.ensure_future(client.async_request("POST", f"/v1/bandits/{id}/decisions"))
                for id in bandits
            ]
            first = await client.async_request("POST", f"/v1/bandits/{quick}/decisions")
            waited = not any(task.done() for task in asking)
            opened.set()
            return first, waited, await asyncio.gather(*asking)

        first, waited, later = client.run(race())
        assert first.status_code == 201
        assert waited
        assert {answer.status_code for answer in later} == {201}


def test_reads_do_not_wait_for_slow_decisions(tmp_path, slow):
    """They see what was acknowledged, before and while the bandit is at work."""
    slow.pause.set()
    spec = {"arms": ["ant", "bee", "cat", "dog"], "k": 2, "reward": "slow", "oracle": "singletons"}
    with client_of(tmp_path / "s.db", own={"slow": slow}, checkpoint_every=2) as client:
        bandit = create(client, **spec)
        made = [decide(client, bandit) for _ in range(5)]
        outcomes = dict.fromkeys(made[1]["arms"], 1.0)
        client.post(f"/v1/decisions/{made[1]['id']}/outcomes", json={"outcomes": outcomes})
        path = f"/v1/bandits/{bandit}"
        paths = [path, f"{path}/arms", f"{path}/decisions", f"{path}/history", f"{path}/log"]
        paths += [f"/v1/decisions/{made[n]['id']}" for n in (0, 1, 4)]
        before = [lines(client.get(one)) for one in paths]

        async def look():
            slow.begun.clear()
            opened = threading.Event()
            slow.pause.wait = lambda seconds: opened.wait(120)
            asking = asyncio.ensure_future(client.async_request("POST", f"{path}/decisions"))
            try:
                await asyncio.to_thread(slow.begun.wait, 120)
                async with asyncio.timeout(60.0):
                    found = [lines(await client.async_request("GET", one)) for one in paths]
                    why = f"/v1/decisions/{made[0]['id']}/explanation"
                    others = [
                        await client.async_request("GET", why),
                        await client.async_request("POST", f"{path}/snapshots"),
                    ]
                return found, [one.status_code for one in others], asking.done()
            finally:
                opened.set()
                assert (await asking).status_code == 201

        assert client.run(look()) == (before, [200, 200], False)
        # Arms that came meanwhile, and the decision that the reads did not wait for.
        client.post(f"{path}/arms", json={"arms": ["eel"]})
        now = [lines(client.get(one)) for one in paths]
        assert client.run(look()) == (now, [200, 200], False)
        assert kinds(client, bandit).count("decided") == 7
        assert client.delete(path, params={"name": "canteen"}).status_code == 204
        assert client.get(path).status_code == 410


def test_reads_of_many_arms_take_their_time_elsewhere(tmp_path, monkeypatch):
    """Beside the turns of the bandit: decisions need not wait for intervals of many arms."""
    found = []

    def noted(function):
        def note(*args, **options):
            found.append(client.app.state.service.engine._actors[bandit].began)
            return function(*args, **options)

        return note

    monkeypatch.setattr(LearnedPosterior, "interval", noted(LearnedPosterior.interval))
    monkeypatch.setattr(verdict, "best_k", noted(verdict.best_k))
    monkeypatch.setattr(views, "_largest", noted(views._largest))
    with client_of(tmp_path / "s.db") as client:
        bandit = create(client, arms=30, k=2)
        client.get(f"/v1/bandits/{bandit}", params={"top": 5})
        client.get(f"/v1/bandits/{bandit}/arms")
        client.get(f"/v1/bandits/{bandit}/verdict")
    assert found == [math.inf] * 4  # in no turn


def test_reads_of_few_arms_copy_no_names_of_all_arms(tmp_path, monkeypatch):
    """With a million arms a copy held the interpreter, and so all requests, for 5 to 10 ms."""
    with client_of(tmp_path / "s.db") as client:
        bandit = create(client, arms=30, k=2)
        made = decide(client, bandit)
        monkeypatch.setattr(SessionView, "names", property(lambda _: pytest.fail("a copy")))
        best = client.get(f"/v1/bandits/{bandit}", params={"top": 2}).json()["posterior"]
        assert [one["arm"] for one in best] == ["0", "1"]
        page = client.get(f"/v1/bandits/{bandit}/arms", params={"limit": 2, "after": 7}).json()
        assert ([one["arm"] for one in page["arms"]], page["next"]) == (["7", "8"], "9")
        last = client.get(f"/v1/bandits/{bandit}/arms", params={"limit": 2, "after": 28}).json()
        assert ([one["arm"] for one in last["arms"]], last["next"]) == (["28", "29"], None)
        none = client.get(f"/v1/bandits/{bandit}/arms", params={"after": 31}).json()
        assert none == {"arms": [], "next": None}
        assert client.get(f"/v1/decisions/{made['id']}/explanation").status_code == 200
        wrong = {"must": ["3", "4"], "must_not": ["4"]}
        assert "'4'" in decide(client, bandit, status=422, **wrong)["detail"]


def test_a_server_stops_while_it_draws_samples(tmp_path):
    with ForkedServer(str(tmp_path / "s.db"), tmp_path / "log") as server:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            spec = {"name": "s", "arms": 5000, "k": 5, "oracle": "singletons"}
            id = http.post("/v1/bandits", json=spec).json()["id"]
            with pytest.raises(httpx.TimeoutException):
                http.post(f"/v1/bandits/{id}/decisions", json=LONG, timeout=0.3)
        assert server.stop() == 0  # within 30 seconds


def test_looks_are_those_of_the_thread():
    """Work in another thread is not stopped."""

    def refuse():
        raise InterruptedError

    policy = sa.cts(sa.LinearReward(4), 2)
    with stopping(refuse), pytest.raises(InterruptedError):
        sa.Session(policy, seed=1).ask()
    sa.Session(policy, seed=1).ask()
    assert policy.evaluations == 4


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("inside", [{}, {INSIDE: True}])
def test_a_server_that_waits_no_longer_says_so(begun, inside):
    """Also to another worker, which passes it on to the client. It was a 500 without words."""
    sent = []

    async def endless(scope, receive, send):
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def stop():
        guard = Guard(endless, Gate(Metrics(), most_body=100), None)
        scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": [], **inside}
        task = asyncio.ensure_future(guard(scope, None, send))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    # A stream that has begun can only be cut off.
    assert asyncio.run(stop()) is begun
    assert [one["status"] for one in sent if "status" in one] == [200 if begun else 503]
    if not begun:
        assert json.loads(sent[1]["body"])["detail"] == "the server is about to stop"
