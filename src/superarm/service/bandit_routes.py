"""Routes about bandits: make, list, look, add and retire arms, read the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Query, Request
from starlette.responses import Response, StreamingResponse

from superarm.service import arms, bodies, spec, stories, views
from superarm.service.context import Service, answer
from superarm.service.describing import body, header, links, problems
from superarm.service.engine import Engine
from superarm.service.events import Bandit
from superarm.service.problems import Problem, shown
from superarm.service.reading import bandit_id, body_of, key_of
from superarm.service.store import NameTakenError

_PAGE = 1000
_POLL_S = 0.25
_NEVER = 2**63 - 1  # the seq of an event that never comes
_NDJSON: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


def add(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    engine, limits = service.engine, service.limits

    @app.post(
        "/v1/bandits",
        status_code=201,
        response_model=bodies.Summary,
        responses={
            201: links("decide", "get_bandit", "add_arms"),
            **problems(400, 409, 413, 415, 422, 503, 507),
        },
        openapi_extra=body(bodies.CreateBody),
    )
    async def create_bandit(request: Request) -> Response:
        """Make a bandit; the same request again gets the same one."""
        given = await body_of(request, bodies.CreateBody)
        key_of(request)  # the name makes it idempotent already
        wanted = await engine.in_thread(
            lambda: spec.complete(given, engine.own, most_arms=limits.arms)
        )
        try:
            bandit = await engine.create(wanted)
        except NameTakenError:
            bandit = await engine.in_thread(_same, engine, given, wanted)
        return answer(await engine.in_thread(views.logged_summary, engine.store, bandit), 201)

    @app.get("/v1/bandits", response_model=bodies.BanditList, responses=problems(404, 422, 503))
    async def list_bandits(
        limit: int = Query(100, ge=1, le=1000), after: str | None = Query(None, max_length=100)
    ) -> Response:
        """Bandits in the order in which they were made."""
        number = 0 if after is None else (await service.find(after)).number

        def look() -> dict[str, Any]:
            found = engine.store.bandits(limit + 1, number)
            page = [views.logged_summary(engine.store, bandit) for bandit in found[:limit]]
            return {"bandits": page, "next": page[-1]["id"] if len(found) > limit else None}

        return answer(await engine.in_thread(look))

    @app.get(
        "/v1/bandits/{id}",
        response_model=bodies.BanditState,
        responses=problems(404, 422, 500, 503),
    )
    async def get_bandit(
        id: str, top: int = Query(20, ge=0, le=10_000), query: str = Query("", max_length=200)
    ) -> Response:
        """A bandit, and its best arms among those with ``query`` in their names."""
        return answer(
            await engine.do(
                bandit_id(id), lambda live, turn: views.state(live, top, query), reads=True
            )
        )

    @app.post(
        "/v1/bandits/{id}/arms",
        response_model=bodies.ArmsAnswer,
        responses=problems(400, 404, 409, 413, 415, 422, 503, 507),
        openapi_extra={**body(bodies.ArmsBody), **header("Idempotency-Key")},
    )
    async def add_arms(id: str, request: Request) -> Response:
        """Add arms, or bring retired ones back; those that are there already stay as they are."""
        given = await body_of(request, bodies.ArmsBody)
        change = arms.add_arms(given, key_of(request), engine.clock, limits.arms)
        return answer(await engine.do(bandit_id(id), change))

    @app.delete(
        "/v1/bandits/{id}/arms/{name:path}",
        response_model=bodies.ArmsAnswer,
        responses=problems(400, 404, 409, 422, 503, 507),
        openapi_extra=header("Idempotency-Key"),
    )
    async def retire_arm(id: str, name: str, request: Request) -> Response:
        """Stop picking an arm. What is known of it stays, and it may still be told about."""
        return answer(
            await engine.do(bandit_id(id), arms.retire(name, key_of(request), engine.clock))
        )

    @app.get(
        "/v1/bandits/{id}/history",
        response_model=bodies.History,
        responses=problems(404, 422, 500, 503),
    )
    async def get_history(id: str, points: int = Query(200, ge=1, le=1000)) -> Response:
        """How the bandit fared, at decisions that are evenly spread over all of them."""
        return answer(
            await engine.do(bandit_id(id), stories.history(engine.store, points), reads=True)
        )

    @app.get(
        "/v1/bandits/{id}/log",
        response_class=StreamingResponse,
        responses={**_NDJSON, **problems(404, 422, 503)},
    )
    async def read_log(
        id: str, after: int = Query(0, ge=0, le=2**53), follow: bool = False
    ) -> Response:
        """The events after one, a line each; with ``follow`` also those that are still to come."""
        bandit = await service.find(id)
        return StreamingResponse(
            _lines(service, bandit, after, follow), media_type="application/x-ndjson"
        )


def _same(engine: Engine, given: bodies.CreateBody, wanted: spec.Spec) -> Bandit:
    """The bandit that has the name already, if it was made by the same request."""
    bandit = engine.store.bandit_named(given.name)
    if bandit is None:
        raise Problem(
            503,
            "the bandit of this name is just being made",
            fix="repeat",
            headers={"Retry-After": "1"},
        )
    there = json.loads(engine.store.events(bandit.number, 0, 1)[0].body)["spec"]
    if given.seed is None:
        wanted = {**wanted, "seed": there["seed"]}
    if there != json.loads(json.dumps(wanted)):
        fix = f"take another name, or use the bandit {bandit.id}"
        raise Problem(409, f"another bandit has the name {shown(given.name)}", fix=fix)
    return bandit


async def _lines(
    service: Service, bandit: Bandit, after: int, follow: bool
) -> AsyncIterator[bytes]:
    """Lines up to the last event of now, also while the server stops; or without an end until it does."""
    engine = service.engine
    newest = None if follow else await engine.in_thread(engine.store.last, bandit.number)
    last = _NEVER if newest is None else newest.seq

    def page(seq: int) -> tuple[int, bytes]:
        found = engine.store.events(bandit.number, seq, min(_PAGE, last - seq))
        return (found[-1].seq if found else seq), b"".join(
            views.line(bandit, event) for event in found
        )

    while after < last and not (follow and service.closing()):
        after, text = await engine.in_thread(page, after)
        if text:
            yield text
        elif not follow:
            return
        else:
            await asyncio.sleep(_POLL_S)
