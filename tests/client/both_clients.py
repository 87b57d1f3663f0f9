"""Both clients behind one interface, so that each test runs on both."""

import asyncio

import superarm.client as sc

NO_WAIT = sc.Retries(first_s=1e-6, most_s=1e-6, longest_s=1e-6)


class Awaited:
    """An AsyncClient whose methods block, on their own event loop."""

    def __init__(self, client):
        self.client = client
        self.loop = asyncio.new_event_loop()

    def __getattr__(self, verb):
        return lambda *args, **options: self.loop.run_until_complete(
            getattr(self.client, verb)(*args, **options)
        )

    def log(self, *args, **options):
        events = self.client.log(*args, **options)
        try:
            while True:
                yield self.loop.run_until_complete(anext(events))
        except StopAsyncIteration:
            return
        finally:
            self.loop.run_until_complete(events.aclose())

    def close(self):
        self.loop.run_until_complete(self.client.close())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


def sync_client(url="http://127.0.0.1", **options):
    return sc.Client(url, **{"retries": NO_WAIT, **options})


def async_client(url="http://127.0.0.1", **options):
    return Awaited(sc.AsyncClient(url, **{"retries": NO_WAIT, **options}))


BOTH = {"Client": sync_client, "AsyncClient": async_client}
