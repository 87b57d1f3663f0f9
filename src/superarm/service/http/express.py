"""A short way for the requests that come most often: decisions and outcomes, single or many.

Such a request goes from its connection to the thread of its bandit, and its answer in one write to
the socket. No task, no ASGI message, no middleware and no router is needed for it. The gate, the
endpoint and the encoding are those of the application, so the answers are the same bytes.

A request takes the short way if its path is that of an endpoint here, if it is an ordinary POST
whose short body has a length, if no other request of its connection is at work, and if the gate
admits it at once. All other requests go through the application, which also says why it refuses.
"""

from __future__ import annotations

import contextlib
import re
import time
from asyncio import Event
from collections.abc import Sequence
from typing import Any, cast

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from superarm.service.bandits.actor import Reply
from superarm.service.bandits.failures import about_to_stop
from superarm.service.bandits.patience import too_late
from superarm.service.http.connection import Alarm, Connection, Door
from superarm.service.http.endpoint import JSON, Endpoint, Work, encoded, incomplete
from superarm.service.http.gate import Gate
from superarm.service.http.guard import REFUSED
from superarm.service.http.heads import PATH, Head, Heads
from superarm.service.http.service import Service
from superarm.service.http.team import bandit_in
from superarm.service.problems import MEDIA_TYPE, Problem, server_failed


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

    Attributes
    ----------
    endpoints
        By the words of their paths: see `PATH`.
    """

    def __init__(
        self,
        service: Service,
        gate: Gate,
        endpoints: Sequence[Endpoint],
        proxies: Sequence[str] = (),
    ) -> None:
        self.service, self.gate = service, gate
        # A longer body arrives in pieces, and the application asks for each.
        self.heads = Heads(min(gate.most_body, HIGH_WATER_LIMIT))
        places = [PATH.fullmatch(one.path.replace("{id}", "id").encode()) for one in endpoints]
        self.endpoints = {
            place.group("of", "what"): one
            for place, one in zip(places, endpoints, strict=True)
            if place is not None
        }
        self.proxies = ProxyHeadersMiddleware(_nothing, list(proxies)) if proxies else None
        self._default_headers: list[tuple[bytes, bytes]] = []
        self._first_lines: dict[int, bytes] = {}

    def behind_proxy(self, client: Any, headers: Sequence[tuple[bytes, bytes]]) -> Any:
        """The client of a request, behind a trusted proxy that of the proxy."""
        scope = {"type": "http", "client": client, "headers": headers}
        if self.proxies is not None:
            with contextlib.suppress(StopIteration):  # it changes the scope, and waits for nothing
                self.proxies(scope, None, None).send(None)  # type: ignore[arg-type]
        return scope["client"]

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
        self._begins = b""  # the piece that is being read, if a request begins with it
        self._refused: Problem | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the request that is arriving."""
        super().connection_lost(exc)
        self.alarm.close()
        if isinstance(self.cycle, _Request) and self.cycle.more_body:
            self.cycle.fail(incomplete())

    def data_received(self, data: bytes) -> None:
        """Begin a request with a head that is remembered, or let the parser read."""
        self._begins = b""
        if self._is_idle():
            self.alarm.clear()
            if self._head == 0 and not self.transport.is_closing():
                found = self.express.heads.recall(data)
                request = found and self._request(*found, is_known=True)
                if found and request:
                    self._arrival.clear()
                    self._unset_keepalive_if_required()  # of a request on the long way
                    self.cycle = request
                    request.begin(found[0]["body"])
                    return
                self._begins = data
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Choose the way of the request."""
        request = self._parsed()
        if request is None:
            if self._refused is not None:
                self.scope[REFUSED] = self._refused  # type: ignore[literal-required]
                self._refused = None
            super().on_headers_complete()
        else:
            self._expect_body()
            request.body, request.more_body = bytearray(), True
            self.cycle = request
        self._begins = b""

    def on_message_complete(self) -> None:
        """Begin the work of the request."""
        # Not of one that has arrived before: uvicorn makes no cycle for some requests.
        is_new = self.cycle is not None and self.cycle.more_body
        super().on_message_complete()
        if is_new and isinstance(self.cycle, _Request):
            self.cycle.begin(bytes(self.cycle.body))

    def _parsed(self) -> _Request | None:
        """The request that the parser has read the head of, if it may take the short way."""
        place, parser = PATH.fullmatch(self.url), self.parser
        if (
            self._refused is not None
            or place is None
            or parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or self.expect_100_continue
            or not self._is_idle()
        ):
            return None
        head = self.express.heads.read(self.headers)
        request = head and self._request(place, head)
        if head and request:
            self.express.heads.remember(self._begins, self.url, head)
        return request or None

    def _request(
        self, place: re.Match[bytes], head: Head, *, is_known: bool = False
    ) -> _Request | None:
        """The request with a head, if an endpoint is for it and the gate admits it."""
        express, id, path = self.express, place["id"], place["path"].decode()
        endpoint = express.endpoints.get(place.group("of", "what"))
        if endpoint is None or self.flow.write_paused:
            return None
        if express.service.with_keys and express.gate.is_stale:
            return None
        team = express.service.team
        if team is not None:  # the bandit, or some of many, may be those of another worker
            home = None if id is None else team.known(bandit_in(path) or "")
            if home != team.number:
                return None
        sender: Any = self.client
        if express.proxies is not None:
            sender = express.behind_proxy(sender, head.pairs)
        client = sender[0] if sender else None
        try:
            key_id = express.gate.admit("POST", path, head.headers, client, is_known=is_known)
        except Problem as problem:
            self._refused = problem
            return None
        given = {} if id is None else {"id": id.decode()}
        return _Request(self, endpoint, given, head, (path, key_id, client))


class _Request(Reply, RequestResponseCycle):
    """A request on the short way. Uvicorn's connection looks at its attributes."""

    message_event = Event()  # nobody waits for it
    more_body = disconnected = response_started = response_complete = False

    def __init__(
        self,
        connection: ExpressConnection,
        endpoint: Endpoint,
        given: dict[str, Any],
        head: Head,
        about: tuple[str, str | None, str | None],
    ) -> None:
        # Not that of uvicorn, which makes what only ASGI needs.
        self._connection, self._endpoint, self._given = connection, endpoint, given
        self._head, self._about, self._start = head, about, time.perf_counter()
        self.keep_alive = not connection.express.service.closing()

    def begin(self, body: bytes) -> None:
        """Start the work of the request, which has arrived."""
        connection, endpoint, head = self._connection, self._endpoint, self._head
        service = connection.express.service
        try:
            given = endpoint.arguments(body, head.media, head.key)
            work = cast(Work, endpoint.function(service, **self._given, **given))
        except Exception as error:
            # Later, as in the application: the connection may still be reading.
            connection.loop.call_soon(self.fail, error)
            return
        super().__init__(len(work.wanted))
        self._answer = work.answer
        if service.engine.deadline_s:
            connection.alarm.set(service.engine.deadline_s, self._give_up)
        connection.tasks.add(self)  # type: ignore[arg-type] # when it stops, it cancels them
        service.engine.start(work.wanted, self)

    def cancel(self, msg: str | None = None) -> None:
        """Give the work up, at the end of the server."""
        # Later: uvicorn goes through all tasks, and this one is removed with its answer.
        self._connection.loop.call_soon(self.refuse, about_to_stop())

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return self.response_complete or self.disconnected or self._connection.gone

    def _give_up(self) -> None:
        self.give_up(too_late(self._connection.express.service.engine.deadline_s))

    def end(self, answers: list[Any]) -> None:
        """Answer the request."""
        try:
            answer = self._answer(answers)
            headers, content = self._endpoint.headers(answer), encoded(answer)
        except Exception as error:
            self.fail(error)
        else:
            self._send(self._endpoint.status, headers, JSON, content)

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
        if connection.pipeline or connection.flow.read_paused or transport.is_closing():
            connection.on_response_complete()
        else:  # the same without a new timer
            connection.server_state.total_requests += 1
            connection.alarm.set(
                connection.timeout_keep_alive, connection.timeout_keep_alive_handler
            )


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that does nothing."""
