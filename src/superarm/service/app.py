"""The service over HTTP: routes, and how everything that goes wrong is answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from superarm.service import bodies, operations, spec, views
from superarm.service.describing import body, description, problems
from superarm.service.engine import Engine
from superarm.service.events import Bandit
from superarm.service.problems import MEDIA_TYPE, Problem, shown
from superarm.service.reading import bandit_id, bandit_of, body_of, key_of
from superarm.service.static import add_page
from superarm.service.store import NameTakenError
from superarm.version import __version__

_log = logging.getLogger("superarm.service")
_PAGE = 1000
_POLL_S = 0.25


@dataclass(frozen=True)
class Limits:
    """What one server takes.

    Attributes
    ----------
    body
        The most bytes of a body.
    arms
        The most arms of a bandit.
    open
        The most open decisions of a bandit.
    rate
        The most requests a second of one client, on average; 0 for any number.
    """

    body: int = 64 << 20
    arms: int = 2_000_000
    open: int = 100_000
    rate: float = 0.0


@dataclass
class Service:
    """What the routes share."""

    engine: Engine
    limits: Limits = field(default_factory=Limits)
    closing: Callable[[], bool] = lambda: False

    async def find(self, id: str) -> Bandit:
        """The bandit of an id."""
        found = await self.engine.in_thread(self.engine.store.bandit, bandit_id(id))
        if found is None:
            raise Problem(404, f"no bandit has the id {shown(id)}", fix="GET /v1/bandits lists them")
        return found


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
    )
    app.state.service = service
    app.openapi = lambda: description(app)  # type: ignore[method-assign]
    _answer_problems(app)
    _add_bandits(app, service)
    _add_decisions(app, service)
    add_page(app)
    return app


def _json(answer: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(answer), status, media_type="application/json")


def _answer_problems(app: FastAPI) -> None:
    def answer(problem: Problem) -> Response:
        return Response(problem.encoded(), problem.status, problem.headers, MEDIA_TYPE)

    @app.exception_handler(Problem)
    async def of_problem(_: Request, problem: Problem) -> Response:
        return answer(problem)

    @app.exception_handler(RequestValidationError)
    async def of_parameters(_: Request, error: RequestValidationError) -> Response:
        errors = [
            {"at": ".".join(map(str, one["loc"][1:])), "detail": one["msg"], "got": shown(one.get("input"))}
            for one in error.errors()
        ]
        return answer(Problem(422, f"{errors[0]['at']}: {errors[0]['detail']}", errors=errors))

    @app.exception_handler(HTTPException)
    async def of_routing(request: Request, error: HTTPException) -> Response:
        known = {404: "nothing is at this path", 405: f"{shown(request.method)} is not possible at this path"}
        detail = known.get(error.status_code, str(error.detail))
        headers = dict(error.headers or {})
        return answer(Problem(error.status_code, detail, fix="GET /openapi.json lists everything", headers=headers))

    @app.exception_handler(Exception)
    async def of_bug(_: Request, error: Exception) -> Response:
        return answer(Problem(500, "the server failed", fix="the log of the server says how"))


def _add_bandits(app: FastAPI, service: Service) -> None:
    engine, limits = service.engine, service.limits

    @app.post(
        "/v1/bandits",
        status_code=201,
        response_model=bodies.Summary,
        responses=problems(400, 409, 413, 415, 422),
        openapi_extra=body(bodies.CreateBody),
    )
    async def create(request: Request) -> Response:
        given = await body_of(request, bodies.CreateBody)
        wanted = await engine.in_thread(lambda: spec.complete(given, engine.own, most_arms=limits.arms))
        try:
            bandit = await engine.create(wanted)
        except NameTakenError:
            bandit = await engine.in_thread(_same, engine, given, wanted)
        return _json(await engine.in_thread(views.logged_summary, engine.store, bandit), 201)

    @app.get("/v1/bandits", response_model=bodies.BanditList, responses=problems(422))
    async def list_bandits(
        limit: int = Query(100, ge=1, le=1000), after: str | None = Query(None, max_length=100)
    ) -> Response:
        number = 0 if after is None else (await service.find(after)).number

        def look() -> dict[str, Any]:
            found = engine.store.bandits(limit + 1, number)
            shown_ = [views.logged_summary(engine.store, bandit) for bandit in found[:limit]]
            return {"bandits": shown_, "next": shown_[-1]["id"] if len(found) > limit else None}

        return _json(await engine.in_thread(look))

    @app.get("/v1/bandits/{id}", response_model=bodies.BanditState, responses=problems(404, 422))
    async def get_bandit(
        id: str, top: int = Query(20, ge=0, le=10_000), query: str = Query("", max_length=200)
    ) -> Response:
        return _json(await engine.do(bandit_id(id), lambda live, turn: views.state(live, top, query)))

    @app.post(
        "/v1/bandits/{id}/arms",
        response_model=bodies.ArmsAnswer,
        responses=problems(400, 404, 413, 415, 422),
        openapi_extra=body(bodies.ArmsBody),
    )
    async def add_arms(id: str, request: Request) -> Response:
        given = await body_of(request, bodies.ArmsBody)
        return _json(await engine.do(bandit_id(id), operations.add_arms(given, engine.clock, limits.arms)))

    @app.delete(
        "/v1/bandits/{id}/arms/{name:path}", response_model=bodies.ArmsAnswer, responses=problems(404, 409, 422)
    )
    async def retire_arm(id: str, name: str) -> Response:
        return _json(await engine.do(bandit_id(id), operations.retire(name, engine.clock)))

    @app.get(
        "/v1/bandits/{id}/log",
        response_class=StreamingResponse,
        responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}, **problems(404, 422)},
    )
    async def read_log(id: str, after: int = Query(0, ge=0, le=2**53), follow: bool = False) -> Response:
        bandit = await service.find(id)
        return StreamingResponse(_lines(service, bandit, after, follow), media_type="application/x-ndjson")


def _add_decisions(app: FastAPI, service: Service) -> None:
    engine, limits = service.engine, service.limits

    @app.post(
        "/v1/bandits/{id}/decisions",
        status_code=201,
        response_model=bodies.DecisionAnswer | bodies.DecisionBatch,
        responses=problems(400, 404, 409, 413, 415, 422, 429, 503, 507),
        openapi_extra=body(bodies.DecideBody, required=False),
    )
    async def decide(id: str, request: Request) -> Response:
        given = await body_of(request, bodies.DecideBody, optional=True)
        asked = given.model_dump(exclude_defaults=True)
        operation = operations.decide(asked, key_of(request), engine.clock, limits.open)
        return _json(await engine.do(bandit_id(id), operation), 201)

    @app.post(
        "/v1/decisions/{id}/outcomes",
        response_model=bodies.ToldAnswer,
        responses=problems(400, 404, 409, 410, 413, 415, 422, 503, 507),
        openapi_extra=body(bodies.TellBody),
    )
    async def tell(id: str, request: Request) -> Response:
        given = await body_of(request, bodies.TellBody)
        operation = operations.tell(id, given.outcomes, engine.clock, engine.store)
        return _json(await engine.do(bandit_of(id), operation))

    @app.get("/v1/decisions/{id}", response_model=bodies.DecisionState, responses=problems(404, 422))
    async def get_decision(id: str) -> Response:
        return _json(await engine.do(bandit_of(id), lambda live, turn: operations.find(engine.store, live, id)))

    @app.get("/healthz", response_model=bodies.Health)
    async def health() -> Response:
        return _json({"status": "ok", "version": __version__, "database": engine.store.name})


def _same(engine: Engine, body: bodies.CreateBody, wanted: spec.Spec) -> Bandit:
    """The bandit that has the name already, if it was made by the same request."""
    bandit = engine.store.bandit_named(body.name)
    if bandit is None:
        raise Problem(503, "the bandit of this name is just being made", fix="repeat", headers={"Retry-After": "1"})
    there = json.loads(engine.store.events(bandit.number, 0, 1)[0].body)["spec"]
    if body.seed is None:
        wanted = {**wanted, "seed": there["seed"]}
    if there != json.loads(json.dumps(wanted)):
        raise Problem(
            409,
            f"another bandit has the name {shown(body.name)}",
            fix=f"take another name, or use the bandit {bandit.id}",
        )
    return bandit


async def _lines(service: Service, bandit: Bandit, after: int, follow: bool) -> AsyncIterator[bytes]:
    engine = service.engine

    def page(seq: int) -> tuple[int, bytes]:
        found = engine.store.events(bandit.number, seq, _PAGE)
        return (found[-1].seq if found else seq), b"".join(views.line(bandit, event) for event in found)

    while not service.closing():
        last, text = await engine.in_thread(page, after)
        if text:
            yield text
        elif not follow:
            return
        else:
            await asyncio.sleep(_POLL_S)
        after = last
