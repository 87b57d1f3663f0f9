"""Endpoints for many decisions or outcomes in one request, of any bandits.

Each item is carried out as a request of its own would be, and has a result of its own. Items of one
bandit are committed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from superarm.service.bandits import changes
from superarm.service.bandits.actor import Operation
from superarm.service.bandits.records import Answer
from superarm.service.http import answers, bodies
from superarm.service.http.decision_routes import bandit_of
from superarm.service.http.endpoint import endpoint
from superarm.service.http.service import Service
from superarm.service.problems import Problem

_PROBLEMS = (400, 413, 415, 422, 429, 503, 507)


@endpoint(
    "POST", "/v1/decisions", answer=answers.DecideResults, problems=_PROBLEMS, lines="decisions"
)
async def decide_all(service: Service, body: bodies.DecideAllBody) -> Answer:
    """Issue decisions of any bandits. Each has its own result, and is in the log before that."""
    engine = service.engine
    wanted: list[tuple[str, Operation] | Problem] = []
    for item in body.decisions:
        asked = item.model_dump(exclude_defaults=True)
        bandit, key = asked.pop("bandit"), asked.pop("key", None)
        operation = partial(
            changes.decide, asked=asked, key=key, now=engine.clock, limits=service.limits
        )
        wanted.append((bandit, operation))
    return await _results(service, wanted)


@endpoint("POST", "/v1/outcomes", answer=answers.TellResults, problems=_PROBLEMS, lines="outcomes")
async def tell_all(service: Service, body: bodies.TellAllBody) -> Answer:
    """Learn outcomes of any decisions. Each has its own result, and is in the log before that."""
    now = service.engine.clock
    wanted: list[tuple[str, Operation] | Problem] = []
    for item in body.outcomes:
        try:
            bandit = bandit_of(item.decision)
        except Problem as problem:
            wanted.append(problem)
            continue
        told = partial(changes.tell, id=item.decision, outcomes=item.outcomes, now=now)
        wanted.append((bandit, told))
    return await _results(service, wanted)


async def _results(service: Service, wanted: Sequence[tuple[str, Operation] | Problem]) -> Answer:
    """Carry out the operations that are possible, and say of each how it ended."""
    possible = [one for one in wanted if not isinstance(one, Problem)]
    ended = iter(await service.engine.do_all(possible))
    said = [one if isinstance(one, Problem) else next(ended) for one in wanted]
    return {"results": [_result(one) for one in said]}


def _result(said: Any) -> Answer:
    return {"problem": said.body()} if isinstance(said, Problem) else {"answer": said}


ENDPOINTS = (decide_all, tell_all)
