"""Routes for operators and people: health, metrics, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from superarm.service import bodies
from superarm.service.context import Service, answer
from superarm.version import __version__

PAGE = Path(__file__).parent / "page"
_SAFE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
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
        return Response(engine.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    if (PAGE / "index.html").exists():

        @app.get("/", include_in_schema=False)
        async def page() -> Response:
            return FileResponse(PAGE / "index.html", headers=_SAFE)

        app.mount("/static", StaticFiles(directory=PAGE), name="static")
