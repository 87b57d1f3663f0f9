"""One connection: how large headers are, and how long a request and the reading of an answer take.

The guard sees a request when its headers are complete. Clients that never complete them, or send
them without end, must be stopped before that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from superarm.service.http.team import Team
from superarm.service.http.writer import Writer
from superarm.service.problems import MEDIA_TYPE, Problem
from superarm.service.settings import Limits

# The member of a scope with a function that says whether the client has closed its connection.
GONE = "superarm.gone"
# Systems buffer megabytes of an answer, so a slow reader may make no room for a while.
UNREAD_S = 300.0


class Door(Protocol):
    """What counts connections: see `superarm.service.http.front_door.FrontDoor`."""

    limits: Limits
    team: Team | None

    def enter(self, address: str) -> bool:
        """Count a connection. Returns whether the address may have it."""

    def leave(self, address: str) -> None:
        """Forget a connection."""

    def is_closing(self) -> bool:
        """Whether the server is about to stop."""


class Connection(HttpToolsProtocol):
    """A connection with deadlines. The limits of its head are checked after each piece of it."""

    def __init__(self, door: Door, **options: Any) -> None:
        super().__init__(**options)
        self._door, self._limits = door, door.limits
        self._address, self.gone = "", False
        self._is_ending = False  # nothing is read any more, and some requests are at work
        self.before = b""  # what another worker has read from the connection
        self.is_limited = True  # not so connections of other workers, which have no address
        self._head: int | None = 0  # bytes of an incomplete head; None while a body arrives
        self._frame = 0  # bytes since the last piece of a body: extensions of chunks, and trailers
        self._at_work: deque[Any] = deque()  # requests whose answers are not complete, and others
        self._arrival, self._reading = Alarm(self.loop), Alarm(self.loop)
        self._unread = 0  # bytes of answers, when it was last looked
        self._late_head = partial(self._late, self._limits.head_s, "the headers")
        self._late_body = partial(self._late, self._limits.body_s, "the body")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection if its address has too many."""
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
            self._arrival.set(self._limits.head_s, self._late_head)
            if self.before:
                self.data_received(self.before)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.gone = True
        self._door.leave(self._address)
        self._arrival.close()
        self._reading.close()
        # Uvicorn tells the last of several requests only.
        for cycle in self._at_work:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, or hand the connection to another worker."""
        if self.transport.is_closing() or self._is_ending:  # refused
            return
        if self._head == 0 and self._is_idle() and self._hand_over(data):
            return
        if self._head is not None:
            self._head += len(data)
        else:
            self._frame += len(data)
        super().data_received(data)
        if self._is_ending:
            return
        if self._head and not self._arrival.is_set:  # empty lines before a request begin no request
            self._arrival.set(self._limits.head_s, self._late_head)
        # After parsing: what came behind a complete head does not count. A piece has a bounded
        # size, so parsing one that is too much costs little.
        n_bytes, what = (self._frame, "trailers") if self._head is None else (self._head, "headers")
        if n_bytes > self._limits.head:
            detail = f"the {what} must have at most {self._limits.head} bytes in all"
            self._refuse(Problem(431, detail))

    def _is_idle(self) -> bool:
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def _hand_over(self, data: bytes) -> bool:
        team = self._door.team
        # An answer that the client has not read in full is in this process.
        if team is None or self.transport.get_write_buffer_size():
            return False
        if not team.hand_over(self.transport, data):
            return False
        # Closes the socket of this process. The connection goes on in the other one.
        self._unset_keepalive_if_required()
        self.transport.abort()
        return True

    def on_message_begin(self) -> None:
        """Expect the headers of a request in time."""
        super().on_message_begin()
        # Its first bytes may have come with the request before it. What comes next is then the rest
        # of a head, even if it looks like a whole request.
        self._head = self._head or 1
        self._arrival.set(self._limits.head_s, self._late_head)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header. What comes behind a body, and would change the request, is left out."""
        if self._head is not None:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Read a piece of a body."""
        self._frame = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Expect the body of the request in time."""
        self._expect_body()
        self.scope[GONE] = lambda: self.gone  # type: ignore[literal-required]
        super().on_headers_complete()
        while self._at_work and self._at_work[0].response_complete:
            self._at_work.popleft()
        if self.cycle is not None:  # uvicorn makes none for some requests
            self.cycle.transport = cast(asyncio.Transport, Writer(self.transport))
            self.cycle.keep_alive = self.cycle.keep_alive and not self._door.is_closing()
            self._at_work.append(self.cycle)

    def _expect_body(self) -> None:
        self._head, self._frame = None, 0
        self._arrival.set(self._limits.body_s, self._late_body)

    def on_message_complete(self) -> None:
        """Expect nothing, until the next request begins."""
        self._head = 0
        self._arrival.clear()
        super().on_message_complete()

    def _late(self, seconds: float, what: str) -> None:
        # A request before this one is not answered yet, and the client would take this for its
        # answer. With a whole head behind it the server itself does not read on.
        if self.flow.read_paused or (self._head is not None and not self._is_idle()):
            self._arrival.set(seconds, partial(self._late, seconds, what))
            return
        self._refuse(Problem(408, f"{what} of a request must arrive within {seconds:g} seconds"))

    def pause_writing(self) -> None:
        """Expect the client to read on: what it does not read is in memory."""
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._reading.set(UNREAD_S, self._look)

    def resume_writing(self) -> None:
        """Expect nothing: the client has read nearly all."""
        super().resume_writing()
        self._reading.clear()

    def _look(self) -> None:
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        if self._unread < before:
            self._reading.set(UNREAD_S, self._look)
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and close the connection."""
        fix = "characters of a URL other than those of ASCII must be percent-encoded"
        self._refuse(Problem(400, "the request is not valid HTTP", fix=fix))

    def _ends_later(self, problem: Problem) -> bool:
        """Whether requests before the one that is refused are at work, or wait for their turn.

        Their answers come first. The connection ends after them, because nobody knows where the
        next request would begin.
        """
        cycle = self.cycle
        if cycle is None or self._is_idle() or (cycle.more_body and not self.pipeline):
            return False
        if cycle.more_body:  # it is the one that is refused, and its turn will come
            self.pipeline[0] = (cycle, partial(_answer, problem))
        cycle.keep_alive, self._is_ending = False, True
        self._arrival.close()
        return True

    def _refuse(self, problem: Problem) -> None:
        """Answer, unless an answer has begun, and close the connection."""
        if self._ends_later(problem):
            return
        self._arrival.close()
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


class Alarm:
    """Calls a function when a time has come, unless it is set anew before.

    A timer per request is expensive. So the timer of an alarm stays when the alarm is set to a
    later time, and looks at the time again when it fires.

    Parameters
    ----------
    loop
        The event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = self._fires = 0.0
        self._call: Callable[[], Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float, call: Callable[[], Any]) -> None:
        """Call a function after some time, and forget what was set before."""
        self._due, self._call = self._loop.time() + seconds, call
        if self._timer is None or self._due < self._fires:
            self._start()

    @property
    def is_set(self) -> bool:
        """Whether a function is to be called."""
        return self._call is not None

    def clear(self) -> None:
        """Call nothing."""
        self._call = None

    def close(self) -> None:
        """Call nothing any more."""
        self._call = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires = self._due
        self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        call = self._call
        if call is None:
            return
        if self._loop.time() < self._due:
            self._start()
            return
        self._call = None
        call()


async def _answer(problem: Problem, scope: Any, receive: Any, send: Any) -> None:
    """An application that answers every request with a problem."""
    content = problem.encoded()
    fields = {"content-type": MEDIA_TYPE, "content-length": str(len(content))}
    headers = [(name.encode(), text.encode()) for name, text in fields.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
