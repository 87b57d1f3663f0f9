"""Decisions and outcomes on the short way: the same bytes as through the application.

Two servers with the same clock and the same ids get the same bytes, in the same pieces. One has the
short way, the other has not.
"""

import asyncio
import itertools
import json
import random
from types import SimpleNamespace

import pytest

from superarm.service import server
from superarm.service.bandits import ids
from superarm.service.bandits.engine import Engine
from superarm.service.http import express, gate, keys
from superarm.service.http.endpoint import Endpoint
from superarm.service.http.heads import Heads
from superarm.service.http.service import Service
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits, Settings
from two_ways import (
    BANDIT,
    DECIDE,
    JSON,
    LONG,
    OUTCOMES,
    PROXY,
    SHORT,
    SMUGGLED,
    TELL,
    Broken,
    Movable,
    Side,
    of_json,
    post,
)

_LIMITS = Limits(body=3000, samples=100)
_N_SPOILED = 200


@pytest.fixture
def short(monkeypatch):
    """The paths of requests that took the short way."""
    found, init = [], express._Request.__init__

    def note(self, connection, endpoint, given, head, about):
        found.append(about[0])
        init(self, connection, endpoint, given, head, about)

    monkeypatch.setattr(express._Request, "__init__", note)
    return found


@pytest.fixture
def lines(monkeypatch):
    """The lines of requests in the log, without their times."""
    found = []

    def note(method, path, status, seconds, key_id, client):
        found.append((method, path, status, key_id, client))

    monkeypatch.setattr(gate.logs, "request_line", note)
    monkeypatch.setattr(ids, "new_id", lambda: BANDIT)
    return found


def played(path, client, *, key=None, limits=_LIMITS, **options):
    """The result of ``client(side)`` with a new server that has one bandit."""

    async def play():
        side = Side(path, limits=limits, **options)
        arms = {"name": "b", "arms": ["ant", "bee", "cat"], "k": 2, "seed": 1}
        own = [] if key is None else [f"X-API-Key: {key}"]
        said, _ = await side.play([of_json("/v1/bandits", arms, *own)])
        assert said.startswith(b"HTTP/1.1 201"), said
        try:
            return await client(side)
        finally:
            side.engine.close()

    with asyncio.Runner(loop_factory=Movable) as runner:
        return runner.run(play())


def on_both(tmp_path, lines, client, **options):
    """What a client found on both ways, each with the lines of the log."""
    found = []
    for is_short in (False, True):
        lines.clear()
        said = played(tmp_path / f"{is_short}.db", client, short=is_short, **options)
        found.append((said, list(lines)))
    return found


def test_both_ways_say_the_same(tmp_path, lines, short):
    async def client(side):
        said, on_short = {}, set()
        for name, pieces in {**SHORT, **LONG, **SMUGGLED}.items():
            short.clear()
            said[name] = await side.play(pieces)
            if short:
                on_short.add(name)
        return said, side.counts(), on_short

    (long_way, long_lines), (short_way, short_lines) = on_both(tmp_path, lines, client)
    for name, said in long_way[0].items():
        assert short_way[0][name] == said, name
    assert short_way[1] == long_way[1]
    assert short_lines == long_lines
    # Otherwise the comparison would compare nothing.
    assert long_way[2] == set()
    assert short_way[2] == set(SHORT)
    statuses = {said[9:12] for said, _ in long_way[0].values()}
    assert statuses >= {b"200", b"201", b"400", b"403", b"404", b"405", b"409", b"413", b"415"}


def spoil(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(len(data))
        what = rng.random()
        if what < 0.3:
            del data[at : at + rng.choice([1, 1, 5, 50])]
        elif what < 0.6:
            data[at:at] = data[at : at + rng.choice([1, 5, 50])]
        else:
            data[at] = rng.randrange(256)
        if not data:
            return b"x"
    return bytes(data)


def cut(data, rng):
    places = sorted(rng.sample(range(len(data)), min(len(data), rng.choice([0, 0, 1, 3]))))
    ends = [0, *places, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(ends) if a < b]


def test_both_ways_say_the_same_to_spoiled_requests(tmp_path, lines, short):
    """Some bytes of conversations are lost, doubled or others, and they come in other pieces."""
    rng = random.Random(1)
    known = [b"".join(pieces) for pieces in {**SHORT, **LONG}.values()]
    spoiled = [cut(spoil(rng.choice(known), rng), rng) for _ in range(_N_SPOILED)]

    async def client(side):
        return [await side.play(pieces) for pieces in spoiled], side.counts()

    (long_way, long_lines), (short_way, short_lines) = on_both(tmp_path, lines, client)
    for pieces, said, other in zip(spoiled, long_way[0], short_way[0], strict=True):
        assert other == said, pieces
    assert short_way[1] == long_way[1]
    assert short_lines == long_lines
    assert len(short) > _N_SPOILED / 4


def test_remembered_heads_change_nothing(tmp_path, lines, monkeypatch):
    """Conversations come again, and spoiled ones after them, against a parser of all heads."""
    rng = random.Random(2)
    known = [b"".join(pieces) for pieces in {**SHORT, **SMUGGLED}.values()]
    spoiled = [[spoil(rng.choice(known), rng)] for _ in range(_N_SPOILED // 2)]
    talks = [*SHORT.values(), *SHORT.values(), *SMUGGLED.values(), *spoiled]
    recall, recalled = Heads.recall, []

    async def client(side):
        return [await side.play(pieces) for pieces in talks], side.counts()

    def note(heads, data):
        found = recall(heads, data)
        recalled.extend([] if found is None else [data])
        return found

    found = []
    for name, how in (("all", lambda heads, data: None), ("some", note)):
        lines.clear()
        monkeypatch.setattr(Heads, "recall", how)
        said = played(tmp_path / f"{name}.db", client, short=True)
        found.append((said, list(lines)))
    assert found[0] == found[1]
    assert len(recalled) > len(SHORT)


def test_heads_with_keys_of_their_own_are_remembered(tmp_path, lines, short, monkeypatch):
    """A key that comes with each request is read from it, and what is not plain is parsed."""
    recall, recalled = Heads.recall, []

    def note(heads, data):
        found = recall(heads, data)
        recalled.append(found is not None)
        return found

    names = ["Idempotency-Key: a", "Idempotency-Key: b", "idempotency-key: a", ""]
    names += [
        "Idempotency-Key:a",
        "Idempotency-Key: a b",
        "Idempotency-Key: b\r\nIdempotency-Key: c",
    ]
    sent = [of_json(DECIDE, {}, *filter(None, [name])) for name in names]

    async def client(side):
        return [await side.play([one]) for one in sent], side.counts()

    monkeypatch.setattr(Heads, "recall", note)
    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    # The first one makes the bandit.
    assert recalled == [False, False, True, True, True, False, False, False]
    ids = [json.loads(said.partition(b"\r\n\r\n")[2]).get("id") for said, _ in found[0][0][0]]
    assert ids == [f"{BANDIT}-{n}" if n else None for n in (1, 2, 1, 3, 1, 0, 0)]


def test_both_ways_ask_for_keys(tmp_path, lines, short):
    """Keys of all roles, unknown keys and none, on one connection each."""
    made = {role: keys.make(role) for role in keys.ROLES}
    for name in ("True", "False"):
        store = SQLiteStore(tmp_path / f"{name}.db", "write")
        for _, row in made.values():
            store.add_key(row)
        store.close()
    sent = {role: [f"X-API-Key: {key}"] for role, (key, _) in made.items()}
    sent |= {
        "bearer": [f"Authorization: Bearer {made['decide'][0]}"],
        "unknown": ["X-API-Key: superarm_x"],
        "basic": ["Authorization: Basic x"],
        "none": [],
        "both": ["X-API-Key: x", f"Authorization: Bearer {made['decide'][0]}"],
        # Another website does not know the key.
        "website": [f"X-API-Key: {made['decide'][0]}", "Origin: http://evil.example"],
    }

    async def client(side):
        said = {}
        for name, headers in sent.items():
            whole = of_json(DECIDE, {}, *headers)
            said[name] = await side.play([whole, whole, whole[:-2], b"{}"])
        return said, side.counts()

    found = on_both(tmp_path, lines, client, with_keys=True, key=made["admin"][0])
    assert found[0] == found[1]
    statuses = [said[9:12] for said, _ in found[0][0][0].values()]
    assert statuses == [b"403", b"201", b"201", b"201", b"401", b"401", b"401", b"401", b"201"]
    assert len(short) == 3 * 4  # three requests of each one that may decide


def test_a_remembered_head_with_a_dropped_key_is_refused(tmp_path, lines, short):
    made = {role: keys.make(role) for role in ("admin", "decide")}
    for name in ("True", "False"):
        store = SQLiteStore(tmp_path / f"{name}.db", "write")
        for _, row in made.values():
            store.add_key(row)
        store.close()
    request = of_json(DECIDE, {}, f"X-API-Key: {made['decide'][0]}")

    async def client(side):
        connection = side.connect()
        for n_dropped in (0, 0, 1, 1):
            if n_dropped:
                side.engine.store.drop_key(made["decide"][1].id)
                side.config.app.state.gate.refresh()
            connection.data_received(request)
            await side.settle(connection)
        said = b"".join(connection.transport.written)
        return [said.count(b"HTTP/1.1 %d" % status) for status in (201, 401)]

    found = on_both(tmp_path, lines, client, with_keys=True, key=made["admin"][0])
    assert found[0] == found[1]
    assert found[0][0] == [2, 2]
    assert len(short) == 2


def test_both_ways_count_the_same_requests(tmp_path, lines, short, monkeypatch):
    """A refused request takes nothing from the rate, also if it was first on the short way."""
    now = SimpleNamespace(monotonic=lambda: 1.0)
    monkeypatch.setattr(gate, "time", now)
    requests = [of_json(DECIDE, {}), post(DECIDE, "{", JSON), of_json(DECIDE, {})]
    requests += [of_json(DECIDE, {}, "Connection: close"), of_json(TELL, OUTCOMES)]

    async def client(side):
        return [await side.play([one] * 2) for one in requests], side.counts()

    found = on_both(tmp_path, lines, client, limits=Limits(rate=4.0))
    assert found[0] == found[1]
    assert any(b"HTTP/1.1 429" in said for said, _ in found[0][0][0])
    assert short


def test_both_ways_see_the_client_behind_a_proxy(tmp_path, lines, short):
    forwarded = of_json(DECIDE, {}, "X-Forwarded-For: 1.2.3.4, 5.6.7.8", "X-Forwarded-Proto: https")

    async def client(side):
        # The second address is no proxy, so anybody could have sent the header.
        return [await side.play([forwarded] * 2, address) for address in (PROXY, "10.0.0.2")]

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    assert [line[-1] for line in found[0][1][1:]] == ["5.6.7.8"] * 2 + ["10.0.0.2"] * 2
    assert len(short) == 4


def test_both_ways_answer_when_the_server_fails(tmp_path, lines, short, monkeypatch):
    def fail(self, answer):
        raise RuntimeError("a bug")

    async def client(side):
        with monkeypatch.context() as patch:
            patch.setattr(Endpoint, "headers", fail)
            failed = await side.play([of_json(DECIDE, {})])
        return failed, await side.play([of_json(DECIDE, {})]), side.counts()

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    (said, is_closed), _, counts = found[0][0]
    assert said.startswith(b"HTTP/1.1 500")
    assert is_closed
    assert len(counts) == 3
    assert len(short) == 2


def held(side):
    """The replies of requests, which are at work until the test answers them."""
    replies = []
    side.engine.start = lambda wanted, reply, **how: replies.append(reply)
    return replies


async def at_work(side):
    """A connection whose request is at work, and its reply."""
    replies, connection = held(side), side.connect()
    connection.data_received(of_json(DECIDE, {}))
    while not replies:
        await asyncio.sleep(0)
    assert not replies[0].is_over
    return connection, replies[0]


async def move_clock(seconds):
    asyncio.get_running_loop().moved_s += seconds
    for _ in range(5):  # timers, and what they start
        await asyncio.sleep(0)


def answer(reply):
    reply.put(0, {"id": "x", "arms": ["ant"]})


def test_both_ways_have_a_deadline(tmp_path, lines, short):
    async def client(side):
        connection, reply = await at_work(side)
        await move_clock(59.0)
        before = list(connection.transport.written)
        await move_clock(2.0)
        is_over = reply.is_over
        answer(reply)  # too late
        await side.settle(connection)
        return before, is_over, b"".join(connection.transport.written), side.counts()

    found = on_both(tmp_path, lines, client, deadline_s=60.0)
    assert found[0] == found[1]
    before, is_over, said, _ = found[0][0]
    assert (before, is_over, said[:12]) == ([], True, b"HTTP/1.1 504")
    assert short


@pytest.mark.parametrize("end", ["leaves", "is cancelled"])
def test_both_ways_stop_the_work_of_a_request(tmp_path, lines, short, end):
    """Its client leaves, or the server stops and does not wait any longer."""

    async def client(side):
        connection, reply = await at_work(side)
        if end == "leaves":
            connection.connection_lost(None)
        else:
            for task in side.state.tasks:
                task.cancel(msg="the end")
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return reply.is_over, b"".join(connection.transport.written)

    found = on_both(tmp_path, lines, client)
    assert found[0][0] == found[1][0]
    is_over, said = found[0][0]
    assert is_over
    if end == "leaves":
        assert said == b""
    else:  # no 499 and no 500: the client is there, and may repeat
        assert said.startswith(b"HTTP/1.1 503")
        assert b"the server is about to stop" in said
        assert b"retry-after: 1\r\n" in said
    assert short


def test_both_ways_answer_before_the_server_stops(tmp_path, lines, short):
    async def client(side):
        connection, reply = await at_work(side)
        idle = side.connect()
        for one in (connection, idle):
            one.shutdown()
        before = connection.transport.is_closed, idle.transport.is_closed
        answer(reply)
        await side.settle(connection)
        return before, b"".join(connection.transport.written), connection.transport.is_closed

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    before, said, is_closed = found[0][0]
    assert (before, is_closed) == ((False, True), True)
    assert b"connection: close\r\n" in said
    assert short


@pytest.mark.parametrize("request_", [of_json(DECIDE, {}), b"GET /healthz HTTP/1.1\r\n\r\n"])
def test_a_connection_that_comes_while_the_server_stops_has_one_answer(
    tmp_path, lines, short, request_
):
    """Such as one that another worker hands over. The server waits for the end of all."""

    async def client(side):
        side.service.closing = lambda: True
        return await side.play([request_])

    said, is_closed = played(tmp_path / "log.db", client, short=True)
    assert b" 20" in said[:12]
    assert b"connection: close\r\n" in said
    assert is_closed
    assert bool(short) == request_.startswith(b"POST")


def test_both_ways_close_idle_connections(tmp_path, lines, short):
    async def client(side):
        connection, closed = side.connect(), []
        for _ in range(2):
            connection.data_received(of_json(DECIDE, {}))
            await side.settle(connection)
            await move_clock(4.0)  # of the 5 seconds of uvicorn
            closed.append(connection.transport.is_closed)
        # A request that is at work is not idle, whichever way it takes, and the one before it took.
        replies, long = held(side), of_json(DECIDE, {}, "Expect: 100-continue")
        for request in (of_json(DECIDE, {}), long, of_json(DECIDE, {}), long):
            connection.data_received(request)
            while not replies and not connection.transport.is_closed:
                await asyncio.sleep(0)
            await move_clock(50.0)
            closed.append(connection.transport.is_closed)
            answer(replies.pop())
            await side.settle(connection)
        await move_clock(6.0)
        return [*closed, connection.transport.is_closed]

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    assert found[0][0] == [False, False, False, False, False, False, True]
    assert len(short) == 4


def test_a_client_that_does_not_read_waits(tmp_path, lines, short):
    """Answers that it does not read must not fill the memory of the server."""

    async def client(side):
        connection = side.connect()
        connection.pause_writing()
        connection.data_received(of_json(DECIDE, {}))
        for _ in range(100):
            await asyncio.sleep(0.0005)
        before = list(connection.transport.written)
        connection.resume_writing()
        await side.settle(connection)
        return before, b"".join(connection.transport.written)

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    assert found[0][0][0] == []
    assert not short


def test_a_request_that_began_before_the_last_answer_is_not_idle(tmp_path, lines, short):
    """Its head came in part with the request before it, so no other beginning is seen."""
    request = of_json(DECIDE, {})

    async def client(side):
        connection = side.connect()
        connection.data_received(request + request[:20])
        await side.settle(connection)
        connection.data_received(request[20:-1])
        await move_clock(6.0)  # of the 5 seconds of an idle connection
        is_closed = connection.transport.is_closed
        connection.data_received(request[-1:])
        await side.settle(connection)
        return is_closed, b"".join(connection.transport.written)

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    is_closed, said = found[0][0]
    assert (is_closed, said.count(b"HTTP/1.1 201")) == (False, 2)
    assert len(short) == 2


def test_a_late_head_does_not_answer_the_request_before_it(tmp_path, lines, short):
    """A client would take 408 for the answer to a decision that is at work."""

    async def client(side):
        connection, reply = await at_work(side)
        connection.data_received(of_json(DECIDE, {})[:20])
        await move_clock(_LIMITS.head_s + 1.0)
        before = b"".join(connection.transport.written)
        answer(reply)
        await side.settle(connection)
        answered = b"".join(connection.transport.written)
        await move_clock(2 * _LIMITS.head_s)
        return before, answered, connection.transport.is_closed

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    before, answered, is_closed = found[0][0]
    assert (before, answered[:12], is_closed) == (b"", b"HTTP/1.1 201", True)
    assert short


def test_empty_lines_do_not_hold_a_connection(tmp_path, lines, short):
    """They begin no request, but stop the clock of an idle connection."""

    async def client(side):
        connection = side.connect()
        connection.data_received(of_json(DECIDE, {}))
        await side.settle(connection)
        connection.data_received(b"\r\n")
        await move_clock(_LIMITS.head_s + 1.0)
        return connection.transport.is_closed

    found = on_both(tmp_path, lines, client)
    assert [said for said, _ in found] == [True, True]
    assert short


def test_a_client_that_leaves_ends_all_of_its_requests(tmp_path, lines, short):
    """Also the first of several, which would follow the log for ever."""
    follow = post(f"/v1/bandits/{BANDIT}/log?follow=true", method="GET", length=False)

    async def client(side):
        connection = side.connect()
        connection.data_received(of_json(DECIDE, {}) + follow + post("/healthz", method="GET"))
        while b"created" not in b"".join(connection.transport.written):
            await asyncio.sleep(0.001)
        connection.transport.close()
        connection.connection_lost(None)
        async with asyncio.timeout(10.0):
            while side.state.tasks:
                await asyncio.sleep(0.001)

    on_both(tmp_path, lines, client)
    assert short


@pytest.mark.parametrize("sent", [of_json(DECIDE, {}), post("/healthz", method="GET")])
def test_a_client_that_leaves_before_its_answers_is_no_error(tmp_path, lines, caplog, sent):
    async def client(side):
        connection = side.connect(wire=Broken)
        connection.data_received(sent * 3)
        await side.settle(connection)
        connection.connection_lost(None)

    on_both(tmp_path, lines, client)
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


def test_a_request_is_not_begun_again_by_one_that_has_no_cycle(tmp_path, lines, short):
    """Uvicorn makes no cycle for a request that it hands to a library for web sockets."""
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]

    async def client(side):
        connection = side.connect()
        connection.ws_protocol_class = object  # whether such a library is installed or not
        connection.handle_websocket_upgrade = lambda: None
        connection.data_received(of_json(DECIDE, {}))
        await side.settle(connection)
        connection.data_received(post("/", "", *upgrade, method="GET", length=False))
        await side.settle(connection)
        return b"".join(connection.transport.written).count(b"HTTP/1.1 201")

    found = on_both(tmp_path, lines, client)
    assert [said for said, _ in found] == [1, 1]
    assert len(short) == 1


def test_the_server_has_no_web_sockets(tmp_path):
    """Their connections would be counted for ever, if such a library is installed."""
    engine = Engine(SQLiteStore(tmp_path / "bandits.db"))
    try:
        config = server._uvicorn_config(Service(engine), Settings(database="unused"))
    finally:
        engine.close()
    assert config.ws == "none"
