"""The application: the routes of all endpoints, and how failures are answered."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from superarm.service.bandits.patience import CLIENT_GONE
from superarm.service.http import (
    bandit_routes,
    bulk_routes,
    decision_routes,
    edge_routes,
    server_routes,
)
from superarm.service.http.connection import GONE
from superarm.service.http.endpoint import Endpoint, json_response
from superarm.service.http.express import Express
from superarm.service.http.gate import Gate
from superarm.service.http.guard import Guard
from superarm.service.http.keys import Keys
from superarm.service.http.openapi import description
from superarm.service.http.service import Service
from superarm.service.http.to_home import ToHome
from superarm.service.page.files import page_routes
from superarm.service.problems import MEDIA_TYPE, Problem, server_failed, shown

# Routes are tried in this order. Decisions and outcomes come most often.
ENDPOINTS: tuple[Endpoint, ...] = (
    *decision_routes.ENDPOINTS,
    *bulk_routes.ENDPOINTS,
    *bandit_routes.ENDPOINTS,
    *edge_routes.ENDPOINTS,
    *server_routes.ENDPOINTS,
)


def make_app(service: Service) -> Starlette:
    """The application of a service. It closes the engine when it ends."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if service.team is not None:
            service.team.leave()
        service.engine.close()

    routes: list[BaseRoute] = [_route(endpoint, service) for endpoint in ENDPOINTS]
    routes += [Route("/openapi.json", _describe(service), include_in_schema=False), *page_routes()]
    gate = _gate(service)
    app = Starlette(
        routes=routes,
        middleware=_middleware(service, gate),
        exception_handlers={
            Problem: _answer_problem,
            HTTPException: _answer_routing,
            Exception: _answer_bug,
        },
        lifespan=lifespan,
    )
    # Paths are exact. The description has no redirects.
    app.router.redirect_slashes = False
    app.state.service, app.state.gate = service, gate
    return app


def make_express(app: Starlette, proxies: Sequence[str] = ()) -> Express:
    """The short way to the application for the requests that come most often."""
    endpoints = (decision_routes.decide, decision_routes.tell, *bulk_routes.ENDPOINTS)
    return Express(app.state.service, app.state.gate, endpoints, proxies)


def _gate(service: Service) -> Gate:
    return Gate(
        service.engine.metrics,
        most_body=service.limits.body,
        rate=service.limits.rate,
        keys=Keys(service.engine.store) if service.with_keys else None,
        names=service.names,
        log_requests=service.log_requests,
    )


def _middleware(service: Service, gate: Gate) -> list[Middleware]:
    in_thread = service.engine.in_thread
    guard = Middleware(Guard, gate=gate, in_thread=in_thread)
    if service.team is None:
        return [guard]
    # The worker that a client is connected to admits and counts its requests.
    return [guard, Middleware(ToHome, team=service.team, in_thread=in_thread)]


class _Responder:
    """The ASGI application of one endpoint.

    Starlette handles exceptions of functions twice, once per route and once per application. An
    ASGI application as endpoint saves the first time.
    """

    def __init__(self, endpoint: Endpoint, service: Service) -> None:
        self._endpoint, self._service = endpoint, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The operations of a request look whether its client is still there.
        CLIENT_GONE.set(scope.get(GONE, _never))
        response = await self._endpoint.respond(self._service, Request(scope, receive))
        if scope["method"] == "HEAD" and isinstance(response, StreamingResponse):
            # The server leaves out bodies, but would wait for the end of this one.
            response = Response(headers=dict(response.headers))
            del response.headers["content-length"]  # nobody knows that of the answer to a GET
        await response(scope, receive, send)


def _never() -> bool:
    return False


def _route(endpoint: Endpoint, service: Service) -> Route:
    responder = _Responder(endpoint, service)
    # Starlette adds HEAD to GET.
    return Route(endpoint.path, responder, methods=[endpoint.method], name=endpoint.name)


def _describe(service: Service) -> Callable[[Request], Any]:
    # Made at the first request: a server that nobody asks for it starts faster.
    made = functools.cache(lambda: description(ENDPOINTS, with_keys=service.with_keys))

    async def describe(request: Request) -> Response:
        return json_response(made())

    return describe


def _problem_response(problem: Problem) -> Response:
    return Response(problem.encoded(), problem.status, problem.headers, MEDIA_TYPE)


async def _answer_problem(_: Request, problem: Any) -> Response:
    return _problem_response(problem)


async def _answer_routing(request: Request, error: Any) -> Response:
    """No route fits: 404, or 405 if the path has other methods."""
    status = error.status_code
    if status == 405:
        detail = f"{shown(request.method)} is not possible at this path"
        headers = {"Allow": _allowed(request)}
    else:
        detail = "nothing is at this path" if status == 404 else str(error.detail)
        headers = dict(error.headers or {})
    fix = "GET /openapi.json lists everything"
    return _problem_response(Problem(status, detail, fix=fix, headers=headers))


def _allowed(request: Request) -> str:
    """The methods of all routes at the path of a request. Starlette knows only the first route."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods or set()
    return ", ".join(sorted(found))


async def _answer_bug(_: Request, error: Exception) -> Response:
    return _problem_response(server_failed())
