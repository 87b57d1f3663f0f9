"""A hostile client: headers and bodies without end, half-sent requests, too many connections."""

import asyncio
import contextlib
import dataclasses
import json

import pytest
import uvicorn
from uvicorn.server import ServerState

from superarm.service.http.connection import UNREAD_S
from superarm.service.http.front_door import FrontDoor
from superarm.service.settings import Limits
from two_ways import Movable

# No deadline passes on a busy machine, unless a test moves the clock.
LIMITS = Limits(connections=3, head=2000, head_s=100.0, body_s=100.0)
_LONG_S = 1000.0  # longer than all deadlines of a test, so that waiting in vain fails a test
GET = b"GET / HTTP/1.1\r\nHost: here\r\n"
POST = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n"

LONG = 16 << 20  # bytes of an answer that does not fit into the buffers of the operating system

GONE = asyncio.Event()
LAST = []  # the path of the last request


def move_clock(seconds):
    asyncio.get_running_loop().moved_s += seconds


async def echo(scope, receive, send):
    """An application that answers with the number of bytes of the body, or names of headers."""
    LAST[:] = [scope["path"]]
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    while scope["path"] == "/gone" and not scope["superarm.gone"]():
        await asyncio.sleep(0.001)
    if scope["path"] == "/gone":
        GONE.set()
    if scope["path"] == "/slow":
        for _ in range(3):  # longer than a deadline, in steps in which deadlines can pass
            move_clock(LIMITS.body_s)
            await asyncio.sleep(0.01)
    content = b"x" * LONG if scope["path"] == "/long" else str(size).encode()
    if scope["path"] == "/headers":
        content = b" ".join(name for name, _ in scope["headers"])
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


@contextlib.asynccontextmanager
async def listening(limits, proxies=(), team=None):
    config = uvicorn.Config(echo, lifespan="off", log_config=None)
    config.load()
    door, state = FrontDoor(limits, team, proxies), ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: door(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    writers = []

    async def connect():
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writers.append(writer)
        return reader, writer

    async with server:
        yield connect
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def played(client, limits=LIMITS, **options):
    """The result of ``client(connect)`` with a server."""

    async def play():
        async with listening(limits, **options) as connect, asyncio.timeout(_LONG_S):
            return await client(connect)

    with asyncio.Runner(loop_factory=Movable) as runner:
        return runner.run(play())


async def answer_to(connect, *pieces):
    """Everything that the server says until it closes the connection."""
    reader, writer = await connect()
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(ConnectionError):
        return await reader.read()
    return b""


def problem_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return int(head.split()[1]), json.loads(body)["detail"]


def test_honest_requests_on_one_connection():
    async def client(connect):
        reader, writer = await connect()
        sizes = []
        for _ in range(3):
            writer.write(POST + b"x" * 10)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            sizes.append(await reader.read(2))
        return sizes

    assert played(client) == [b"10"] * 3


def test_a_header_without_end_is_refused():
    """One value of 64 MiB used to stop the event loop for seconds."""
    pieces = [GET + b"X-Long: ", *[b"x" * 1000] * 1000]
    answer = played(lambda connect: answer_to(connect, *pieces))
    assert answer == b"" or problem_of(answer) == (
        431,
        "the headers must have at most 2000 bytes in all",
    )


def test_many_small_headers_are_refused():
    pieces = [GET + b"".join(b"X-%d: x\r\n" % number for number in range(400))]
    status, _ = problem_of(played(lambda connect: answer_to(connect, *pieces)))
    assert status == 431


def test_a_long_body_behind_short_headers_is_no_long_header():
    async def client(connect):
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9000\r\n\r\n" + b"x" * 9000)
        head = await reader.readuntil(b"\r\n\r\n")
        return head.split()[1], await reader.read(4)

    assert played(client) == (b"200", b"9000")


CHUNKED = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "one trailer": [b"0\r\nX-Long: ", *[b"x" * 1000] * 1000],
    "trailers": [b"2\r\nab\r\n0\r\n", *[b"X: x\r\n" * 200] * 1000],
    "an extension": [b"2;", *[b"x" * 1000] * 1000],
}


@pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS)
def test_what_frames_a_body_has_an_end(pieces):
    """Trailers of 256 MiB used to take 4 GB of memory."""
    answer = played(lambda connect: answer_to(connect, CHUNKED, *pieces))
    assert answer == b"" or problem_of(answer) == (
        431,
        "the trailers must have at most 2000 bytes in all",
    )


def test_a_body_may_come_in_many_small_chunks():
    async def client(connect):
        reader, writer = await connect()
        writer.write(CHUNKED)
        for _ in range(30):
            writer.write(b"1;ext=yes\r\nx\r\n" * 100)
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\nX-Sum: 1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        return await reader.read(4)

    assert played(client) == b"3000"


def test_trailers_are_no_headers():
    """The application would take them for headers that the gate has seen."""

    async def client(connect):
        reader, writer = await connect()
        writer.write(CHUNKED.replace(b"/", b"/headers", 1) + b"1\r\nx\r\n0\r\n")
        await writer.drain()
        writer.write(b"Idempotency-Key: late\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].split()[0])
        return (await reader.readexactly(size)).split()

    assert played(client) == [b"host", b"transfer-encoding"]


def test_headers_have_a_deadline():
    limits = dataclasses.replace(LIMITS, head_s=0.2)
    status, detail = problem_of(played(lambda connect: answer_to(connect, GET), limits))
    assert (status, detail) == (408, "the headers of a request must arrive within 0.2 seconds")
    # A connection that sends nothing at all, too.
    assert problem_of(played(answer_to, limits))[0] == 408


def test_a_body_has_a_deadline():
    limits = dataclasses.replace(LIMITS, body_s=0.2)
    answer = played(lambda connect: answer_to(connect, POST + b"x"), limits)
    assert problem_of(answer) == (408, "the body of a request must arrive within 0.2 seconds")


def test_an_address_has_few_connections_and_gets_them_back():
    async def client(connect):
        held = [await connect() for _ in range(3)]
        refused = await answer_to(connect)
        # The deadlines of the three pass, so another one may come.
        move_clock(LIMITS.head_s)
        for reader, _ in held:
            await reader.read()
        return refused, await answer_to(connect, GET + b"Connection: close\r\n\r\n")

    refused, answered = played(client)
    assert problem_of(refused) == (503, "an address may have 3 connections")
    assert answered.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("reads", [0, 5 << 20])
def test_who_does_not_read_an_answer_loses_the_connection(reads):
    """What is not read is in the memory of the server. A slow reader gets all of it."""

    async def client(connect):
        reader, writer = await connect()
        writer.write(b"GET /long HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        read = await reader.readexactly(1000)  # the answer has begun
        for _ in range(3):
            read += await reader.readexactly(reads)
            await asyncio.sleep(0.01)  # the server sends what now has room
            move_clock(UNREAD_S + 1)
            await asyncio.sleep(0.01)
        with contextlib.suppress(ConnectionError):
            while some := await reader.read(LONG):
                read += some
        return len(read)

    n_read = played(client)
    assert n_read > LONG if reads else n_read < LONG


def test_a_request_behind_a_slow_one_is_not_late():
    """The server does not read it before the first one is answered."""

    async def client(connect):
        reader, writer = await connect()
        writer.write(POST.replace(b"/", b"/slow", 1) + b"x" * 10 + POST)
        await writer.drain()
        writer.write(b"x" * 10)
        answers = []
        for _ in range(2):
            answers.append((await reader.readuntil(b"\r\n\r\n")).split()[1])
            await reader.read(2)
        return answers

    assert played(client) == [b"200", b"200"]


def test_the_application_sees_that_a_client_has_left():
    async def client(connect):
        _, writer = await connect()
        writer.write(b"GET /gone HTTP/1.1\r\nHost: here\r\n\r\n")
        await writer.drain()
        assert not GONE.is_set()
        writer.close()
        await GONE.wait()

    played(client)


def test_a_trusted_proxy_has_the_connections_of_its_clients():
    async def client(connect):
        for _ in range(2 * LIMITS.connections):
            reader, writer = await connect()
            writer.write(GET + b"\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head

    played(client, proxies=["10.0.0.0/8", "127.0.0.1"])


def test_an_answer_is_whole_before_its_connection_goes_to_another_worker():
    """A client may send the next request before it has read the answer to the last one."""

    class Team:
        handed = False

        def hand_over(self, transport, data):
            self.handed = data == second
            return self.handed

    first, second = (GET.replace(b"/", path, 1) + b"\r\n" for path in (b"/long", b"/second"))

    async def client(connect):
        reader, writer = await connect()
        writer.write(first)
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(second)
        while not (team.handed or LAST == ["/second"]):
            await asyncio.sleep(0)
        body = await reader.readexactly(LONG)
        return head.split()[1], len(body), (await reader.readuntil(b"\r\n\r\n")).split()[1]

    team = Team()
    assert played(client, team=team) == (b"200", LONG, b"200")
    assert not team.handed


def test_what_is_no_http_is_a_problem_too():
    for piece in (b"nonsense\r\n\r\n", "GET /?q=é HTTP/1.1\r\nHost: here\r\n\r\n".encode()):
        answer = played(lambda connect, piece=piece: answer_to(connect, piece))
        assert problem_of(answer) == (400, "the request is not valid HTTP")


SLOW = GET.replace(b"/", b"/slow", 1) + b"\r\n"
BEHIND = {  # what comes behind two good requests, alone or with them, and all statuses
    "nonsense": (b"nonsense\r\n\r\n", True, [200, 200]),
    "later nonsense": (b"nonsense\r\n\r\n", False, [200, 200]),
    "a long head": (GET + b"X: " + b"x" * 3000, False, [200, 200]),
    "a broken body": (CHUNKED + b"nonsense\r\n", True, [200, 200, 400]),
    "a later one": (CHUNKED + b"nonsense\r\n", False, [200, 200, 400]),
    "a broken body and more": (CHUNKED + b"nonsense\r\n" + SLOW, True, [200, 200, 400]),
}


@pytest.mark.parametrize(("behind", "at_once", "statuses"), BEHIND.values(), ids=BEHIND)
def test_answers_come_in_the_order_of_the_requests(behind, at_once, statuses):
    """Also if one is refused while another one is at work. Then the connection ends."""

    async def client(connect):
        reader, writer = await connect()
        LAST.clear()
        for piece in [SLOW + SLOW + behind] if at_once else [SLOW + SLOW, behind]:
            writer.write(piece)
            while not LAST:  # the first one is at work
                await asyncio.sleep(0)
        return await reader.read()

    answer = played(client)
    assert [int(one.split()[0]) for one in answer.split(b"HTTP/1.1 ")[1:]] == statuses
