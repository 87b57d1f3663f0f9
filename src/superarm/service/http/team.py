"""The workers of a server: which one is the home of a bandit, and how they reach each other.

Every worker accepts connections. A connection whose next request is for a bandit of another worker
is handed to that worker, as an open socket, so that requests of one connection for one bandit cost
nothing more. What cannot be handed over, such as a request that is already being read, is sent to
the other worker through a pair of sockets, one of which is handed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httptools

from superarm.service.bandits.failures import about_to_stop
from superarm.service.log.events import Bandit
from superarm.service.log.folder import FolderStore
from superarm.service.log.store import Store
from superarm.service.problems import Problem

Channel = tuple[socket.socket, socket.socket]  # where its worker receives, where the others send
Adopt = Callable[[socket.socket, bytes, bool], Any]
_FROM_CLIENT, _FROM_WORKER = b"c", b"w"
_MOST_HANDED = 64 << 10  # bytes that have come with a connection; a message has a limited size
_PIECE = 64 << 10
_MOST_KNOWN = 100_000  # bandits whose homes are remembered
_END_S = 2.0  # how long an answer of another worker may take when this one is about to stop
# The path of a request line that is for one bandit.
_REQUEST = re.compile(rb"[A-Z]+ /v1/(?:bandits|decisions)/([a-z2-9]{10})[-/? ]")
_PATH = re.compile(r"/v1/(?:bandits|decisions)/([a-z2-9]{10})(?:[-/]|$)")


def bandit_in(path: str) -> str | None:
    """The id of the bandit that the path of a request is about."""
    found = _PATH.match(path)
    return None if found is None else found[1]


def channels(n_workers: int) -> list[Channel]:
    """A channel to each worker. The parent makes them: they outlive a worker that is lost."""
    kind = getattr(socket, "SOCK_SEQPACKET", socket.SOCK_DGRAM)
    made = [socket.socketpair(socket.AF_UNIX, kind) for _ in range(n_workers)]
    for one in (one for pair in made for one in pair):
        one.setblocking(False)
    return made


class Team:
    """A worker and the other workers of its server.

    Parameters
    ----------
    number
        The number of this worker.
    channels
        The channels to all workers: see `channels`.
    store
        The database.

    Attributes
    ----------
    closing
        Whether this worker is about to stop.
    """

    def __init__(self, number: int, channels: Sequence[Channel], store: Store) -> None:
        self.number, self.n_workers = number, len(channels)
        self.closing: Callable[[], bool] = lambda: False
        self._channels, self._store = channels, store
        self._homes: dict[bytes, int] = {}

    def home(self, bandit: Bandit) -> int:
        """The worker of a bandit: that of its file, or in PostgreSQL one after the other."""
        store = self._store
        place = store.file_of(bandit.number) if isinstance(store, FolderStore) else bandit.number
        return place % self.n_workers

    def is_own(self, bandit: Bandit) -> bool:
        """Whether this worker is the home of a bandit."""
        return self.home(bandit) == self.number

    def known(self, id: str) -> int | None:
        """The worker of a bandit, if it was found before."""
        return self._homes.get(id.encode("ascii", "replace"))

    def find(self, id: str) -> int:
        """The worker of a bandit, this one if there is no such bandit. Reads the database."""
        bandit = self._store.bandit(id)
        if bandit is None:
            return self.number
        if len(self._homes) >= _MOST_KNOWN:
            self._homes.clear()
        home = self._homes[id.encode()] = self.home(bandit)
        return home

    def for_new(self) -> int:
        """The worker that should make the next bandit. Reads the database."""
        store = self._store
        # In PostgreSQL any worker can make a bandit, and its number decides about its home.
        return store.emptiest() % self.n_workers if isinstance(store, FolderStore) else self.number

    def hand_over(self, transport: asyncio.Transport, data: bytes) -> bool:
        """Hand a connection to the home of its next request, which begins with ``data``.

        Returns False if it stays here.
        """
        found = _REQUEST.match(data)
        home = self.number if found is None else self._homes.get(found[1], self.number)
        if home == self.number or len(data) > _MOST_HANDED:
            return False
        connection = transport.get_extra_info("socket")
        return connection is not None and self._send(home, connection.fileno(), _FROM_CLIENT + data)

    def _send(self, home: int, file: int, message: bytes) -> bool:
        try:
            socket.send_fds(self._channels[home][1], [message], [file])
        except OSError:  # the other worker is behind, and its channel is full
            return False
        return True

    def listen(self, adopt: Adopt) -> None:
        """Let ``adopt(socket, data, inside)`` take the connections that other workers hand over.

        ``inside`` says that another worker is at the other end, not a client.
        """
        channel = self._channels[self.number][0]

        def receive() -> None:
            with contextlib.suppress(BlockingIOError):
                data, files, _, _ = socket.recv_fds(channel, 1 + _MOST_HANDED, 1)
                for file in files:
                    adopt(socket.socket(fileno=file), data[1:], data[:1] == _FROM_WORKER)

        asyncio.get_running_loop().add_reader(channel, receive)

    def leave(self) -> None:
        """Take no connections any more. Those on their way end with the processes."""
        asyncio.get_running_loop().remove_reader(self._channels[self.number][0])

    async def ask(self, home: int, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
        """Send a request to a worker. Returns status and body of its answer."""
        answer, content = Answer(), bytearray()
        async for piece in self.stream(home, head, body, answer):
            content += piece
        return answer.status, bytes(content)

    async def stream(
        self, home: int, head: bytes, body: bytes, answer: Answer
    ) -> AsyncIterator[bytes]:
        """Send a request to a worker, and give the pieces of the body of its answer.

        ``head`` is the request line and headers, without those about the body and the connection.
        ``answer`` has status and headers when the first piece is there, which may be empty.
        """
        here, there = socket.socketpair()
        with there:
            if not self._send(home, there.fileno(), _FROM_WORKER):
                here.close()
                raise _lost()
        reader, writer = await asyncio.open_connection(sock=here)
        try:
            rest = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
            writer.write(head + rest + body)
            parser = httptools.HttpResponseParser(answer)
            while not answer.is_complete:
                data = await self._read(reader)
                if not data:
                    raise _lost()
                parser.feed_data(data)
                if answer.headers:
                    answer.status = parser.get_status_code()
                    yield answer.take()
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        reading = asyncio.ensure_future(reader.read(_PIECE))
        try:
            while not (await asyncio.wait([reading], timeout=_END_S))[0]:
                # The other worker may have stopped before it took the request.
                if self.closing():
                    raise about_to_stop()
            return reading.result()
        except ConnectionError:  # it had not read all of the request
            raise _lost() from None
        finally:
            reading.cancel()


class Answer:
    """The answer of another worker, as its parser reports it.

    Parameters
    ----------
    has_body
        Whether a body follows the headers, which may be about one that does not: see HEAD.
    """

    def __init__(self, *, has_body: bool = True) -> None:
        self.status, self._has_body = 0, has_body
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        self._body = bytearray()
        self._parsed: list[tuple[bytes, bytes]] = []

    def take(self) -> bytes:
        """The part of the body that has come since the last call."""
        taken, self._body = bytes(self._body), bytearray()
        return taken

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: D102 - called by the parser
        self._parsed.append((name, value))

    def on_headers_complete(self) -> None:  # noqa: D102 - called by the parser
        self.headers = self._parsed
        self.is_complete = not self._has_body

    def on_body(self, body: bytes) -> None:  # noqa: D102 - called by the parser
        self._body += body

    def on_message_complete(self) -> None:  # noqa: D102 - called by the parser
        self.is_complete = True


def _lost() -> Problem:
    return Problem(
        503,
        "the process that has this bandit was lost, and is being started again",
        fix="repeat: outcomes count once in any case, and decisions once per Idempotency-Key",
        headers={"Retry-After": "1"},
    )
