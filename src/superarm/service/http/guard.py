"""Lets a request pass the gate before the application sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from superarm.service.bandits.failures import about_to_stop
from superarm.service.http.gate import HEADERS, Gate
from superarm.service.http.to_home import INSIDE
from superarm.service.problems import MEDIA_TYPE, Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
# The member of a scope with the problem of a request that the gate has refused already.
REFUSED = "superarm.refused"
_SHORT = 64 << 10  # bytes of a body that always finds room
_MOST_LONGEST = 8  # how many bodies of the largest size there is room for


class Guard:
    """An ASGI middleware.

    Parameters
    ----------
    app
        The application.
    gate
        What requests pass.
    in_thread
        ``await in_thread(function)`` is for functions that wait for the database.
    """

    def __init__(self, app: Any, gate: Gate, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._app, self._gate, self._in_thread = app, gate, in_thread
        self._room = _MOST_LONGEST * gate.most_body  # bytes, for the bodies of all requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # starting and stopping of the application
            await self._app(scope, receive, send)
            return
        if scope.get(INSIDE):  # the guard of another worker has admitted it
            try:
                await self._ended(scope, receive, send)
            except Problem as problem:
                await _answer(problem, send)
            return
        start, status, key_id, body = time.perf_counter(), 500, None, _Body()
        method, path = scope["method"], scope["path"]
        client = scope["client"][0] if scope.get("client") else None

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if REFUSED in scope:
                raise scope[REFUSED]
            headers = {name: value for name, value in scope["headers"] if name in HEADERS}
            if self._gate.is_stale and self._gate.needs_key(method, path):
                await self._in_thread(self._gate.refresh)
            key_id = self._gate.admit(method, path, headers, client)
            if self._gate.declares_too_long(headers):
                raise _too_long(self._gate.most_body)
            await self._ended(scope, self._limited(receive, body), watched)
        except Problem as problem:
            status = problem.status
            await _answer(problem, send)
        finally:
            self._room += body.held
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path_format", "other")
            self._gate.answered(method, path, route, status, seconds, key_id, client)

    async def _ended(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, at the latest when the server stops."""
        has_begun = False

        async def watched(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:  # the server waits no longer
            if has_begun:
                raise
            raise about_to_stop() from None

    def _limited(self, receive: Receive, body: _Body) -> Receive:
        """Receive the body, unless it is too long, or there is no room for it."""
        most = self._gate.most_body

        async def counted() -> Any:
            message = await receive()
            if message["type"] == "http.request":
                # A client may send more than it declared, or declare nothing.
                body.size += len(message.get("body", b""))
                if body.size > most:
                    raise _too_long(most)
                if body.size > _SHORT:
                    self._hold(body)
            return message

        return counted

    def _hold(self, body: _Body) -> None:
        """Take room for what has come of a body, until its request is answered."""
        self._room -= body.size - body.held
        body.held = body.size
        if self._room < 0:
            raise Problem(
                503,
                "too many long bodies are in memory",
                fix="repeat later, or send less at once",
                headers={"Retry-After": "1"},
            )


@dataclass(slots=True)
class _Body:
    """The bytes of a body that have come, and those for which room was taken."""

    size: int = 0
    held: int = 0


def _too_long(most: int) -> Problem:
    return Problem(413, f"a body must be at most {most} bytes here", fix="serve with --most-body")


async def _answer(problem: Problem, send: Send) -> None:
    body = problem.encoded()
    headers = {**problem.headers, "content-length": str(len(body)), "content-type": MEDIA_TYPE}
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
