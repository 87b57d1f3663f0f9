"""The two clients: the same verbs, one of them to be awaited. All that differs is who sends, waits and reads."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from superarm.client import verbs
from superarm.client.answers import Bandit
from superarm.client.reading import Reading
from superarm.client.retries import Pause, Request, Retries, Steps, retried
from superarm.version import __version__

P = ParamSpec("P")
T = TypeVar("T")


def _now(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    """A verb as a method."""

    @functools.wraps(verb)
    def method(self: Client, *args: P.args, **options: P.kwargs) -> T:
        return self._run(verb(*args, **options))

    return _with_self(method, verb)


def _later(
    verb: Callable[P, Steps[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """A verb as a method to be awaited."""

    @functools.wraps(verb)
    async def method(self: AsyncClient, *args: P.args, **options: P.kwargs) -> T:
        return await self._run(verb(*args, **options))

    return _with_self(method, verb)


def _with_self(method: Any, verb: Callable[..., Any]) -> Any:
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(verb)
    method.__signature__ = signature.replace(parameters=[first, *signature.parameters.values()])
    return method


class Client:
    """The service, as the library's verbs: `ask` and `tell`, and what goes with them. Threads may share one.

    Parameters
    ----------
    url
        Where the service is; by default what the environment variable SUPERARM_URL says, or
        ``"http://127.0.0.1:8321"``.
    key
        An API key, where the service wants one; by default what SUPERARM_KEY says.
    retries
        How often a request is tried.
    timeout_s
        How long an answer may take.
    transport
        What httpx sends with, for tests and for settings of your own.

    Examples
    --------
    >>> def service(request):  # stands for a service in this example
    ...     return httpx.Response(200, json={"id": "d-1", "new": ["ant"], "status": "open"})
    >>> with Client("http://127.0.0.1:8321", transport=httpx.MockTransport(service)) as client:
    ...     client.tell("d-1", {"ant": 1.0})
    ('ant',)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        retries: Retries | None = None,
        timeout_s: float = 10.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._http = httpx.Client(transport=transport, **_options(url, key, timeout_s))

    create = _now(verbs.create)
    bandits = _now(verbs.bandits)
    bandit = _now(verbs.bandit)
    ask = _now(verbs.ask)
    tell = _now(verbs.tell)
    decision = _now(verbs.decision)
    explain = _now(verbs.explain)
    add_arms = _now(verbs.add_arms)
    retire = _now(verbs.retire)
    restore = _now(verbs.restore)
    health = _now(verbs.health)

    def log(
        self, bandit: Bandit | str, *, after: int = 0, follow: bool = False
    ) -> Iterator[dict[str, Any]]:
        """The events of a bandit after a number, in order; with ``follow``, those to come as well, without an end."""
        reading = Reading(bandit, after, follow, self._retries)
        while True:
            try:
                with self._http.stream(**_sent(reading.request, follow=follow)) as response:
                    if response.is_success:
                        yield from map(reading.event, response.iter_lines())
                        if not follow:
                            return
                    response.read()
                pause = reading.failed(response)
            except httpx.TransportError as error:
                pause = reading.failed(error)
            time.sleep(pause.seconds)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        doing = retried(steps, self._retries)
        try:
            step = next(doing)
            while True:
                step = doing.send(self._do(step))
        except StopIteration as end:
            return end.value

    def _do(self, step: Request | Pause) -> httpx.Response | httpx.TransportError | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return self._http.request(**_sent(step))
        except httpx.TransportError as error:
            return error


class AsyncClient:
    """What `Client` is, with verbs to be awaited, for many requests at once. Its arguments are those of `Client`.

    Examples
    --------
    >>> def service(request):
    ...     return httpx.Response(200, json={"id": "d-1", "new": ["ant"], "status": "open"})
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8321", transport=httpx.MockTransport(service)) as client:
    ...         return await client.tell("d-1", {"ant": 1.0})
    >>> asyncio.run(main())
    ('ant',)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        retries: Retries | None = None,
        timeout_s: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._http = httpx.AsyncClient(transport=transport, **_options(url, key, timeout_s))

    create = _later(verbs.create)
    bandits = _later(verbs.bandits)
    bandit = _later(verbs.bandit)
    ask = _later(verbs.ask)
    tell = _later(verbs.tell)
    decision = _later(verbs.decision)
    explain = _later(verbs.explain)
    add_arms = _later(verbs.add_arms)
    retire = _later(verbs.retire)
    restore = _later(verbs.restore)
    health = _later(verbs.health)

    async def log(
        self, bandit: Bandit | str, *, after: int = 0, follow: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """The events of a bandit after a number, in order; with ``follow``, those to come as well, without an end."""
        reading = Reading(bandit, after, follow, self._retries)
        while True:
            try:
                async with self._http.stream(**_sent(reading.request, follow=follow)) as response:
                    if response.is_success:
                        async for line in response.aiter_lines():
                            yield reading.event(line)
                        if not follow:
                            return
                    await response.aread()
                pause = reading.failed(response)
            except httpx.TransportError as error:
                pause = reading.failed(error)
            await asyncio.sleep(pause.seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        doing = retried(steps, self._retries)
        try:
            step = next(doing)
            while True:
                step = doing.send(await self._do(step))
        except StopIteration as end:
            return end.value

    async def _do(self, step: Request | Pause) -> httpx.Response | httpx.TransportError | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await self._http.request(**_sent(step))
        except httpx.TransportError as error:
            return error


def _options(url: str | None, key: str | None, timeout_s: float) -> dict[str, Any]:
    url = url or os.environ.get("SUPERARM_URL") or "http://127.0.0.1:8321"
    key = key or os.environ.get("SUPERARM_KEY")
    headers = {"User-Agent": f"superarm/{__version__}"}
    if key:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(
                "key must be printable ASCII without spaces, got something else; copy it again"
            )
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": url, "timeout": timeout_s, "headers": headers}


def _sent(request: Request, *, follow: bool = False) -> dict[str, Any]:
    """A request in httpx's words."""
    sent: dict[str, Any] = {
        "method": request.method,
        "url": request.path,
        "params": request.params,
        "headers": {},
    }
    if request.body is not None:
        # ASCII, so that names with lone surrogates come to be refused by the service instead of failing here.
        sent["content"] = json.dumps(request.body, allow_nan=False).encode()
        sent["headers"]["Content-Type"] = "application/json"
    if request.key is not None:
        sent["headers"]["Idempotency-Key"] = request.key
    if follow:
        sent["timeout"] = httpx.Timeout(10.0, read=None)  # the next event comes when it comes
    return sent
