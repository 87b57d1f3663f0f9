"""The server: what it does once, before the first request."""

import asyncio
import gc

import uvicorn

from superarm.service.server import _Server


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

    before, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    try:
        assert asyncio.run(freeze_count()) > 10_000
        assert gc.get_threshold() > (700, 10, 10)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        if was_frozen:
            gc.freeze()
