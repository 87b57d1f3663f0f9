"""The server: what it does once, before the first request."""

import asyncio
import contextlib
import gc
import logging
from types import SimpleNamespace

import pytest
import uvicorn

from superarm.service.server import _Server


@contextlib.contextmanager
def nothing_frozen():
    """A start freezes what exists in this process, which runs other tests afterwards."""
    before, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        if was_frozen:
            gc.freeze()


def test_what_exists_at_the_start_is_not_collected():
    """A full collection would stop all requests, for longer the more objects there are."""

    async def freeze_count():
        config = uvicorn.Config(None, port=0, lifespan="off", log_config=None)
        config.load()
        server = _Server(config, None, None)
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        n_frozen = gc.get_freeze_count()
        await server.shutdown()
        return n_frozen

    with nothing_frozen():
        assert asyncio.run(freeze_count()) > 10_000
        assert gc.get_threshold() > (700, 10, 10)


@pytest.mark.parametrize(
    ("address", "url"),
    [(("127.0.0.1", 8321), "http://127.0.0.1:8321/"), (("::1", 8321, 0, 0), "http://[::1]:8321/")],
)
def test_the_log_has_an_address_for_browsers(address, url, monkeypatch, caplog):
    async def start(server, sockets=None):
        listening = SimpleNamespace(getsockname=lambda: address)
        server.servers = [SimpleNamespace(sockets=[listening])]

    monkeypatch.setattr(uvicorn.Server, "startup", start)
    with nothing_frozen(), caplog.at_level(logging.INFO, "superarm.service"):
        asyncio.run(_Server(uvicorn.Config(None), None, None).startup())
    assert [record.fields["url"] for record in caplog.records] == [url]
