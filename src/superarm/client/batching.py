"""Many calls in few requests, without any change of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, Unpack

from superarm.client import bulk_verbs
from superarm.client.answers import Bandit, Decision
from superarm.client.clients import AsyncClient
from superarm.client.errors import ProblemError
from superarm.client.requests import AskOptions, as_json, as_key, ask_body, id_of, outcomes_of
from superarm.client.retries import RETRIED_STATUSES, Steps

Item = TypeVar("Item")
Result = TypeVar("Result")
_MOST = 10_000  # items that the service takes in one request
_TOO_LONG = 413  # the status of a body that the service does not take
_Call: TypeAlias = tuple[Item, asyncio.Future[Result | ProblemError]]


class Batching:
    """Sends the decisions and outcomes of many tasks together.

    While a request is on its way, calls wait, and the next request has all of them. So a single
    call is sent at once, and a thousand calls need few requests. A call that failed for now is sent
    again in a later request, and no other call waits for it.

    Parameters
    ----------
    client
        The client that sends the requests.
    most
        The most calls per request. The service takes up to 10,000.

    Examples
    --------
    >>> import httpx, json
    >>> def service(request):  # stands for a service in this example
    ...     print(request.url.path, len(json.loads(request.content)["outcomes"]))
    ...     told = [{"answer": {"new": ["ant"]}}] * len(json.loads(request.content)["outcomes"])
    ...     return httpx.Response(200, json={"results": told})
    >>> async def main():
    ...     async with AsyncClient(transport=httpx.MockTransport(service)) as client:
    ...         batching = Batching(client)
    ...         calls = [batching.tell(f"d-{n}", {"ant": 1.0}) for n in range(300)]
    ...         return len(await asyncio.gather(*calls))
    >>> asyncio.run(main())
    /v1/outcomes 300
    300
    """

    def __init__(self, client: AsyncClient, most: int = 1000) -> None:
        self._asks: _Lane[tuple[str, AskOptions], Decision]
        self._asks = _Lane(client, bulk_verbs.ask_all, most)
        self._tells: _Lane[tuple[str, Mapping[Any, float]], tuple[str, ...]]
        self._tells = _Lane(client, bulk_verbs.tell_all, most)

    async def ask(self, bandit: Bandit | str, **options: Unpack[AskOptions]) -> Decision:
        """Decide which arms to pull now: see `AsyncClient.ask`."""
        # Checked now: a call that cannot be written would fail all calls of its request.
        body: Any = ask_body(options)
        body["key"] = as_key(body.get("key"))
        as_json(body)
        return await self._asks.call((id_of(bandit), body))

    async def tell(
        self, decision: Decision | str, outcomes: Mapping[Any, float]
    ) -> tuple[str, ...]:
        """Report outcomes of a decision: see `AsyncClient.tell`."""
        return await self._tells.call((id_of(decision), outcomes_of(outcomes)))


class _Lane(Generic[Item, Result]):
    """Calls of one kind. At most one request is on its way."""

    def __init__(
        self,
        client: AsyncClient,
        verb: Callable[[list[Item]], Steps[list[Result | ProblemError]]],
        most: int,
    ) -> None:
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most}")
        if most > _MOST:
            raise ValueError(f"most must be at most {_MOST}, as the service takes, got {most}")
        self._client, self._verb, self._most = client, verb, most
        self._waiting: list[_Call[Item, Result]] = []
        self._task: asyncio.Task[None] | None = None

    async def call(self, item: Item) -> Result:
        retries, n_failed = self._client._retries, 0
        while isinstance(result := await self._sent(item), ProblemError):
            n_failed += 1
            if result.status not in RETRIED_STATUSES or n_failed == retries.tries:
                raise result
            await asyncio.sleep(retries.pause_after(n_failed, result).seconds)
        return result

    async def _sent(self, item: Item) -> Result | ProblemError:
        """The result of an item. Raises if its whole request failed, in all tries."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result | ProblemError] = loop.create_future()
        self._waiting.append((item, future))
        if self._task is None or self._task.done():
            # It starts after the calls that other tasks make in this turn of the event loop.
            self._task = asyncio.ensure_future(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            await self._send(some)

    async def _send(self, some: list[_Call[Item, Result]]) -> None:
        # A task that was cancelled needs no answer any more.
        some = [(item, future) for item, future in some if not future.done()]
        try:
            # Calls are tried again by themselves, so that none delays the others.
            verb = self._verb([item for item, _ in some])
            results = await self._client._run(verb, of_items=False)
        except Exception as error:
            if len(some) > 1 and getattr(error, "status", None) == _TOO_LONG:
                # Each of them may be short enough.
                half = len(some) // 2
                await self._send(some[:half])
                await self._send(some[half:])
                return
            for _, future in some:
                if not future.done():
                    future.set_exception(error)
        else:
            for (_, future), result in zip(some, results, strict=True):
                if not future.done():
                    future.set_result(result)
