"""A short way for the two requests that come most often: a decision, and its outcomes.

Their paths are simple, so the framework's router, its handlers of exceptions and its requests and
responses can be left out, which takes more time than everything else that is done for a request
here. The endpoints are the same, and so are their answers.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from starlette.routing import BaseRoute, Route

from superarm.service.bandits.patience import CLIENT_GONE
from superarm.service.http.endpoint import Endpoint, body_of, encoded, idempotency_key
from superarm.service.http.front_door import GONE
from superarm.service.http.service import Service
from superarm.service.problems import MEDIA_TYPE, Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
_PATH = re.compile(r"/v1/(bandits|decisions)/([a-z0-9-]+)/(decisions|outcomes)")
_READ = {b"content-type", b"idempotency-key"}
_JSON = b"application/json"


class Express:
    """An ASGI middleware.

    Parameters
    ----------
    app
        The application, for all other requests.
    service
        What endpoints get.
    routes
        The routes of the application.
    endpoints
        The endpoints that are called here, each a POST with one id in its path.
    """

    def __init__(
        self,
        app: Any,
        service: Service,
        routes: Iterable[BaseRoute],
        endpoints: Iterable[Endpoint],
    ) -> None:
        self._app, self._service = app, service
        of_path = {route.path: route for route in routes if isinstance(route, Route)}
        self._found: dict[tuple[str, str], tuple[Endpoint, Route]] = {}
        for endpoint in endpoints:
            _, _, first, _, last = endpoint.path.split("/")
            self._found[first, last] = endpoint, of_path[endpoint.path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        place = None
        if scope["type"] == "http" and scope["method"] == "POST":
            place = _PATH.fullmatch(scope["path"])
        found = None if place is None else self._found.get((place[1], place[3]))
        if place is None or found is None:
            await self._app(scope, receive, send)
            return
        endpoint, scope["route"] = found  # the guard counts by route
        mark_client(scope)
        try:
            answer = await self._answer(endpoint, place[2], scope, receive)
            status, content, media = endpoint.status, encoded(answer), _JSON
            more = endpoint.headers(answer)
        except Problem as problem:
            status, content, media = problem.status, problem.encoded(), MEDIA_TYPE.encode()
            more = problem.headers
        headers = [(b"content-type", media), (b"content-length", b"%d" % len(content))]
        headers += [(name.lower().encode(), value.encode()) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, endpoint: Endpoint, id: str, scope: Scope, receive: Receive) -> Any:
        sent = {name: value for name, value in scope["headers"] if name in _READ}
        raw, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # a part of a body is not the request
                raise Problem(400, "the body is incomplete", fix="send it again")
            raw += message.get("body", b"")
            more = message.get("more_body", False)
        given: dict[str, Any] = {"id": id}
        media = sent.get(b"content-type")
        body = body_of(raw, None if media is None else media.decode("latin-1"), endpoint)
        if body is not None:
            given["body"] = body
        if endpoint.takes_key:
            key = sent.get(b"idempotency-key")
            given["key"] = None if key is None else idempotency_key(key.decode("latin-1"))
        return await endpoint.function(self._service, **given)


def mark_client(scope: Scope) -> None:
    """Let the operations of a request know whether its client is still there."""
    CLIENT_GONE.set(scope.get(GONE, _never))


def _never() -> bool:
    return False
