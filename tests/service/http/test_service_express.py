"""Decisions and outcomes on the short way: the same bytes as through the application.

Two servers with the same clock and the same ids get the same bytes, in the same pieces. One has the
short way, the other has not.
"""

import asyncio
import json
from types import SimpleNamespace

import pytest
import uvicorn
from uvicorn.server import ServerState

from superarm.service.bandits import ids
from superarm.service.bandits.engine import Engine
from superarm.service.http import express, gate, keys
from superarm.service.http.app import make_app, make_express
from superarm.service.http.endpoint import Endpoint
from superarm.service.http.front_door import FrontDoor
from superarm.service.http.service import Service
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits

BANDIT = "abcdefghij"
DECIDE, TELL = f"/v1/bandits/{BANDIT}/decisions", f"/v1/decisions/{BANDIT}-1/outcomes"
JSON = "Content-Type: application/json"
_LIMITS = Limits(body=3000, samples=100)
_PROXY = "10.0.0.1"


def post(path, body="", *headers, method="POST", version="1.1", length=True):
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", body]).encode()


def of_json(path, members, *headers, **more):
    return post(path, json.dumps(members), JSON, *headers, **more)


def in_pieces(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


CHUNKED = "\r\n".join(
    [f"POST {DECIDE} HTTP/1.1", "Host: localhost", JSON, "Transfer-Encoding: chunked", ""]
).encode()
OUTCOMES = {"outcomes": {"ant": 1, "bee": 0.5}}
MANY = {"decisions": [{"bandit": BANDIT}, {"bandit": BANDIT, "k": 1, "key": "b"}, {"bandit": "x"}]}
TOLD = {
    "outcomes": [
        {"decision": f"{BANDIT}-1", "outcomes": {"ant": 1.0}},
        {"decision": "x", "outcomes": {"ant": 1.0}},
        {"decision": f"{BANDIT}-99", "outcomes": {"ant": 1.0}},
    ]
}

# Each is played on a connection of its own. A piece comes when those before it are answered.
SHORT = {  # with at least one request on the short way
    "nothing": [post(DECIDE)],
    "no length": [post(DECIDE, length=False)],
    "plain": [of_json(DECIDE, {})],
    "names in other cases": [of_json(DECIDE, {}).replace(b"Content-Type", b"CONTENT-type")],
    "constraints": [of_json(DECIDE, {"must_not": ["ant"], "metadata": {"é": "ü"}})],
    "several": [of_json(DECIDE, {"n": 2, "k": 1})],
    "one after the other": [of_json(DECIDE, {}), of_json(TELL, OUTCOMES), of_json(DECIDE, {})],
    "in pieces": in_pieces(of_json(DECIDE, {"k": 1}), 7),
    "head and body": [of_json(DECIDE, {})[:-2], b"{}"],
    "repeated": [of_json(DECIDE, {}, "Idempotency-Key: a")] * 2,
    "another with the key": [of_json(DECIDE, {"k": 1}, "Idempotency-Key: a")],
    "bad key": [of_json(DECIDE, {}, "Idempotency-Key: a b")],
    "empty key": [of_json(DECIDE, {}, "Idempotency-Key:")],
    "cannot be": [of_json(DECIDE, {"must": ["ant"], "must_not": ["ant"]})],
    "too many samples": [of_json(DECIDE, {"propensities": 101})],
    "told": [of_json(TELL, OUTCOMES)] * 2,
    "told otherwise": [of_json(TELL, {"outcomes": {"ant": 0.0}})],
    "other arm": [of_json(TELL, {"outcomes": {"elk": 0.0}})],
    "no decision": [of_json(TELL.replace("-1/", "-99/"), OUTCOMES)],
    "no such id": [of_json("/v1/decisions/x/outcomes", OUTCOMES)],
    "no bandit": [of_json("/v1/bandits/zzzzzzzzzz/decisions", {})],
    "no bandit at all": [of_json("/v1/bandits/x/decisions", {})],
    "no JSON": [post(DECIDE, "{", JSON)],
    "not text": [post(DECIDE, "\x00\x7f", JSON)],
    "does not fit": [of_json(DECIDE, {"k": "two", "more": 1})],
    "no body": [post(TELL, "", JSON), post(TELL)],
    "other type": [post(DECIDE, "{}", "Content-Type: text/plain")],
    "no type": [post(DECIDE, "{}")],
    "lines for one": [post(DECIDE, "{}", "Content-Type: application/x-ndjson")],
    "many": [of_json("/v1/decisions", MANY)] * 2,
    "many outcomes": [of_json("/v1/outcomes", TOLD)],
    "lines": [
        post("/v1/decisions", f'{{"bandit":"{BANDIT}"}}\n\n', "Content-Type: application/x-ndjson")
    ],
    "none of many": [of_json("/v1/decisions", {"decisions": []})],
    "many that do not fit": [of_json("/v1/outcomes", {"outcomes": [{"decision": 1}]})],
    "own page": [of_json(DECIDE, {}, "Origin: http://localhost")],
    "behind another": [post("/healthz", method="GET"), of_json(DECIDE, {})],
    "before another": [of_json(DECIDE, {}), post("/nowhere", method="GET")],
    "pipelined": [of_json(DECIDE, {}) * 3 + of_json(TELL, OUTCOMES)],
    "pipelined in pieces": in_pieces(of_json(DECIDE, {}) * 2, 50),
    "pipelined with another": [of_json(DECIDE, {}) + post("/healthz", method="GET")],
    "and nonsense": [of_json(DECIDE, {}), b"nonsense\r\n\r\n"],
    "closed midway": [of_json(DECIDE, {})[:-1]],
}
LONG = {
    "chunked": [CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n"],
    "chunked with a trailer": [CHUNKED + b"\r\n2\r\n{}\r\n0\r\nIdempotency-Key: t\r\n\r\n"],
    "chunked, too long": [CHUNKED + b"\r\nfa0\r\n" + b" " * 4000 + b"\r\n0\r\n\r\n"],
    "HTTP/1.0": [of_json(DECIDE, {}, version="1.0")],
    "HTTP/1.0 for longer": [of_json(DECIDE, {}, "Connection: keep-alive", version="1.0")],
    "last request": [of_json(DECIDE, {}, "Connection: close")],
    "expects": [of_json(DECIDE, {}, "Expect: 100-continue")],
    "expects, and waits": [of_json(DECIDE, {}, "Expect: 100-continue")[:-2], b"{}"],
    "upgrade": [of_json(DECIDE, {}, "Connection: upgrade", "Upgrade: h2c")],
    "too long": [of_json(DECIDE, {"must": ["x" * 3000]})],
    "will be too long": [of_json(DECIDE, {"must": ["x" * 3000]})[:200]],
    "absurd length": [post(DECIDE, "", "Content-Length: " + "9" * 19, length=False)],
    "no length at all": [post(DECIDE, "{}", JSON, "Content-Length: x", length=False)],
    "two lengths": [of_json(DECIDE, {}, "Content-Length: 2")],
    "two types": [post(DECIDE, "{}", JSON, "Content-Type: text/plain")],
    "two keys": [of_json(DECIDE, {}, "Idempotency-Key: y", "Idempotency-Key: z")],
    "query": [of_json(f"{DECIDE}?k=1", {})],
    "fragment": [of_json(f"{DECIDE}#k", {})],
    "escaped": [of_json(DECIDE.replace("decisions", "%64ecisions"), {})],
    "with a slash": [of_json(f"{DECIDE}/", {})],
    "absolute": [of_json(f"http://localhost{DECIDE}", {})],
    "other case": [of_json(DECIDE.upper(), {})],
    "nowhere": [of_json(f"/v1/bandits/{BANDIT}/outcomes", {})],
    "list": [post(DECIDE, method="GET")],
    "not allowed": [post(TELL, method="GET"), post("/v1/outcomes", method="PUT")],
    "head only": [post(DECIDE, method="HEAD", length=False)],
    "options": [post(DECIDE, method="OPTIONS")],
    "other host": [of_json(DECIDE, {}).replace(b"localhost", b"evil.example")],
    "other website": [of_json(DECIDE, {}, "Origin: http://evil.example")],
    "cross-site": [of_json(DECIDE, {}, "Sec-Fetch-Site: cross-site")],
    "forbidden, and not all": [of_json(DECIDE, {}, "Sec-Fetch-Site: cross-site")[:-1]],
    "nonsense": [b"nonsense\r\n\r\n"],
    "nonsense header": [of_json(DECIDE, {}, "Bad header")],
}


class Movable(asyncio.SelectorEventLoop):
    """An event loop whose clock a test moves forward."""

    moved_s = 0.0

    def time(self):
        return super().time() + self.moved_s


class Wire(asyncio.Transport):
    """The server's end of a connection. It keeps what the server writes."""

    def __init__(self, address):
        super().__init__()
        self.written, self.is_closed = [], False
        self._names = {"peername": (address, 5000), "sockname": ("127.0.0.1", 80)}

    def get_extra_info(self, name, default=None):
        return self._names.get(name, default)

    def write(self, data):
        assert not self.is_closed
        self.written.append(bytes(data))

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


class Side:
    """One of the two servers."""

    def __init__(self, path, *, short, with_keys=False, limits=_LIMITS, **options):
        self.engine = Engine(SQLiteStore(path), clock=lambda: 1.7e9, **options)
        service = Service(self.engine, limits, with_keys=with_keys, log_requests=True)
        app = make_app(service)
        self.config = uvicorn.Config(
            app, lifespan="off", log_config=None, proxy_headers=True, forwarded_allow_ips=[_PROXY]
        )
        self.config.load()
        self.state = ServerState()
        self.state.default_headers = [(b"date", b"today")]
        self.door = FrontDoor(limits, express=make_express(app, [_PROXY]) if short else None)

    def connect(self, address="127.0.0.1"):
        made = self.door(config=self.config, server_state=self.state, app_state={})
        made.connection_made(Wire(address))
        return made

    async def settle(self, connection):
        """Wait until the server has nothing to do before the next piece comes."""
        cycle = connection.cycle
        while self.state.tasks and (cycle is None or not cycle.more_body):
            await asyncio.sleep(0.0005)
        for _ in range(10):  # a task that waits for the rest of a body, or has just ended
            await asyncio.sleep(0)

    async def play(self, pieces, address="127.0.0.1"):
        """What the server writes, and whether it closes the connection."""
        connection = self.connect(address)
        for piece in pieces:
            connection.data_received(piece)
            await self.settle(connection)
        wire = connection.transport
        said = b"".join(wire.written), wire.is_closed
        wire.is_closed = True
        connection.connection_lost(None)
        while self.state.tasks:
            await asyncio.sleep(0.0005)
        return said

    def counts(self):
        lines = self.engine.metrics.text().decode().splitlines()
        return [one for one in lines if one.startswith("superarm_requests_total")]


@pytest.fixture
def short(monkeypatch):
    """The paths of requests that took the short way."""
    found, init = [], express._Request.__init__

    def note(self, connection, *rest):
        found.append(connection.url.decode())
        init(self, connection, *rest)

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


def played(path, client, *, key=None, **options):
    """The result of ``client(side)`` with a new server that has one bandit."""

    async def play():
        side = Side(path, **options)
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
        for name, pieces in {**SHORT, **LONG}.items():
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
            said[name] = await side.play([whole, whole[:-2], b"{}"])
        return said, side.counts()

    found = on_both(tmp_path, lines, client, with_keys=True, key=made["admin"][0])
    assert found[0] == found[1]
    statuses = [said[9:12] for said, _ in found[0][0][0].values()]
    assert statuses == [b"403", b"201", b"201", b"201", b"401", b"401", b"401", b"401", b"201"]
    assert len(short) == 2 * 4  # two requests of each one that may decide


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
        return [await side.play([forwarded], address) for address in (_PROXY, "10.0.0.2")]

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    assert [line[-1] for line in found[0][1][1:]] == ["5.6.7.8", "10.0.0.2"]
    assert len(short) == 2


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
        return reply.is_over

    found = on_both(tmp_path, lines, client)
    assert [said for said, _ in found] == [True, True]
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


def test_both_ways_close_idle_connections(tmp_path, lines, short):
    async def client(side):
        connection, closed = side.connect(), []
        for _ in range(2):
            connection.data_received(of_json(DECIDE, {}))
            await side.settle(connection)
            await move_clock(4.0)  # of the 5 seconds of uvicorn
            closed.append(connection.transport.is_closed)
        # A request that is at work is not idle, whichever way it takes.
        replies = held(side)
        for request in (of_json(DECIDE, {}), of_json(DECIDE, {}, "Expect: 100-continue")):
            connection.data_received(request)
            while not replies:
                await asyncio.sleep(0)
            await move_clock(50.0)
            closed.append(connection.transport.is_closed)
            answer(replies.pop())
            await side.settle(connection)
        await move_clock(6.0)
        return [*closed, connection.transport.is_closed]

    found = on_both(tmp_path, lines, client)
    assert found[0] == found[1]
    assert found[0][0] == [False, False, False, False, True]
    assert len(short) == 3


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
