"""Connections: how many there may be, how large headers are, and how long a request may take.

The guard sees a request when its headers are complete. Clients that never complete them, or send
them without end, must be stopped before that.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from superarm.service.http.team import Team
from superarm.service.http.to_home import INSIDE
from superarm.service.problems import MEDIA_TYPE, Problem
from superarm.service.settings import Limits

# The member of a scope with a function that says whether the client has closed its connection.
GONE = "superarm.gone"


class FrontDoor:
    """Makes the protocol of each new connection, and counts the connections of each address.

    Parameters
    ----------
    limits
        The limits of the server.
    team
        The workers of the server; None if it has no others.
    proxies
        Addresses and networks of trusted proxies. Their connections are those of many clients, so
        they are not limited.
    """

    def __init__(
        self, limits: Limits, team: Team | None = None, proxies: Iterable[str] = ()
    ) -> None:
        self.limits, self.team = limits, team
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._open: Counter[str] = Counter()
        self._adopting: set[asyncio.Task[Any]] = set()

    def __call__(self, **options: Any) -> asyncio.Protocol:
        """The protocol of a new connection."""
        return _Connection(self, **options)

    def adopt(self, connection: socket.socket, data: bytes, inside: bool, **options: Any) -> None:
        """Take a connection from another worker. ``data`` is what was read from it."""
        loop = asyncio.get_running_loop()

        def make() -> asyncio.Protocol:
            protocol = _Connection(self, **options)
            protocol.before = data
            if inside:
                protocol.app, protocol.is_limited = _from_inside(protocol.app), False
            return protocol

        connection.setblocking(False)
        task = loop.create_task(loop.connect_accepted_socket(make, connection))
        self._adopting.add(task)  # the loop keeps no reference
        task.add_done_callback(self._adopted)

    def _adopted(self, task: asyncio.Task[Any]) -> None:
        self._adopting.discard(task)
        if not task.cancelled():
            task.exception()  # looked at: a client that has left meanwhile is no failure

    def enter(self, address: str) -> bool:
        """Count a connection. Returns whether the address may have it."""
        self._open[address] += 1
        return self._open[address] <= self.limits.connections or self._is_proxy(address)

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:  # a socket of another kind has none
            return False
        return any(found in network for network in self._proxies)

    def leave(self, address: str) -> None:
        """Forget a connection."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


class _Connection(HttpToolsProtocol):
    """A connection with deadlines. The limits of its head are checked after each piece of it."""

    def __init__(self, door: FrontDoor, **options: Any) -> None:
        super().__init__(**options)
        self._door, self._limits = door, door.limits
        self._address, self._gone = "", False
        self.before = b""  # what another worker has read from the connection
        self.is_limited = True  # not so connections of other workers, which have no address
        self._deadline: asyncio.TimerHandle | None = None
        self._head: int | None = 0  # bytes of an incomplete head; None while a body arrives

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        if not self._door.enter(self._address) and self.is_limited:
            self._refuse(
                Problem(
                    503,
                    f"an address may have {self._limits.connections} connections",
                    fix="close some, or use them again",
                    headers={"Retry-After": "1"},
                )
            )
        else:
            self._expect(self._limits.head_s, "the headers")
            if self.before:
                self.data_received(self.before)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._door.leave(self._address)
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # refused
            return
        if self._head == 0 and self._is_idle() and self._hand_over(data):
            return
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        # After parsing: what came behind a complete head does not count. A piece has a bounded
        # size, so parsing one that is too much costs little.
        if self._head is not None and self._head > self._limits.head:
            self._refuse(
                Problem(431, f"the headers must have at most {self._limits.head} bytes in all")
            )

    def _is_idle(self) -> bool:
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def _hand_over(self, data: bytes) -> bool:
        team = self._door.team
        if team is None or not team.hand_over(self.transport, data):
            return False
        # Closes the socket of this process. The connection goes on in the other one.
        self._unset_keepalive_if_required()
        self.transport.abort()
        return True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect(self._limits.head_s, "the headers")

    def on_headers_complete(self) -> None:
        self._head = None
        self.scope[GONE] = lambda: self._gone  # type: ignore[literal-required]
        self._expect(self._limits.body_s, "the body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        self._in_time()
        super().on_message_complete()

    def _expect(self, seconds: float, what: str) -> None:
        self._in_time()
        self._deadline = self.loop.call_later(seconds, self._late, seconds, what)

    def _in_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self, seconds: float, what: str) -> None:
        # The server itself does not read on: a request before this one is not answered yet.
        if self.flow.read_paused:
            self._expect(seconds, what)
            return
        self._refuse(Problem(408, f"{what} of a request must arrive within {seconds:g} seconds"))

    def _refuse(self, problem: Problem) -> None:
        """Answer, unless an answer has begun, and close the connection."""
        self._in_time()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            content = problem.encoded()
            headers = {
                "Content-Type": MEDIA_TYPE,
                "Content-Length": str(len(content)),
                "Connection": "close",
                **problem.headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            self.transport.write(STATUS_LINE[problem.status] + f"{lines}\r\n".encode() + content)
        self.transport.close()


def _from_inside(app: Any) -> Any:
    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, INSIDE: True}, receive, send)

    return inside
