"""Batches of the edge in the log: servers that fail or are killed, compaction, and replay."""

import sqlite3

import httpx
import numpy as np
import pytest

from edge_clients import ONCE, Line, belief_of, merged, play, taught
from forked_server import ForkedServer
from serving import client_of, create, decide, tell
from superarm.client import Client, EdgeBandit, ServerError, UnreachableError
from superarm.offpolicy.export import read_export
from superarm.service.bandits.compaction import compact
from superarm.service.bandits.replay import replay
from superarm.service.export import export
from superarm.service.log import queries
from superarm.service.log.sqlite import SQLiteStore


def check_replay(path, bandit, same=True):
    store = SQLiteStore(path, "read")
    try:
        found = replay(store, store.bandit(bandit), {}, decide=True)
        assert found.same is same
        return found.live
    finally:
        store.close()


@pytest.mark.parametrize("most_read", [1, queries._MOST_READ])
def test_a_batch_cannot_count_again_after_its_event_was_compacted(path, monkeypatch, most_read):
    """Also if the first event is so large that it is read alone."""
    monkeypatch.setattr(queries, "_MOST_READ", most_read)
    day = [100.0]
    with client_of(path, clock=lambda: day[0] * 86_400) as client:
        line, bandit = Line(client), create(client, seed=1)
        first = line.edge(bandit)
        play(first, 2)
        first.sync()
        again = next(request for noun, request, _ in line.passed if noun == "batches")
        play(first, 1)
        first.sync()  # the last event before the removal stays
        day[0] = 102.0
        decision = decide(client, bandit)
        tell(client, decision["id"], dict.fromkeys(decision["arms"], 1.0))
    store = SQLiteStore(path)
    assert compact(store, store.bandit(bandit), {}, 101.5 * 86_400).n_events > 0
    store.close()
    with client_of(path) as client:
        line = Line(client)
        before = belief_of(line, bandit)
        sent = {"content": again.content, "headers": again.headers}
        answer = client.post(again.url.raw_path.decode(), **sent)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:superarm:snapshot-unknown")
        assert belief_of(line, bandit) == before
        edge = line.edge(bandit)
        play(edge, 1)
        assert edge.sync() == 1


def test_files_of_removed_days_stay_as_they_are(path, tmp_path):
    """A batch may come after midnight, and clients count their decisions anew."""
    out, day = tmp_path / "archive", [100.2]
    with client_of(path, clock=lambda: day[0] * 86_400) as client:
        line, bandit = Line(client), create(client, seed=1)
        early = line.edge(bandit, clock=lambda: day[0] * 86_400)
        late = line.edge(bandit, clock=lambda: day[0] * 86_400)
        made = play(early, 3, propensities=5)
        early.close()
        made += play(late, 2, propensities=5)
        day[0] = 101.2
        late.sync()
    store = SQLiteStore(path)
    of_days = [export(store, store.bandit(bandit), out)]
    before = read_export(out)
    assert compact(store, store.bandit(bandit), {}, 101 * 86_400).n_events == 1
    of_days.append(export(store, store.bandit(bandit), out))
    store.close()
    assert [len(files) for files in of_days] == [2, 1]
    assert read_export(out) == before
    assert [row["arms"] for row in before[0]] == [list(one.arms) for one in made]


def test_a_commit_that_fails_is_no_loss(path, monkeypatch):
    with client_of(path) as client:
        line, bandit = Line(client), create(client, seed=1)
        edge = line.edge(bandit)
        play(edge, 5)
        with monkeypatch.context() as patch:
            patch.setattr(SQLiteStore, "_write", _broken)
            with pytest.raises(ServerError, match="nothing was changed"):
                edge.sync()
        assert edge.n_unsent == 5
    # A server that was killed has no checkpoint of what it did last.
    with client_of(path, checkpoints=False) as client:
        line.service = client
        assert edge.sync() == 5
        assert edge.session.policy.belief.state() == taught(line, bandit)
        line.lost = "answer"
        play(edge, 3)
        with pytest.raises(UnreachableError):
            edge.sync()
    with client_of(path, checkpoints=False) as client:
        line.service, line.lost = client, None
        assert edge.sync() == 3
        assert len(merged(line, bandit)) == 8
        assert edge.session.policy.belief.state() == taught(line, bandit)


def _broken(self, statements):
    raise sqlite3.OperationalError("the disk is broken")


class Killing(httpx.BaseTransport):
    """Kills the server after it has answered a batch, so that the answer is lost."""

    def __init__(self, server):
        self.server, self.inner, self.is_armed = server, httpx.HTTPTransport(), False

    def handle_request(self, request):
        answer = self.inner.handle_request(request)
        if self.is_armed and request.url.path.endswith("/batches"):
            self.server.kill()
            answer.close()
            raise httpx.ReadError("killed")
        return answer

    def close(self):
        self.inner.close()


def test_a_server_that_is_killed_loses_and_doubles_nothing(tmp_path):
    server = ForkedServer(str(tmp_path / "killed.db"), tmp_path / "server.log").start()
    line = Killing(server)
    with Client(server.url, transport=line, retries=ONCE) as client:
        bandit = client.create("canteen", ["ant", "bee", "cat", "dog"], 2)
        edge = EdgeBandit(client, bandit)
        sent = play(edge, 50)
        line.is_armed = True
        with pytest.raises(UnreachableError):
            edge.sync()
        line.is_armed = False
        server.start()
        sent += play(edge, 5)
        assert edge.sync() == 55
        ids = [
            one["id"]
            for event in client.log(bandit)
            if event["kind"] == "merged"
            for one in event["decisions"]
        ]
    server.kill()
    assert ids == [one.id for one in sent]


SPECS = {
    "expiry and hold-out": {"expiry": {"after_s": 60, "missing": 0.25}, "holdout": 0.3},
    "contexts": {
        "belief": {"kind": "linear", "context": 2},
        "features": [[1.0], [0.0], [1.0], [2.0]],
    },
    "places": {"belief": {"kind": "cascading"}},
    "an oracle with a memory": {
        "belief": "ucb",
        "oracle": {"kind": "rarely", "oracle": "greedy", "when": 3},
    },
}


@pytest.mark.parametrize("name", SPECS)
def test_replay_is_the_same_bit_for_bit(path, name):
    rng, now = np.random.default_rng(0), [1e9]
    with client_of(path, checkpoint_every=3, clock=lambda: now[0]) as client:
        line, bandit = Line(client), create(client, seed=1, **SPECS[name])
        edge = line.edge(bandit, clock=lambda: now[0])
        for _ in range(4):
            context = {"context": rng.random(2).tolist()} if name == "contexts" else {}
            for _ in range(3):
                one = edge.ask(**context)
                # Fractions: some beliefs round them at random, with the generator of the session.
                edge.tell(one, {arm: round(rng.random(), 3) for arm in one.arms})
            edge.ask(**context)
            made = decide(client, bandit, **context)
            tell(client, made["id"], dict.fromkeys(made["arms"], 0.75))
            now[0] += 90.0
            edge.sync()
        n_merged = len(merged(line, bandit))
        client.app.state.service.engine.checkpoints.wait()
        lift = client.get(f"/v1/bandits/{bandit}/lift").json() if "hold" in name else None
    assert n_merged == (15 if "expiry" in name else 12)
    live = check_replay(path, bandit)
    if lift is not None:
        assert (lift["n_policy"], lift["n_holdout"]) == tuple(live.session._unlocked.trial.counts)
        assert lift["n_policy"] + lift["n_holdout"] == n_merged + 4


def test_a_forked_process_sends_nothing_twice(path):
    """Its copy would have the same decisions, the same draws, and a lock that may be locked."""
    with client_of(path) as client:
        line, bandit = Line(client), create(client, seed=1)
        edge = line.edge(bandit)
        play(edge, 3)
        edge.ask()
        edge._process += 1  # as a copy in another process finds it
        for call in (edge.ask, edge.sync, edge.close, edge.drop, lambda: edge.ask_many(2)):
            with pytest.raises(RuntimeError, match="make one in each process"):
                call()
        edge._process -= 1
        edge.close()
        assert len(merged(line, bandit)) == 4
