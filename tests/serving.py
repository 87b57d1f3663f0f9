"""The application in the process of the tests, without a server."""

import asyncio
import contextlib
import importlib.util
import json
import sys

import httpx

from superarm.service.bandits.engine import Engine
from superarm.service.http.app import make_app
from superarm.service.http.service import Service
from superarm.service.log.sqlite import SQLiteStore
from superarm.service.settings import Limits

# httpx looks for sniffio in every request. Where sniffio is not installed, the search through all
# folders takes longer than the request itself. None in its place ends the search at once.
if "sniffio" not in sys.modules and importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None


class Client:
    """Sends requests to an application on its own event loop; ``together`` sends many at once.

    The requests are those of httpx, and go straight to the application. Cookies, redirects and
    passwords, which the service does not have, would take as long as the application itself.
    """

    def __init__(self, app, runner):
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.app, self._runner = app, runner
        self._client = httpx.AsyncClient(
            transport=self._transport, base_url="http://127.0.0.1", timeout=60
        )

    def run(self, waiting):
        # Unlike `run` of the runner, this does not exchange the handler of signals and back.
        return self._runner.get_loop().run_until_complete(waiting)

    async def async_request(self, method, path, **options):
        assert path.startswith("/")
        request = self._client.build_request(method, f"http://127.0.0.1{path}", **options)
        answer = await self._transport.handle_async_request(request)
        answer.request = request
        await answer.aread()
        return answer

    def request(self, method, path, **options):
        return self.run(self.async_request(method, path, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def put(self, path, **options):
        return self.request("PUT", path, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def together(self, requests):
        async def ask():
            return await asyncio.gather(
                *(self.async_request(*args, **options) for *args, options in requests)
            )

        return self.run(ask())

    def close(self):
        self.run(self._client.aclose())


@contextlib.contextmanager
def client_of(path, *, checkpoints=True, limits=None, with_keys=False, names=(), **options):
    store = SQLiteStore(path)
    if not checkpoints:
        store._write([("DELETE FROM checkpoints", ())])
    service = Service(
        Engine(store, **options), limits or Limits(), with_keys=with_keys, names=frozenset(names)
    )
    with client_on(service) as client:
        yield client


@contextlib.contextmanager
def client_on(service):
    app = make_app(service)
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        client = Client(app, runner)
        try:
            yield client
        finally:
            client.close()
            runner.run(lifespan.__aexit__(None, None, None))


def events_of(client, bandit, **params):
    answer = client.get(f"/v1/bandits/{bandit}/log", params=params)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def create(client, **more):
    answer = client.post(
        "/v1/bandits",
        json={"name": "canteen", "arms": ["ant", "bee", "cat", "dog"], "k": 2, **more},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def decide(client, bandit, status=201, **body):
    answer = client.post(f"/v1/bandits/{bandit}/decisions", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def tell(client, id, outcomes):
    answer = client.post(f"/v1/decisions/{id}/outcomes", json={"outcomes": outcomes})
    assert answer.status_code == 200, answer.text
    return answer.json()


def play(client, bandit, n_rounds):
    for number in range(n_rounds):
        decision = client.post(f"/v1/bandits/{bandit}/decisions").json()
        outcomes = {arm: 0.5 * ((number + place) % 3) for place, arm in enumerate(decision["arms"])}
        if number % 4:
            answer = client.post(
                f"/v1/decisions/{decision['id']}/outcomes", json={"outcomes": outcomes}
            )
            assert answer.status_code == 200, answer.text
