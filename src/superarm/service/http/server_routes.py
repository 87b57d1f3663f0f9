"""Endpoints about the server itself: its parts, its health, its metrics."""

from __future__ import annotations

from starlette.responses import Response

from superarm.service.bandits import parts
from superarm.service.bandits.records import Answer
from superarm.service.http import answers
from superarm.service.http.endpoint import Media, endpoint, json_response
from superarm.service.http.service import Service
from superarm.version import __version__

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@endpoint("GET", "/v1/parts", answer=answers.Parts)
async def list_parts(service: Service) -> Answer:
    """List the beliefs, oracles and rewards that a bandit can be made of."""
    return parts.described(service.engine.own)


@endpoint("GET", "/healthz", answer=answers.Health, failure=answers.Health)
async def health(service: Service) -> Response:
    """Say whether decisions and outcomes can be written."""
    engine = service.engine
    status = await engine.health.state()
    members = {"status": status, "version": __version__, "database": engine.store.name}
    return json_response(members, 200 if status == "ok" else 503)


@endpoint("GET", "/metrics", answer=Media("text/plain", "Metrics"))
async def metrics(service: Service) -> Response:
    """Show counters for Prometheus."""
    service.engine.measure()
    return Response(service.engine.metrics.text(), media_type=_PROMETHEUS)


ENDPOINTS = (list_parts, health, metrics)
