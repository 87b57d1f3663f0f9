"""The two requests that come all the time, answered without the framework's detour.

FastAPI knows them as well, describes them, and would answer the same; this is the short way to the same functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from superarm.service import bodies, operations
from superarm.service.context import Service
from superarm.service.guard import Receive, Scope, Send
from superarm.service.problems import Problem
from superarm.service.reading import bandit_id, bandit_of, check_media, key_from, parsed

_ASK = re.compile(r"/v1/bandits/([^/]+)/decisions")
_TELL = re.compile(r"/v1/decisions/([^/]+)/outcomes")
_LOOKED_AT = {b"content-type", b"idempotency-key"}
_SENT = (b"content-type", b"application/json")
Answer = Mapping[str, Any]


async def decide(service: Service, id: str, raw: bytes, key: str | None) -> Answer:
    """The answer to a request for decisions."""
    given = parsed(raw or b"{}", bodies.DecideBody)
    asked = given.model_dump(exclude_defaults=True) if given.model_fields_set else {}
    engine = service.engine
    return await engine.do(
        bandit_id(id), operations.decide(asked, key, engine.clock, service.limits)
    )


async def tell(service: Service, id: str, raw: bytes, key: str | None = None) -> Answer:
    """The answer to outcomes."""
    given = parsed(raw, bodies.TellBody)
    engine = service.engine
    return await engine.do(
        bandit_of(id), operations.tell(id, given.outcomes, engine.clock, engine.store)
    )


_WAYS: tuple[tuple[re.Pattern[str], Callable[..., Awaitable[Answer]], int, str], ...] = (
    (_TELL, tell, 200, "/v1/decisions/{id}/outcomes"),
    (_ASK, decide, 201, "/v1/bandits/{id}/decisions"),
)


class Hot:
    """An ASGI application before another one, which answers everything else."""

    def __init__(self, app: Any, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a Problem is left to the guard."""
        if scope["type"] == "http" and scope["method"] == "POST":
            for pattern, function, status, route in _WAYS:
                found = pattern.fullmatch(scope["path"])
                if found:
                    scope["superarm.route"] = route
                    sent = {
                        name: value.decode("latin-1")
                        for name, value in scope["headers"]
                        if name in _LOOKED_AT
                    }
                    raw = await _whole(receive)
                    check_media(sent.get(b"content-type"), raw)
                    answer = await function(
                        self._service, found[1], raw, key_from(sent.get(b"idempotency-key"))
                    )
                    await _respond(status, json.dumps(answer).encode(), send)
                    return
        await self._app(scope, receive, send)


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":  # a part of a body is not what was asked for
            raise Problem(400, "the body broke off", fix="send it again")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _respond(status: int, body: bytes, send: Send) -> None:
    headers = [_SENT, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
