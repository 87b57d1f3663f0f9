"""What every request passes: API key, rate, and size of the body. Counts and logs every answer."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from superarm.service import logs
from superarm.service.http import visitors
from superarm.service.http.keys import Keys, may
from superarm.service.http.to_home import INSIDE
from superarm.service.metrics import Metrics
from superarm.service.problems import MEDIA_TYPE, Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
_DECIDES = re.compile(
    r"/v1/(bandits/[^/]+/(decisions|snapshots|batches)|decisions/[^/]+/outcomes|decisions|outcomes)"
    r"/?"
)
_HEADERS = {b"authorization", b"x-api-key", b"content-length"} | visitors.HEADERS
_HEALTH = "/healthz"
_BURST_S = 2  # a client may send the requests of this time at once
_MOST_CLIENTS = 10_000  # clients whose rates are remembered
_MOST_DIGITS = 20  # of a Content-Length; longer numbers are slow to read


class Guard:
    """An ASGI middleware.

    Parameters
    ----------
    app
        The application.
    metrics
        Where answers are counted.
    most_body
        Bytes per request body.
    rate
        Requests per second of one API key, or of one address without a valid key, on average;
        0 for no limit.
    keys
        The API keys; None if no request needs a key.
    names
        Host names of a service without keys.
    refresh
        Reads the keys again, in a thread.
    log_requests
        Whether to write one log line per request.
    """

    def __init__(
        self,
        app: Any,
        metrics: Metrics,
        *,
        most_body: int,
        rate: float = 0.0,
        keys: Keys | None = None,
        names: frozenset[str] = frozenset(),
        refresh: Callable[[], Awaitable[None]] | None = None,
        log_requests: bool = False,
    ) -> None:
        self._app, self._metrics = app, metrics
        self._most_body, self._rate = most_body, rate
        self._keys, self._names, self._refresh = keys, names, refresh
        self._log_requests = log_requests
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        # Starting and stopping of the application, and what the guard of another worker admitted.
        if scope["type"] != "http" or scope.get(INSIDE):
            await self._app(scope, receive, send)
            return
        start, status, key_id = time.perf_counter(), 500, None

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            headers = {name: value for name, value in scope["headers"] if name in _HEADERS}
            # With keys the headers do not matter: another website does not know the key.
            if self._keys is None:
                visitors.check(scope["method"], headers, self._names)
            key_id = await self._admit(scope, headers)
            await self._app(scope, self._limited(headers, receive), watched)
        except Problem as problem:
            status = problem.status
            await _answer(problem, send)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.answered(scope["method"], route, status, seconds)
            if self._log_requests:
                logs.request_line(
                    scope["method"], scope["path"], status, seconds, key_id, _client(scope)
                )

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """Check key, role and rate. Returns the id of the key."""
        keys = self._keys
        needed = None if keys is None else _needed_role(scope["method"], scope["path"])
        if keys is None or needed is None:
            # A balancer that asks for health must not be refused because of its clients.
            own = f"{_HEALTH} " if scope["path"] == _HEALTH else ""
            self._limit_rate(own + (_client(scope) or ""))
            return None
        if keys.stale and self._refresh is not None:
            await self._refresh()
        key = _api_key(headers)
        found = None if key is None else keys.role(key)
        if found is None:
            # Limits guesses at keys, too. Valid keys from the same address have their own rate.
            self._limit_rate(_client(scope) or "")
            raise Problem(
                401,
                "a key is needed here" if key is None else "the key is not known here",
                expected="Authorization: Bearer KEY",
                fix="superarm keys add makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        key_id, role = found
        self._limit_rate(key_id)
        if not may(role, needed):
            raise Problem(
                403, f"the role must be {needed} for this, got {role}", fix="use a key of that role"
            )
        return key_id

    def _limit_rate(self, client: str) -> None:
        """Take a token from the bucket of a client, which fills with time."""
        if not self._rate:
            return
        now, most = time.monotonic(), max(1.0, _BURST_S * self._rate)
        left, before = self._buckets.pop(client, (most, now))
        left = min(most, left + (now - before) * self._rate)
        # A refused request takes nothing, so a client that waits is served again.
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        # Addresses are easy to change, so the memory for them is bounded.
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait_s = max(1, round((1 - left) / self._rate))
            raise Problem(
                429,
                f"at most {self._rate:g} requests per second are accepted",
                headers={"Retry-After": str(wait_s)},
                kind="rate-exceeded",
            )

    def _limited(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Receive the body, unless it is too long."""
        most = self._most_body
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:_MOST_DIGITS]) > most:
            raise _too_long(most)
        n_bytes = 0

        async def counted() -> Any:
            nonlocal n_bytes
            message = await receive()
            if message["type"] == "http.request":
                # A client may send more than it declared, or declare nothing.
                n_bytes += len(message.get("body", b""))
                if n_bytes > most:
                    raise _too_long(most)
            return message

        return counted


def _too_long(most: int) -> Problem:
    return Problem(413, f"a body must be at most {most} bytes here", fix="serve with --most-body")


def _needed_role(method: str, path: str) -> str | None:
    """The role that a request needs; None if everybody may send it."""
    if not path.startswith("/v1/") and path != "/metrics":
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "decide" if method == "POST" and _DECIDES.fullmatch(path) else "admin"


def _api_key(headers: dict[bytes, bytes]) -> str | None:
    own = headers.get(b"x-api-key")
    if own is not None:
        return own.decode("latin-1")
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None


def _client(scope: Scope) -> str | None:
    return scope["client"][0] if scope.get("client") else None


async def _answer(problem: Problem, send: Send) -> None:
    body = problem.encoded()
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
