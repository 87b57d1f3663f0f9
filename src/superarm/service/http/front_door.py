"""Connections: how many there may be, and what answers their requests."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterable
from typing import Any

from superarm.service.http.connection import Connection
from superarm.service.http.express import Express, ExpressConnection
from superarm.service.http.team import Team
from superarm.service.http.to_home import INSIDE
from superarm.service.settings import Limits


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
    express
        The short way for some requests; None if all go through the application.
    """

    def __init__(
        self,
        limits: Limits,
        team: Team | None = None,
        proxies: Iterable[str] = (),
        express: Express | None = None,
    ) -> None:
        self.limits, self.team, self._express = limits, team, express
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._open: Counter[str] = Counter()
        self._adopting: set[asyncio.Task[Any]] = set()

    def __call__(self, **options: Any) -> asyncio.Protocol:
        """The protocol of a new connection."""
        return self._connection(**options)

    def _connection(self, **options: Any) -> Connection:
        if self._express is None:
            return Connection(self, **options)
        return ExpressConnection(self, self._express, **options)

    def adopt(self, connection: socket.socket, data: bytes, inside: bool, **options: Any) -> None:
        """Take a connection from another worker. ``data`` is what was read from it."""
        loop = asyncio.get_running_loop()

        def make() -> asyncio.Protocol:
            if not inside:
                protocol = self._connection(**options)
            else:  # another worker has admitted what comes
                protocol = Connection(self, **options)
                protocol.app, protocol.is_limited = _from_inside(protocol.app), False
            protocol.before = data
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

    def is_closing(self) -> bool:
        """Whether the server is about to stop. It waits for the end of all connections.

        Not all of them know: another worker may hand over a connection in the last moment.
        """
        return self._express is not None and self._express.service.closing()

    def leave(self, address: str) -> None:
        """Forget a connection."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


def _from_inside(app: Any) -> Any:
    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, INSIDE: True}, receive, send)

    return inside
