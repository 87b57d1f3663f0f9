"""A server with the short way of `superarm.service.http.express`, or without, fed by hand."""

import asyncio
import json

import uvicorn
from uvicorn.server import ServerState

from superarm.service.bandits.engine import Engine
from superarm.service.http.app import make_app, make_express
from superarm.service.http.front_door import FrontDoor
from superarm.service.http.service import Service
from superarm.service.log.sqlite import SQLiteStore

PROXY = "10.0.0.1"
BANDIT = "abcdefghij"
DECIDE, TELL = f"/v1/bandits/{BANDIT}/decisions", f"/v1/decisions/{BANDIT}-1/outcomes"
JSON = "Content-Type: application/json"


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
    "around another": [of_json(DECIDE, {}) + post("/healthz", method="GET") + of_json(DECIDE, {})],
    "before the last": [of_json(DECIDE, {}) + of_json(DECIDE, {}, "Connection: close") * 2],
    # The end of a head looks like a whole request, whose head is remembered.
    "within a header": [
        of_json(DECIDE, {}) + b"GET /nowhere HTTP/1.1\r\nX: ",
        of_json(DECIDE, {}),
        of_json(DECIDE, {}),
    ],
    "empty lines": [b"\r\n\r\n" + of_json(DECIDE, {}), b"\r\n", of_json(DECIDE, {})],
    "after an upgrade": [
        of_json(DECIDE, {}, "Connection: upgrade", "Upgrade: h2c"),
        of_json(DECIDE, {}),
        of_json(DECIDE, {}),
    ],
    "and nonsense": [of_json(DECIDE, {}), b"nonsense\r\n\r\n"],
    "nonsense behind it": [of_json(DECIDE, {}) + b"nonsense\r\n\r\n"],
    "nonsense behind two": [of_json(DECIDE, {}) * 2 + b"nonsense\r\n\r\n"],
    "a broken body behind it": [of_json(DECIDE, {}) + CHUNKED + b"\r\nnonsense\r\n"],
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
SMUGGLED = {  # two opinions on where the body ends, all of them on the long way
    "chunked with a length": [CHUNKED + b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
    "length, then chunked": [
        of_json(DECIDE, {}, "Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n"
    ],
    "chunked in other words": [of_json(DECIDE, {}, "Transfer-Encoding: xchunked")],
    "space before the colon": [of_json(DECIDE, {}).replace(b"Length:", b"Length :")],
    "folded": [of_json(DECIDE, {}, "Idempotency-Key: a\r\n b")],
}


class Movable(asyncio.SelectorEventLoop):
    """An event loop whose clock a test moves forward, so that no test waits for a deadline."""

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
        if not self.is_closed:
            self.written.append(bytes(data))

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


class Broken(Wire):
    """A connection whose client has left, which the server notices when it writes; as in uvloop."""

    def write(self, data):
        if self.is_closed:
            raise RuntimeError("the handler is closed")
        super().write(data)
        self.close()


class Side:
    """One of the two servers."""

    def __init__(self, path, *, short, with_keys=False, limits, **options):
        self.engine = Engine(SQLiteStore(path), clock=lambda: 1.7e9, **options)
        service = Service(self.engine, limits, with_keys=with_keys, log_requests=True)
        self.service, self.replies, start = service, [], self.engine.start

        def noted(wanted, reply, **how):
            self.replies.append(reply)
            start(wanted, reply, **how)

        self.engine.start = noted
        app = make_app(service)
        self.config = uvicorn.Config(
            app, lifespan="off", log_config=None, proxy_headers=True, forwarded_allow_ips=[PROXY]
        )
        self.config.load()
        self.state = ServerState()
        self.state.default_headers = [(b"date", b"today")]
        self.door = FrontDoor(limits, express=make_express(app, [PROXY]) if short else None)

    def connect(self, address="127.0.0.1", wire=Wire):
        made = self.door(config=self.config, server_state=self.state, app_state={})
        made.connection_made(wire(address))
        return made

    async def settle(self, connection):
        """Wait until the server has nothing to do before the next piece comes."""
        n_quiet = 0
        while n_quiet < 10:  # what has ended may start something else in the next turns
            self.replies = [one for one in self.replies if not one.is_over]
            n_quiet = 0 if self.is_busy(connection) else n_quiet + 1
            await asyncio.sleep(0 if n_quiet else 0.0005)

    def is_busy(self, connection):
        if self.replies:
            return True
        cycle = connection.cycle
        if cycle is not None and cycle.more_body:  # the rest of a body does not come by itself
            return bool(connection.pipeline) and not connection.transport.is_closed
        return bool(self.state.tasks)

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
