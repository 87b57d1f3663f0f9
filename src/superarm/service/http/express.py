"""A short way for the requests that come most often: decisions and outcomes, single or many.

Such a request goes from the parser of its connection to the thread of its bandit, and its answer in
one write to the socket. No task, no ASGI message, no middleware and no router is needed for it. The
gate, the endpoint and the encoding are those of the application, so the answers are the same bytes.

A request takes the short way if its path is that of an endpoint here, if it is an ordinary POST
whose short body has a length, if no other request of its connection is at work, and if the gate
admits it at once. All other requests go through the application, which also says why it refuses.
"""

from __future__ import annotations

import re
import time
from asyncio import Event
from collections.abc import Iterable, Sequence
from typing import Any, cast

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from superarm.service.bandits.patience import too_late
from superarm.service.bandits.replies import Reply
from superarm.service.http.alarm import Alarm
from superarm.service.http.connection import Connection, Door
from superarm.service.http.endpoint import Endpoint, Work, encoded, incomplete
from superarm.service.http.gate import Gate
from superarm.service.http.guard import REFUSED
from superarm.service.http.service import Service
from superarm.service.http.team import bandit_in
from superarm.service.problems import MEDIA_TYPE, Problem, server_failed

_PATH = re.compile(rb"/v1/(?:(bandits|decisions)/([a-z0-9-]+)/)?(decisions|outcomes)")
_JSON = "application/json"


class Express:
    """Which requests take the short way, and what answers them.

    Parameters
    ----------
    service
        What endpoints get.
    gate
        The gate of the application.
    endpoints
        Each is a POST that returns `Work`, with one id in its path or none.
    proxies
        Addresses and networks of trusted proxies.
    """

    def __init__(
        self,
        service: Service,
        gate: Gate,
        endpoints: Iterable[Endpoint],
        proxies: Sequence[str] = (),
    ) -> None:
        self.service, self.gate = service, gate
        self._found = {_names(one.path.replace("{id}", "id").encode()): one for one in endpoints}
        # A longer body arrives in pieces, and the application asks for each.
        self._most_body = min(gate.most_body, HIGH_WATER_LIMIT)
        self._proxies = ProxyHeadersMiddleware(_nothing, list(proxies)) if proxies else None
        self._default_headers: list[tuple[bytes, bytes]] = []
        self._first_lines: dict[int, bytes] = {}

    def find(self, url: bytes) -> tuple[Endpoint, dict[str, Any]] | None:
        """The endpoint for a path, and the id in the path."""
        place = _PATH.fullmatch(url)
        endpoint = None if place is None else self._found.get(place.group(1, 3))
        if place is None or endpoint is None:
            return None
        id, team = place[2], self.service.team
        if team is not None:  # the bandit, or some of many, may be those of another worker
            home = None if id is None else team.known(bandit_in(url.decode()) or "")
            if home != team.number:
                return None
        return endpoint, {} if id is None else {"id": id.decode()}

    def is_short(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the body has a known length, and a small one."""
        if b"transfer-encoding" in headers:
            return False
        # The parser refuses lengths that are no numbers.
        return int(headers.get(b"content-length", b"0")) <= self._most_body

    def client(self, address: Any, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """The address of the client of a request, behind a trusted proxy that of the proxy's."""
        if self._proxies is not None:
            scope = {"type": "http", "client": address, "headers": headers}
            try:
                self._proxies(scope, None, None).send(None)  # type: ignore[arg-type]
            except StopIteration:  # it has changed the scope, and waits for nothing
                address = scope["client"]
        return address[0] if address else None

    def first_lines(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        """The status line, and the headers of every answer."""
        if headers is not self._default_headers:  # uvicorn makes others every second
            self._default_headers, self._first_lines = headers, {}
        found = self._first_lines.get(status)
        if found is None:
            lines = [b"%s: %s\r\n" % one for one in headers]
            found = self._first_lines[status] = STATUS_LINE[status] + b"".join(lines)
        return found


class ExpressConnection(Connection):
    """A connection whose requests take the short way if they can."""

    def __init__(self, door: Door, express: Express, **options: Any) -> None:
        super().__init__(door, **options)
        self.express = express
        self.alarm = Alarm(self.loop)  # for an answer, and then for the next request

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the request that is arriving."""
        super().connection_lost(exc)
        self.alarm.close()
        if isinstance(self.cycle, _Request) and self.cycle.more_body:
            self.cycle.fail(incomplete())

    def data_received(self, data: bytes) -> None:
        """Stop waiting for the next request: it comes, or the rest of it."""
        if self._is_idle():
            self.alarm.clear()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Choose the way of the request."""
        request = self._short_way()
        if request is None:
            super().on_headers_complete()
        else:
            self._expect_body()
            self.cycle = request

    def on_message_complete(self) -> None:
        """Begin the work of the request."""
        # Not of one that has arrived before: uvicorn makes no cycle for some requests.
        is_new = self.cycle is not None and self.cycle.more_body
        super().on_message_complete()
        if is_new and isinstance(self.cycle, _Request):
            self.cycle.begin()

    def _short_way(self) -> _Request | None:
        express, parser = self.express, self.parser
        found = express.find(self.url)
        if (
            found is None
            or parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or self.expect_100_continue
            or self.flow.write_paused
            or not self._is_idle()
            or express.gate.is_stale
        ):
            return None
        headers = dict(self.headers)
        # Which one of two equal headers counts is left to the application.
        if len(headers) < len(self.headers) or not express.is_short(headers):
            return None
        path, client = self.url.decode(), express.client(self.client, self.headers)
        try:
            key_id = express.gate.admit("POST", path, headers, client)
        except Problem as problem:
            self.scope[REFUSED] = problem  # type: ignore[literal-required]
            return None
        return _Request(self, *found, headers, (path, key_id, client))

    def answered(self) -> None:
        """Go on after an answer on the short way."""
        if self.pipeline or self.flow.read_paused or self.transport.is_closing():
            self.on_response_complete()
        else:  # the same without a new timer
            self.server_state.total_requests += 1
            self.alarm.set(self.timeout_keep_alive, self.timeout_keep_alive_handler)


class _Request(RequestResponseCycle):
    """A request on the short way. Uvicorn's connection looks at its attributes."""

    message_event = Event()  # nobody waits for it

    def __init__(
        self,
        connection: ExpressConnection,
        endpoint: Endpoint,
        given: dict[str, Any],
        headers: dict[bytes, bytes],
        about: tuple[str, str | None, str | None],
    ) -> None:
        # Not that of the parent, which makes what only ASGI needs.
        self.body, self.more_body, self.keep_alive = bytearray(), True, True
        self.disconnected = self.response_started = self.response_complete = False
        self._connection, self._endpoint, self._given = connection, endpoint, given
        self._headers, self._about, self._start = headers, about, time.perf_counter()

    def begin(self) -> None:
        """Start the work of the request, which has arrived."""
        connection, endpoint, headers = self._connection, self._endpoint, self._headers
        service = connection.express.service
        media, key = headers.get(b"content-type"), headers.get(b"idempotency-key")
        try:
            given = endpoint.arguments(bytes(self.body), _text(media), _text(key))
            work = cast(Work, endpoint.function(service, **self._given, **given))
        except Exception as error:
            # Later, as in the application: the connection may still be reading.
            connection.loop.call_soon(self.fail, error)
            return
        self._work, self._reply = work, Reply(len(work.wanted), self._is_over, self._end)
        if service.engine.deadline_s:
            connection.alarm.set(service.engine.deadline_s, self._give_up)
        connection.tasks.add(self)  # type: ignore[arg-type] # when it stops, it cancels them
        service.engine.start(work.wanted, self._reply)

    def cancel(self, msg: str | None = None) -> None:
        """Give the work up, at the end of the server."""
        self.disconnected = True

    def _is_over(self) -> bool:
        return self._connection.gone or self.disconnected

    def _give_up(self) -> None:
        self._reply.give_up(too_late(self._connection.express.service.engine.deadline_s))

    def _end(self, answers: list[Any]) -> None:
        try:
            answer = self._work.answer(answers)
            headers, content = self._endpoint.headers(answer), encoded(answer)
        except Exception as error:
            self.fail(error)
        else:
            self._send(self._endpoint.status, headers, _JSON, content)

    def fail(self, error: Exception) -> None:
        """Answer with a problem."""
        problem = error if isinstance(error, Problem) else server_failed()
        self._send(problem.status, problem.headers, MEDIA_TYPE, problem.encoded())
        if problem is not error:
            # As uvicorn does with an application that fails.
            self._connection.logger.error("Exception in a request\n", exc_info=error)
            self._connection.transport.close()

    def _send(self, status: int, headers: dict[str, str], media: str, content: bytes) -> None:
        connection = self._connection
        transport = connection.transport
        if not transport.is_closing():
            first = connection.express.first_lines(status, connection.server_state.default_headers)
            lines = "".join([f"{name.lower()}: {text}\r\n" for name, text in headers.items()])
            end = "\r\n" if self.keep_alive else "connection: close\r\n\r\n"
            rest = f"{lines}content-length: {len(content)}\r\ncontent-type: {media}\r\n{end}"
            transport.write(b"".join((first, rest.encode("latin-1"), content)))
            if not self.keep_alive:
                transport.close()
        self.response_started = self.response_complete = True
        connection.tasks.discard(self)
        path, key_id, client = self._about
        seconds = time.perf_counter() - self._start
        connection.express.gate.answered(
            "POST", path, self._endpoint.path, status, seconds, key_id, client
        )
        connection.answered()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _names(path: bytes) -> tuple[bytes | None, ...]:
    """The words of a path that tell endpoints apart."""
    place = _PATH.fullmatch(path)
    return () if place is None else place.group(1, 3)


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that does nothing."""
