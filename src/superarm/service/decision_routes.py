"""Routes about decisions: ask, tell, look, list, explain."""

from __future__ import annotations

from typing import Literal

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from superarm.service import bodies, hot, operations, stories
from superarm.service.context import Service, answer
from superarm.service.describing import body, header, links, problems
from superarm.service.reading import bandit_id, bandit_of, key_of, raw_of


def add(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    engine = service.engine

    @app.post(
        "/v1/bandits/{id}/decisions",
        status_code=201,
        response_model=bodies.DecisionAnswer | bodies.DecisionBatch,
        responses={
            201: links("tell", "get_decision", "explain_decision"),
            **problems(400, 404, 409, 413, 415, 422, 429, 500, 503, 507),
        },
        openapi_extra={**body(bodies.DecideBody, required=False), **header("Idempotency-Key")},
    )
    async def decide(id: str, request: Request) -> Response:
        """Give out a decision, or ``n`` of them. It is in the log before it is answered."""
        return answer(await hot.decide(service, id, await raw_of(request), key_of(request)), 201)

    @app.get(
        "/v1/bandits/{id}/decisions",
        response_model=bodies.DecisionList,
        responses=problems(404, 422, 503),
    )
    async def list_decisions(
        id: str,
        status: Literal["open", "told", "expired"] | None = None,
        limit: int = Query(50, ge=1, le=1000),
        before: int | None = Query(None, ge=1, le=2**53),
    ) -> Response:
        """Decisions, the newest first; ``before`` is the number of a decision, the last part of its id."""
        return answer(
            await engine.do(
                bandit_id(id), stories.decisions(engine.store, status, limit, before), reads=True
            )
        )

    @app.post(
        "/v1/decisions/{id}/outcomes",
        response_model=bodies.ToldAnswer,
        responses=problems(400, 404, 409, 410, 413, 415, 422, 503, 507),
        openapi_extra=body(bodies.TellBody),
    )
    async def tell(id: str, request: Request) -> Response:
        """Learn outcomes of some arms of a decision. They are in the log before that is acknowledged."""
        return answer(await hot.tell(service, id, await raw_of(request)))

    @app.get(
        "/v1/decisions/{id}", response_model=bodies.DecisionState, responses=problems(404, 422, 503)
    )
    async def get_decision(id: str) -> Response:
        """A decision, and what became of it, however old it is."""
        return answer(
            await engine.do(
                bandit_of(id),
                lambda live, turn: operations.find(engine.store, live, id),
                reads=True,
            )
        )

    @app.get(
        "/v1/decisions/{id}/explanation",
        response_model=bodies.ExplanationAnswer,
        responses=problems(404, 422, 503),
    )
    async def explain_decision(id: str) -> Response:
        """Why each arm is in, and what was left out."""
        return answer(
            await engine.do(bandit_of(id), stories.explanation(engine.store, id), reads=True)
        )
