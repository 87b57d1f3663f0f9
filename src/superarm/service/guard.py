"""What every request passes: the key, the rate, the size of its body; and the counting and logging of its answer."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from superarm.service import logs, visitors
from superarm.service.keys import Keys, may
from superarm.service.metrics import Metrics
from superarm.service.problems import MEDIA_TYPE, Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
_DECIDES = re.compile(r"/v1/(bandits/[^/]+/decisions|decisions/[^/]+/outcomes)/?")
_CLIENTS = 10_000  # so many rates are remembered


class Guard:
    """An ASGI application around another one.

    Parameters
    ----------
    app
        The service itself.
    metrics
        Where answers are counted.
    most_body
        The most bytes of a body.
    rate
        The most requests a second of a key, or of an address without a good one; 0 for any number. Up to two seconds'
        worth may come at once.
    keys
        Who may do what; None for everybody everything.
    names
        Names of the service, for browsers that need no key.
    refresh
        Reads the keys again, in a thread.
    log_requests
        Whether to write a line for each request.
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
        self._app, self._metrics, self._most_body, self._rate = app, metrics, most_body, rate
        self._keys, self._names, self._refresh, self._log_requests = (
            keys,
            names,
            refresh,
            log_requests,
        )
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, who = time.perf_counter(), 500, None

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            headers = {name: value for name, value in scope["headers"] if name in _LOOKED_AT}
            if self._keys is None:
                visitors.check(scope["method"], headers, self._names)
            who = await self._admit(scope, headers)
            await self._app(scope, self._limited(headers, receive), watched)
        except Problem as problem:
            status = problem.status
            await _answer(problem, send)
        finally:
            seconds = time.perf_counter() - start
            route = str(scope.get("superarm.route") or getattr(scope.get("route"), "path", "other"))
            self._metrics.answered(scope["method"], route, status, seconds)
            if self._log_requests:
                logs.request_line(
                    scope["method"], scope["path"], status, seconds, who, _client(scope)
                )

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        """The id of the key, once it is seen to be enough, and not to come too often."""
        needed = _needed(scope["method"], scope["path"])
        if self._keys is None or needed is None:
            self._limit_rate(_client(scope) or "")
            return None
        if self._keys.stale and self._refresh is not None:
            await self._refresh()
        key = _key(headers)
        found = None if key is None else self._keys.role(key)
        if found is None:
            self._limit_rate(
                _client(scope) or ""
            )  # guesses, too, while good keys of the same address go on
            raise Problem(
                401,
                "a key is needed here" if key is None else "the key is not known here",
                expected="Authorization: Bearer KEY",
                fix="superarm keys add makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        self._limit_rate(found[0])
        if not may(found[1], needed):
            raise Problem(
                403,
                f"the role must be {needed} for this, got {found[1]}",
                fix="use a key of that role",
            )
        return found[0]

    def _limit_rate(self, who: str) -> None:
        """Take one from the bucket of a client, which fills with time."""
        if not self._rate:
            return
        now, most = time.monotonic(), max(1.0, 2 * self._rate)
        left, before = self._buckets.pop(who, (most, now))
        left = min(most, left + (now - before) * self._rate)
        self._buckets[who] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = str(max(1, round((1 - left) / self._rate)))
            raise Problem(
                429,
                f"at most {self._rate:g} requests a second are taken",
                headers={"Retry-After": wait},
            )

    def _limited(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """The body, as long as it is not too long."""
        most = self._most_body
        problem = Problem(
            413, f"a body must be at most {most} bytes here", fix="serve with --most-body"
        )
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > most:
            raise problem
        came = 0

        async def counted() -> Any:
            nonlocal came
            message = await receive()
            if message["type"] == "http.request":
                came += len(message.get("body", b""))
                if came > most:
                    raise problem
            return message

        return counted


_LOOKED_AT = {b"authorization", b"x-api-key", b"content-length"} | visitors.HEADERS


def _needed(method: str, path: str) -> str | None:
    """The role that a request needs; None for what everybody may see."""
    if not path.startswith("/v1/") and path != "/metrics":
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "decide" if method == "POST" and _DECIDES.fullmatch(path) else "admin"


def _key(headers: dict[bytes, bytes]) -> str | None:
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
