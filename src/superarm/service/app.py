"""The service over HTTP: its parts put together, and how everything that goes wrong is answered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from superarm.service import bandit_routes, decision_routes, other_routes
from superarm.service.context import Limits, Service
from superarm.service.describing import description
from superarm.service.guard import Guard
from superarm.service.hot import Hot
from superarm.service.keys import Keys
from superarm.service.problems import MEDIA_TYPE, Problem, shown
from superarm.version import __version__

__all__ = ["Limits", "Service", "make_app"]


def make_app(service: Service) -> FastAPI:
    """The application; it closes its engine when it ends."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.engine.close()

    app = FastAPI(
        title="superarm",
        version=__version__,
        description="Pick the best k of m, round after round, over HTTP.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.openapi = lambda: description(app, with_keys=service.with_keys)  # type: ignore[method-assign]
    engine = service.engine
    keys = Keys(engine.store) if service.with_keys else None

    async def refresh() -> None:
        if keys is not None:
            await engine.in_thread(keys.refresh)

    app.add_middleware(Hot, service=service)
    app.add_middleware(
        Guard,
        metrics=engine.metrics,
        most_body=service.limits.body,
        rate=service.limits.rate,
        keys=keys,
        names=service.names,
        refresh=refresh,
        log_requests=service.log_requests,
    )
    _answer_problems(app)
    for routes in (bandit_routes, decision_routes, other_routes):
        routes.add(app, service)
    return app


def _answer_problems(app: FastAPI) -> None:
    def answer(problem: Problem) -> Response:
        return Response(problem.encoded(), problem.status, problem.headers, MEDIA_TYPE)

    @app.exception_handler(Problem)
    async def of_problem(_: Request, problem: Problem) -> Response:
        return answer(problem)

    @app.exception_handler(RequestValidationError)
    async def of_parameters(_: Request, error: RequestValidationError) -> Response:
        errors = [
            {
                "at": shown(".".join(map(str, one["loc"][1:]))),
                "detail": one["msg"],
                "got": shown(one.get("input")),
            }
            for one in error.errors()
        ]
        return answer(Problem(422, f"{errors[0]['at']}: {errors[0]['detail']}", errors=errors))

    @app.exception_handler(HTTPException)
    async def of_routing(request: Request, error: HTTPException) -> Response:
        known = {
            404: "nothing is at this path",
            405: f"{shown(request.method)} is not possible at this path",
        }
        detail = known.get(error.status_code, str(error.detail))
        headers = (
            {"Allow": _allowed(app, request)}
            if error.status_code == 405
            else dict(error.headers or {})
        )
        return answer(
            Problem(
                error.status_code, detail, fix="GET /openapi.json lists everything", headers=headers
            )
        )

    @app.exception_handler(Exception)
    async def of_bug(_: Request, error: Exception) -> Response:
        return answer(Problem(500, "the server failed", fix="the log of the server says how"))


def _allowed(app: FastAPI, request: Request) -> str:
    """The methods of all routes at a path; the one that came is none of them."""
    found: set[str] = set()
    for route in app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found))
