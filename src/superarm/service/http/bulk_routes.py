"""Endpoints for many decisions or outcomes in one request, of any bandits.

Each item is carried out as a request of its own would be, and has a result of its own. Items of one
bandit are committed together.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from superarm.service.bandits import changes
from superarm.service.bandits.actor import Operation
from superarm.service.bandits.records import Answer, Repeated
from superarm.service.http import answers, bodies
from superarm.service.http.decision_routes import bandit_of
from superarm.service.http.endpoint import endpoint
from superarm.service.http.service import Service
from superarm.service.http.team import Team
from superarm.service.problems import Problem

_PROBLEMS = (400, 413, 415, 422, 429, 503, 507)


@endpoint(
    "POST",
    "/v1/decisions",
    answer=answers.DecideResults,
    problems=_PROBLEMS,
    lines="decisions",
    example={"decisions": [{"bandit": "ers3m6njb8", "key": "page-view-1"}]},
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
    return await _results(service, "decisions", body.decisions, wanted)


@endpoint(
    "POST",
    "/v1/outcomes",
    answer=answers.TellResults,
    problems=_PROBLEMS,
    lines="outcomes",
    example={"outcomes": [{"decision": "ers3m6njb8-1", "outcomes": {"storm": 1.0}}]},
)
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
    return await _results(service, "outcomes", body.outcomes, wanted)


async def _results(
    service: Service,
    member: str,
    items: Sequence[BaseModel],
    wanted: Sequence[tuple[str, Operation] | Problem],
) -> Answer:
    """Carry out the operations that are possible, and say of each how it ended."""
    here = {place: one for place, one in enumerate(wanted) if not isinstance(one, Problem)}
    said = {place: _result(one) for place, one in enumerate(wanted) if isinstance(one, Problem)}
    sent: list[tuple[list[int], Awaitable[list[Answer]]]] = []
    if service.team is not None:
        for home, places in (await _elsewhere(service, service.team, here)).items():
            sent.append((places, _ask(service.team, home, member, [items[i] for i in places])))
            for place in places:
                del here[place]
    waiting = service.engine.do_all(list(here.values()))
    ended, *told = await asyncio.gather(waiting, *(answers for _, answers in sent))
    said |= zip(here, map(_result, ended), strict=True)
    for (places, _), results in zip(sent, told, strict=True):
        said |= zip(places, results, strict=True)
    return {"results": [said[place] for place in range(len(wanted))]}


async def _elsewhere(
    service: Service, team: Team, wanted: dict[int, tuple[str, Operation]]
) -> dict[int, list[int]]:
    """The other workers that are homes of some bandits, with the places of their items."""
    homes: dict[str, int] = {}
    places: dict[int, list[int]] = defaultdict(list)
    for place, (bandit, _) in wanted.items():
        if bandit not in homes:
            known = team.known(bandit)
            found = await service.engine.in_thread(team.find, bandit) if known is None else known
            homes[bandit] = found
        if homes[bandit] != team.number:
            places[homes[bandit]].append(place)
    return places


async def _ask(team: Team, home: int, member: str, items: Sequence[BaseModel]) -> list[Answer]:
    """The results of another worker for some items."""
    texts = [item.model_dump_json(exclude_unset=True) for item in items]
    body = f'{{"{member}":[{",".join(texts)}]}}'.encode()
    head = f"POST /v1/{member} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    try:
        status, answer = await team.ask(home, head.encode(), body)
    except Problem as problem:
        return [_result(problem)] * len(items)
    found = json.loads(answer)
    return found["results"] if status == 200 else [{"problem": found}] * len(items)


def _result(said: Any) -> Answer:
    if isinstance(said, Problem):
        return {"problem": said.body()}
    return {"answer": said, **({"replayed": True} if isinstance(said, Repeated) else {})}


ENDPOINTS = (decide_all, tell_all)
