"""The blocking and the asynchronous client: the same verbs, sent in two ways."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from superarm.client import bulk_verbs, verbs
from superarm.client.answers import Bandit
from superarm.client.log_reader import LogReader
from superarm.client.requests import Request, options_of
from superarm.client.retries import Pause, Retries, Steps, with_retries

P = ParamSpec("P")
T = TypeVar("T")


def _signed(method: Any, verb: Callable[..., Steps[Any]]) -> Any:
    """The method with the docstring and the signature of its verb, for help() and the docs."""
    functools.update_wrapper(method, verb)
    # The signature of the verb has no self.
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(verb)
    method.__signature__ = signature.replace(parameters=[self_, *signature.parameters.values()])
    return method


def _blocking(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    """A verb as a method of `Client`."""

    def method(self: Client, *args: P.args, **options: P.kwargs) -> T:
        return self._run(verb(*args, **options))

    return _signed(method, verb)


def _awaited(
    verb: Callable[P, Steps[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """A verb as a method of `AsyncClient`."""

    async def method(self: AsyncClient, *args: P.args, **options: P.kwargs) -> T:
        return await self._run(verb(*args, **options))

    return _signed(method, verb)


class Client:
    """A client of the service with blocking calls. Threads may share one client.

    In a forked process, a copy of a client opens connections of its own, unless it has a
    ``transport`` of yours.

    Parameters
    ----------
    url
        The address of the service. The default is the environment variable SUPERARM_URL, or
        ``"http://127.0.0.1:8321"`` if it is not set.
    key
        An API key, if the service requires one. The default is the environment variable
        SUPERARM_KEY.
    retries
        How often a request is tried, and the pauses between tries.
    timeout_s
        How long to wait for an answer, in seconds.
    transport
        The httpx transport, for tests and for network settings of your own.

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
        self._options = {"transport": transport, **options_of(url, key, timeout_s)}
        self._http, self._process = httpx.Client(**self._options), os.getpid()

    def __repr__(self) -> str:
        return _shown(self)

    create = _blocking(verbs.create)
    bandits = _blocking(verbs.bandits)
    bandit = _blocking(verbs.bandit)
    arms = _blocking(verbs.arms)
    delete = _blocking(verbs.delete)
    ask = _blocking(verbs.ask)
    tell = _blocking(verbs.tell)
    ask_all = _blocking(bulk_verbs.ask_all)
    tell_all = _blocking(bulk_verbs.tell_all)
    decision = _blocking(verbs.decision)
    explain = _blocking(verbs.explain)
    verdict = _blocking(verbs.verdict)
    lift = _blocking(verbs.lift)
    add_arms = _blocking(verbs.add_arms)
    retire = _blocking(verbs.retire)
    restore = _blocking(verbs.restore)
    snapshot = _blocking(verbs.snapshot)
    merge = _blocking(verbs.merge)
    health = _blocking(verbs.health)

    def log(
        self, bandit: Bandit | str, *, after: int = 0, follow: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Read the events of a bandit with numbers above ``after``, in order.

        With ``follow``, the iterator then waits for new events and never ends.
        """
        reader = LogReader(bandit, after, follow, self._retries)
        while True:
            try:
                with self._own().stream(**reader.for_httpx) as response:
                    if response.is_success:
                        # Events are handed on while the answer still arrives: a followed log never
                        # ends.
                        yield from map(reader.event, response.iter_lines())
                        if not follow:
                            return
                    # The body of a problem says what is wrong, and a stream is not read by itself.
                    response.read()
                pause = reader.pause_after(response)
            except httpx.TransportError as error:
                pause = reader.pause_after(error)
            time.sleep(pause.seconds)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        actions = with_retries(steps, self._retries)
        try:
            action = next(actions)
            while True:
                action = actions.send(self._do(action))
        except StopIteration as end:
            return end.value

    def _do(self, action: Request | Pause) -> httpx.Response | httpx.TransportError | None:
        if isinstance(action, Pause):
            time.sleep(action.seconds)
            return None
        try:
            # Errors are given back, not raised: `with_retries` decides whether to try again.
            return self._own().request(**action.for_httpx())
        except httpx.TransportError as error:
            return error

    def _own(self) -> httpx.Client:
        """The connections of this process."""
        # Those of a process that was forked are also its parent's, and would mix their answers.
        if self._process != os.getpid():
            self._http, self._process = httpx.Client(**self._options), os.getpid()
        return self._http


class AsyncClient:
    """A client of the service with coroutines, for many requests at once.

    The parameters are those of `Client`.

    Examples
    --------
    >>> def service(request):
    ...     return httpx.Response(200, json={"id": "d-1", "new": ["ant"], "status": "open"})
    >>> async def main():
    ...     transport = httpx.MockTransport(service)
    ...     async with AsyncClient("http://127.0.0.1:8321", transport=transport) as client:
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
        self._http = httpx.AsyncClient(transport=transport, **options_of(url, key, timeout_s))

    def __repr__(self) -> str:
        return _shown(self)

    create = _awaited(verbs.create)
    bandits = _awaited(verbs.bandits)
    bandit = _awaited(verbs.bandit)
    arms = _awaited(verbs.arms)
    delete = _awaited(verbs.delete)
    ask = _awaited(verbs.ask)
    tell = _awaited(verbs.tell)
    ask_all = _awaited(bulk_verbs.ask_all)
    tell_all = _awaited(bulk_verbs.tell_all)
    decision = _awaited(verbs.decision)
    explain = _awaited(verbs.explain)
    verdict = _awaited(verbs.verdict)
    lift = _awaited(verbs.lift)
    add_arms = _awaited(verbs.add_arms)
    retire = _awaited(verbs.retire)
    restore = _awaited(verbs.restore)
    snapshot = _awaited(verbs.snapshot)
    merge = _awaited(verbs.merge)
    health = _awaited(verbs.health)

    async def log(
        self, bandit: Bandit | str, *, after: int = 0, follow: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Read the events of a bandit with numbers above ``after``, in order.

        With ``follow``, the iterator then waits for new events and never ends.
        """
        reader = LogReader(bandit, after, follow, self._retries)
        while True:
            try:
                async with self._http.stream(**reader.for_httpx) as response:
                    if response.is_success:
                        async for line in response.aiter_lines():
                            yield reader.event(line)
                        if not follow:
                            return
                    await response.aread()
                pause = reader.pause_after(response)
            except httpx.TransportError as error:
                pause = reader.pause_after(error)
            await asyncio.sleep(pause.seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[T], *, of_items: bool = True) -> T:
        actions = with_retries(steps, self._retries, of_items=of_items)
        try:
            action = next(actions)
            while True:
                action = actions.send(await self._do(action))
        except StopIteration as end:
            return end.value

    async def _do(self, action: Request | Pause) -> httpx.Response | httpx.TransportError | None:
        if isinstance(action, Pause):
            await asyncio.sleep(action.seconds)
            return None
        try:
            return await self._http.request(**action.for_httpx())
        except httpx.TransportError as error:
            return error


def _shown(client: Client | AsyncClient) -> str:
    # Without the key, which would end up in logs.
    return f"{type(client).__name__}({str(client._http.base_url).rstrip('/')!r})"
