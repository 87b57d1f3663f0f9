"""Sends each request to the worker that is the home of its bandit, and questions to all workers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.routing import Match

from superarm.service.http.endpoint import incomplete
from superarm.service.http.team import Answer, Team, bandit_in
from superarm.service.problems import Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
INSIDE = "superarm.inside"  # in the scope of a request that another worker has sent
_ALL_S = 5.0  # how long all workers together may take to say how they are
# About one connection only, or written anew.
_NOT_SENT = {
    b"connection",
    b"content-length",
    b"date",
    b"expect",
    b"keep-alive",
    b"transfer-encoding",
}


class ToHome:
    """An ASGI middleware.

    Parameters
    ----------
    app
        The application.
    team
        The workers.
    in_thread
        ``await in_thread(function, *args)`` is for functions that wait for the database.
    """

    def __init__(self, app: Any, team: Team, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._app, self._team, self._in_thread = app, team, in_thread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, here or elsewhere."""
        if scope["type"] != "http" or scope.get(INSIDE):
            await self._app(scope, receive, send)
            return
        about_all = {"/healthz": self._health, "/metrics": self._metrics}.get(scope["path"])
        if about_all is not None and scope["method"] in ("GET", "HEAD"):
            self._name_route(scope)
            await _answer(send, *await about_all())
            return
        home = await self._home(scope)
        if home == self._team.number:
            await self._app(scope, receive, send)
        else:
            self._name_route(scope)
            await self._forward(home, scope, receive, send)

    async def _home(self, scope: Scope) -> int:
        path = scope["path"]
        id = bandit_in(path)
        if id is not None:
            known = self._team.known(id)
            return await self._in_thread(self._team.find, id) if known is None else known
        if path == "/v1/bandits" and scope["method"] == "POST":
            return await self._in_thread(self._team.for_new)
        return self._team.number

    def _name_route(self, scope: Scope) -> None:
        """Note the route of a request that is not answered here, for the metrics."""
        for route in scope["app"].routes:
            if route.matches(scope)[0] is Match.FULL:
                scope["route"] = route
                return

    async def _forward(self, home: int, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _whole_body(receive)
        forwarding = asyncio.ensure_future(self._relay(home, scope, body, send))
        leaving = asyncio.ensure_future(receive())  # nothing more comes than that the client leaves
        try:
            await asyncio.wait([forwarding, leaving], return_when=asyncio.FIRST_COMPLETED)
            if forwarding.done():
                forwarding.result()
        finally:
            leaving.cancel()
            forwarding.cancel()

    async def _relay(self, home: int, scope: Scope, body: bytes, send: Send) -> None:
        answer, has_begun = Answer(has_body=scope["method"] != "HEAD"), False
        async for piece in self._team.stream(home, _head(scope), body, answer):
            if not has_begun:
                headers = [(name, value) for name, value in answer.headers if _is_sent(name)]
                # The length is known, or else the answer is a stream.
                headers += [one for one in answer.headers if one[0].lower() == b"content-length"]
                start = {"type": "http.response.start", "status": answer.status, "headers": headers}
                await send(start)
                has_begun = True
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _health(self) -> tuple[int, bytes, bytes]:
        """The answer of the worker that is worst off."""
        found = await self._ask_all("/healthz")
        told = [(status, json.loads(body)) for status, body in filter(None, found)]
        bad = [members for status, members in told if status != 200]
        members = bad[0] if bad else told[0][1] if told else {}
        is_well = len(told) == len(found) and not bad
        if not is_well and not bad:  # a worker that does not answer
            members = {**members, "status": "failing"}
        return 200 if is_well else 503, b"application/json", json.dumps(members).encode()

    async def _metrics(self) -> tuple[int, bytes, bytes]:
        """The metrics of all workers. Each has its number as a label."""
        found = await self._ask_all("/metrics")
        texts = [None if answer is None else answer[1].decode() for answer in found]
        return 200, b"text/plain; version=0.0.4; charset=utf-8", together(texts).encode()

    async def _ask_all(self, path: str) -> list[tuple[int, bytes] | None]:
        """The answers of all workers; None for one that has none in time."""

        async def ask(home: int) -> tuple[int, bytes] | None:
            try:
                head = b"GET %s HTTP/1.1\r\nHost: localhost\r\n" % path.encode()
                return await asyncio.wait_for(self._team.ask(home, head), _ALL_S)
            except (Problem, TimeoutError):
                return None

        return await asyncio.gather(*map(ask, range(self._team.n_workers)))


def together(texts: list[str | None]) -> str:
    r"""The metrics of several workers as one text.

    Examples
    --------
    >>> print(together(["# TYPE a counter\na 1.0", '# TYPE a counter\na{b="c"} 2.0']), end="")
    # TYPE a counter
    a{worker="0"} 1.0
    a{worker="1",b="c"} 2.0
    """
    # A metric is described once, and then come all its lines.
    lines: dict[str, list[str]] = {}
    for number, text in enumerate(texts):
        about = ""
        for line in (text or "").splitlines():
            if line.startswith("# HELP"):
                about = f"{line}\n"
            elif line.startswith("#"):
                about += f"{line}\n"
            else:
                lines.setdefault(about, []).append(_labelled(line, number))
    return "".join(key + "".join(f"{line}\n" for line in some) for key, some in lines.items())


def _labelled(line: str, number: int) -> str:
    name, brace, rest = line.partition("{")
    if brace:
        return f'{name}{{worker="{number}",{rest}'
    name, _, value = line.partition(" ")
    return f'{name}{{worker="{number}"}} {value}'


def _is_sent(name: bytes) -> bool:
    return name.lower() not in _NOT_SENT


def _head(scope: Scope) -> bytes:
    """Request line and headers, as the client sent them."""
    query = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    head = [b"%s %s HTTP/1.1\r\n" % (scope["method"].encode(), target)]
    head += [b"%s: %s\r\n" % one for one in scope["headers"] if _is_sent(one[0])]
    return b"".join(head)


async def _whole_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":  # a part of a body is not the request
            raise incomplete()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


async def _answer(send: Send, status: int, media: bytes, body: bytes) -> None:
    headers = [(b"content-type", media), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
