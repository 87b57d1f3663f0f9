"""A server of two workers, as its clients see it; `test_service_crash` kills workers."""

import asyncio
import json
import re
import select
import socket
import time

import httpx
import pytest

import edge_clients
from forked_server import ForkedServer
from superarm.client import Client, EdgeBandit
from superarm.service import server, workers
from superarm.service.bandits.replay import replay
from superarm.service.http import team
from superarm.service.http.keys import make
from superarm.service.http.team import Team, channels
from superarm.service.log.folder import FolderStore, files_of, prepare
from superarm.service.log.store import StoreError
from superarm.service.problems import Problem
from superarm.service.settings import Settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workers") / "bandits"


@pytest.fixture(scope="module")
def running(folder):
    served = ForkedServer(str(folder), folder.parent / "log", "--workers", "2", "--quiet")
    with served.start() as started:
        yield started
        assert started.stop() == 0, started.said


@pytest.fixture(scope="module")
def http(running):
    with httpx.Client(base_url=running.url, timeout=60, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def bandits(http):
    """Four bandits, which are spread evenly over the workers."""
    body = {"arms": ["ant", "bee", "cat", "dog"], "k": 2, "seed": 1}
    made = [http.post("/v1/bandits", json={"name": f"b{n}", **body}) for n in range(4)]
    assert [one.status_code for one in made] == [201] * 4
    return [one.json()["id"] for one in made]


def test_every_file_gets_its_share(bandits, folder):
    store = FolderStore(folder, "read")
    try:
        found = {one.id: (one.number, store.file_of(one.number)) for one in store.bandits(10)}
    finally:
        store.close()
    assert [found[id] for id in bandits] == [(1, 0), (2, 1), (3, 0), (4, 1)]


def test_a_connection_may_ask_any_bandit(http, bandits):
    for number in range(1, 4):
        for id in bandits:
            answer = http.post(f"/v1/bandits/{id}/decisions")
            assert (answer.status_code, answer.json()["id"]) == (201, f"{id}-{number}")
            told = {"outcomes": dict.fromkeys(answer.json()["arms"], 1.0)}
            assert http.post(f"/v1/decisions/{id}-{number}/outcomes", json=told).json()["new"]
    for id in bandits:
        lines = http.get(f"/v1/bandits/{id}/log").text.splitlines()
        assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))


def test_edge_bandits_of_both_workers(running, http, bandits):
    with Client(running.url) as client:
        for id in bandits[:2]:
            edges = [EdgeBandit(client, id) for _ in range(2)]
            sent = [one.id for edge in edges for one in edge_clients.play(edge, 10)]
            assert [edge.sync() for edge in edges] == [10, 10]
            assert edges[1].session.policy.belief.outcomes.counts.sum() >= 40
            log = [json.loads(line) for line in http.get(f"/v1/bandits/{id}/log").text.splitlines()]
            found = [one["id"] for event in log for one in event.get("decisions", ())]
            assert [one for one in found if "." in one] == sent


def test_requests_that_come_together_are_answered_in_order(running, bandits):
    """The second and third ones are read with the first, so the connection cannot be handed on."""
    asked = [bandits[0], bandits[1], bandits[2]]
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        for id in asked:
            head = f"GET /v1/bandits/{id}?top=0 HTTP/1.1\r\nHost: localhost\r\n"
            connection.sendall(f"{head}\r\n".encode())
        got = b""
        while got.count(b'"posterior"') < 3:
            got += connection.recv(65536)
    assert re.findall(rb'\{"id":"([a-z2-9]{10})"', got) == [id.encode() for id in asked]


def test_heads_of_another_worker_have_no_body(running, bandits):
    """A worker that waited for the body took the other one for lost, and closed the connection."""
    paths = [f"/v1/bandits/{id}{rest}" for id in bandits[:2] for rest in ("", "/log")]
    paths += ["/healthz", "/metrics"]
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        # At once, so that the connection cannot be handed on.
        requests = [f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in paths]
        connection.sendall("".join(requests).encode())
        got = b""
        while got.count(b"\r\n\r\n") < len(paths):
            piece = connection.recv(65536)
            assert piece, got
            got += piece
    heads = got.decode().split("\r\n\r\n")
    assert heads.pop() == ""
    for path, head in zip(paths, heads, strict=True):
        status, *lines = head.lower().splitlines()
        names = [line.partition(":")[0] for line in lines]
        assert status == "http/1.1 200 ok"
        assert names.count("date") == 1
        assert names.count("content-length") == (not path.endswith("/log"))


def test_requests_in_small_pieces_arrive(running, bandits):
    for id in bandits[:2]:
        request = f"GET /v1/bandits/{id}?top=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for start in range(0, len(request), 20):
                connection.sendall(request[start : start + 20])
                time.sleep(0.002)
            got = b""
            while b'"posterior"' not in got:
                got += connection.recv(65536)
        assert f'"id":"{id}"'.encode() in got


def test_the_rest_of_a_head_is_no_request_for_another_worker(running, bandits):
    one, other = (
        f"GET /v1/bandits/{id}?top=0 HTTP/1.1\r\nHost: localhost\r\n\r\n" for id in bandits[:2]
    )
    # Both workers know both bandits after some requests, and hand on connections to them.
    head = "GET /nowhere HTTP/1.1\r\nX: "
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        for sent in [one, other] * 3 + [one + head]:
            connection.sendall(sent.encode())
            got = b""
            while b'"posterior"' not in got:
                got += connection.recv(65536)
        connection.sendall(other.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 404")


def test_lists_and_names_cover_all_workers(http, bandits):
    pages, after = [], None
    while not pages or after:
        params = {"limit": 3} | ({"after": after} if after else {})
        page = http.get("/v1/bandits", params=params).json()
        pages += page["bandits"]
        after = page["next"]
    assert [one["id"] for one in pages] == bandits
    for number, id in enumerate(bandits):
        named = http.get("/v1/bandits", params={"name": f"b{number}"}).json()["bandits"]
        assert [one["id"] for one in named] == [id]


def test_a_name_is_taken_in_all_files(http, bandits):
    body = {"name": "b1", "arms": ["ant", "bee", "cat", "dog"], "k": 2, "seed": 1}
    assert http.post("/v1/bandits", json=body).json()["id"] == bandits[1]
    assert http.post("/v1/bandits", json={**body, "k": 1}).status_code == 409


def test_bulk_requests_are_split_by_bandit(http, bandits):
    asked = [*bandits, "aaaaaaaaaa", *bandits]
    wanted = {"decisions": [{"bandit": id, "k": 1} for id in asked]}
    results = http.post("/v1/decisions", json=wanted).json()["results"]
    made = [one["answer"] for one in results if "answer" in one]
    assert [one["bandit"] for one in made] == bandits * 2
    assert results[4]["problem"]["status"] == 404
    told = [{"decision": one["id"], "outcomes": {one["arms"][0]: 1.0}} for one in made]
    text = "\n".join(json.dumps(one) for one in [*told, {**told[0], "decision": "x"}])
    answer = http.post(
        "/v1/outcomes", content=text, headers={"Content-Type": "application/x-ndjson"}
    )
    statuses = [one.get("answer", one.get("problem"))["status"] for one in answer.json()["results"]]
    assert statuses == ["told"] * 8 + [404]


def test_a_bulk_request_that_does_not_fit_changes_nothing(http, bandits):
    before = [http.get(f"/v1/bandits/{id}").json()["events"] for id in bandits]
    for wanted in ({"decisions": bandits[0]}, {"decisions": [], "k": 1}, [{"bandit": bandits[0]}]):
        assert http.post("/v1/decisions", json=wanted).status_code == 422
    assert [http.get(f"/v1/bandits/{id}").json()["events"] for id in bandits] == before


def test_an_item_that_does_not_fit_has_its_own_problem(http, bandits):
    before = [http.get(f"/v1/bandits/{id}").json()["events"] for id in bandits]
    wanted = {"decisions": [*({"bandit": id} for id in bandits), {"bandit": bandits[0], "k": -1}]}
    *good, bad = http.post("/v1/decisions", json=wanted).json()["results"]
    assert [one["answer"]["bandit"] for one in good] == bandits
    assert bad["problem"]["status"] == 422
    after = [http.get(f"/v1/bandits/{id}").json()["events"] for id in bandits]
    assert after == [n + 1 for n in before]


def test_problems_are_those_of_one_process(http, bandits):
    answers = [
        http.get("/v1/bandits/aaaaaaaaaa"),
        http.get("/v1/decisions/nothing"),
        http.post(f"/v1/bandits/{bandits[0]}/decisions", json={"k": 99}),
        http.post(f"/v1/bandits/{bandits[1]}/decisions", json={"k": 99}),
        http.put(f"/v1/bandits/{bandits[1]}"),
    ]
    assert [one.status_code for one in answers] == [404, 404, 422, 422, 405]
    kind = "application/problem+json"
    assert {one.headers["content-type"].split(";")[0] for one in answers} == {kind}


def test_health_and_metrics_are_those_of_all_workers(running, http, bandits):
    running.wait_until_up()
    for id in bandits[:2]:
        assert http.post(f"/v1/bandits/{id}/decisions").status_code == 201
    text, decided = "", []
    while decided != ["0", "1"]:  # a worker that is slow to answer is left out
        text = http.get("/metrics").text
        decided = re.findall(r'superarm_events_total\{worker="(\d)",kind="decided"\} ', text)
    # Each metric is described once.
    described = re.findall(r"# TYPE (\S+)", text)
    assert len(described) == len(set(described))
    routes = set(re.findall(r'route="([^"]*)"', text))
    assert "/v1/bandits/{id}/decisions" in routes
    assert "/healthz" in routes


def test_the_page_is_served(http):
    assert "text/html" in http.get("/").headers["content-type"]


def test_a_log_can_be_followed_at_another_worker(running, bandits):
    for id in bandits[:2]:
        # A new connection each time: the first request may arrive at the wrong worker.
        with (
            httpx.Client(base_url=running.url, timeout=60, verify=False) as own,
            own.stream("GET", f"/v1/bandits/{id}/log", params={"follow": True}) as followed,
        ):
            first = next(followed.iter_lines())
        assert json.loads(first)["kind"] == "created"


def test_what_the_workers_wrote_can_be_replayed(http, bandits, folder):
    for id in bandits:  # the other tests may run in another process
        decision = http.post(f"/v1/bandits/{id}/decisions").json()
        told = {"outcomes": dict.fromkeys(decision["arms"], 1.0)}
        http.post(f"/v1/decisions/{decision['id']}/outcomes", json=told).raise_for_status()
    with server.opened(str(folder), "read") as store:
        for id in bandits:
            bandit = store.bandit(id)
            assert replay(store, bandit, {}, decide=True).live.session.rounds > 0


def test_a_folder_has_one_server(running, folder):
    with pytest.raises(server.StartError, match="served by another process"):
        workers.serve(Settings(str(folder), n_workers=3))
    assert [file.name for file in files_of(folder)] == ["0.db", "1.db"]


def test_a_file_is_not_for_several_workers(tmp_path):
    path = tmp_path / "one.db"
    server.open_store(str(path)).close()
    with pytest.raises(server.StartError, match=r"move the file there as 0\.db"):
        workers.serve(Settings(str(path), n_workers=2))


@pytest.mark.parametrize("missing", ["0.db", "1.db", "2.db"])
def test_files_may_not_be_missing(tmp_path, missing):
    prepare(tmp_path, 3)
    (tmp_path / missing).unlink()
    for look in (lambda: FolderStore(tmp_path), lambda: prepare(tmp_path, 3)):
        with pytest.raises(StoreError, match=rf"0\.db to 2\.db, got no \['{missing}'\]"):
            look()


def test_a_folder_of_an_older_version_gets_its_number_of_files(tmp_path):
    prepare(tmp_path, 2)
    (tmp_path / "n_files").unlink()
    assert len(files_of(tmp_path)) == prepare(tmp_path, 1) == 2
    (tmp_path / "1.db").unlink()
    with pytest.raises(StoreError, match=r"1\.db"):
        files_of(tmp_path)
    (tmp_path / "n_files").write_text("two")
    with pytest.raises(StoreError, match="the number of databases, got 'two'"):
        files_of(tmp_path)


def test_one_process_serves_a_folder_and_keys_are_in_its_first_file(tmp_path):
    assert prepare(tmp_path, 2) == 2
    assert prepare(tmp_path, 1) == 2
    with server.opened(str(tmp_path), "write") as store:
        store.add_key(make("admin")[1])
    with server.opened(str(tmp_path / "0.db"), "read") as store:
        assert [row.role for row in store.key_rows()] == ["admin"]
    store = server.open_store(str(tmp_path))
    try:
        assert len(store.key_rows()) == 1
        store.check()
    finally:
        store.close()


def test_a_start_that_fails_ends_all_workers_and_says_why(tmp_path):
    served = ForkedServer(str(tmp_path / "b"), tmp_path / "log", "--workers", "2", "--keys")
    assert served.start(wait=False).process.wait(timeout=60) == 1
    assert "superarm keys add" in served.said
    # A worker that fails when it is started again only says so in the log.
    assert '"worker_failed"' in served.said


def test_a_worker_that_is_lost_while_another_is_started_again_is_noticed(tmp_path):
    """The parent pauses before it starts a young worker again. No signal may be dropped then."""
    options = ("--workers", "2", "--quiet")
    with ForkedServer(str(tmp_path / "b"), tmp_path / "log", *options).start() as served:
        # One worker may answer while the other has not begun.
        wait_until(lambda: served.said.count('"listening"') == 2)
        first, second = served.workers()
        first.kill()
        wait_until(lambda: served.said.count("worker_lost") == 1)
        second.kill()
        wait_until(lambda: served.said.count('"listening"') == 4)
        assert served.said.count("worker_lost") == 2
        assert served.stop() == 0, served.said


@pytest.mark.parametrize("n_read", [0, 10])
def test_a_worker_that_is_lost_with_a_request_is_no_failure(n_read):
    """The operating system then resets the connection. It was a 500, which nobody repeats."""

    async def ask():
        pairs = channels(2)
        asking = asyncio.ensure_future(Team(0, pairs, None).ask(1, b"GET /healthz HTTP/1.1\r\n"))
        while not select.select([pairs[1][0]], [], [], 0)[0]:
            await asyncio.sleep(0)
        _, (file,), _, _ = socket.recv_fds(pairs[1][0], 1, 1)
        with socket.socket(fileno=file) as home:
            while not select.select([home], [], [], 0)[0]:
                await asyncio.sleep(0)
            home.recv(n_read)
        with pytest.raises(Problem, match="was lost") as lost:
            await asking
        for one in (one for pair in pairs for one in pair):
            one.close()
        return lost.value.status

    assert asyncio.run(ask()) == 503


def test_a_worker_takes_no_connection_after_its_end_has_begun():
    async def hand_over():
        pairs = channels(2)
        teams, taken = [Team(number, pairs, None) for number in range(2)], []
        teams[1].listen(lambda *what: taken.append(what))
        for is_there in (True, False):
            if not is_there:
                teams[1].leave()
            here, there = socket.socketpair()
            with here, there:
                assert teams[0]._send(1, there.fileno(), team._FROM_CLIENT + b"GET")
                for _ in range(10):
                    await asyncio.sleep(0)
        for connection, *_ in taken:
            connection.close()
        for one in (one for pair in pairs for one in pair):
            one.close()
        return [data for _, data, _ in taken]

    assert asyncio.run(hand_over()) == [b"GET"]


def test_a_worker_that_stops_does_not_say_that_another_one_was_lost(monkeypatch):
    monkeypatch.setattr(team, "_END_S", 0.01)
    pairs = channels(2)
    one = Team(0, pairs, None)
    one.closing = lambda: True
    with pytest.raises(Problem, match="about to stop"):
        asyncio.run(one.ask(1, b"GET /healthz HTTP/1.1\r\n"))
    for end in (end for pair in pairs for end in pair):
        end.close()


def wait_until(is_so, patience_s=60):
    end = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
