"""Routes for operators and people: health, metrics, and the page."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from superarm.service import bodies
from superarm.service.context import Service, answer
from superarm.service.page.files import add_page
from superarm.version import __version__

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def add(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    engine = service.engine

    @app.get("/healthz", response_model=bodies.Health, responses={503: {"model": bodies.Health}})
    async def health() -> Response:
        """Whether decisions and outcomes can be written. Reads work as long as there is an answer at all."""
        status = await engine.in_thread(engine.health)
        members = {"status": status, "version": __version__, "database": engine.store.name}
        return answer(members, 200 if status == "ok" else 503)

    @app.get("/metrics", response_class=Response, responses=_TEXT)
    async def metrics() -> Response:
        """Counters for Prometheus."""
        engine.measure()
        return Response(
            engine.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    add_page(app)
