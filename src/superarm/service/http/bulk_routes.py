"""Endpoints for many decisions or outcomes in one request, of any bandits.

Each item is carried out as a request of its own would be, and has a result of its own. An item that
does not fit is a problem in the body already. Items of one bandit are committed together.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel

from superarm.service.bandits.actor import Wanted
from superarm.service.bandits.changes import Ask
from superarm.service.bandits.outcomes import Tell
from superarm.service.bandits.records import Answer, Repeated
from superarm.service.bandits.sizes import Answered
from superarm.service.http import answers, bodies
from superarm.service.http.decision_routes import bandit_of
from superarm.service.http.endpoint import Work, endpoint
from superarm.service.http.service import Service
from superarm.service.http.team import Team
from superarm.service.problems import Problem

_PLAIN = {"bandit", "key"}  # what an item without constraints has
_PROBLEMS = (400, 413, 415, 422, 429, 503, 507)


@endpoint(
    "POST",
    "/v1/decisions",
    answer=answers.DecideResults,
    problems=_PROBLEMS,
    lines="decisions",
    example={"decisions": [{"bandit": "ers3m6njb8", "key": "page-view-1"}]},
)
def decide_all(service: Service, body: bodies.DecideAllBody) -> Work | Awaitable[Answer]:
    """Issue decisions of any bandits. Each has its own result, and is in the log before that."""
    answered = Answered()

    def wanted(item: bodies.DecideItem) -> Wanted:
        # Most items have no constraints, and a model is slow to take apart.
        plain = item.model_fields_set <= _PLAIN
        asked = {} if plain else item.model_dump(exclude_defaults=True, exclude=_PLAIN)
        answered.add(asked)
        return item.bandit, Ask(asked, item.key, service.engine.clock, service.limits)

    return _work(service, "decisions", body.decisions, wanted)


@endpoint(
    "POST",
    "/v1/outcomes",
    answer=answers.TellResults,
    problems=_PROBLEMS,
    lines="outcomes",
    example={"outcomes": [{"decision": "ers3m6njb8-1", "outcomes": {"storm": 1.0}}]},
)
def tell_all(service: Service, body: bodies.TellAllBody) -> Work | Awaitable[Answer]:
    """Learn outcomes of any decisions. Each has its own result, and is in the log before that."""

    def wanted(item: bodies.TellItem) -> Wanted:
        tell = Tell(item.decision, item.outcomes, service.engine.clock)
        return bandit_of(item.decision), tell

    return _work(service, "outcomes", body.outcomes, wanted)


def _work(
    service: Service, member: str, items: Sequence[Any], make: Callable[[Any], Wanted]
) -> Work | Awaitable[Answer]:
    """Carry out what ``make`` makes of the items. An item that does not fit is a problem."""
    wanted: list[Wanted] = []
    for item in items:
        try:
            wanted.append(item if isinstance(item, Problem) else make(item))
        except Problem as problem:
            wanted.append(problem)
    if service.team is None:
        return Work(wanted, _answer)
    return _spread(service, service.team, member, items, wanted)


def _answer(said: list[Any]) -> Answer:
    return {"results": [_result(one) for one in said]}


async def _spread(
    service: Service,
    team: Team,
    member: str,
    items: Sequence[BaseModel | Problem],
    wanted: Sequence[Wanted],
) -> Answer:
    """Carry out the operations here and in other workers, and say of each how it ended."""
    here = dict(enumerate(wanted))
    sent: list[tuple[list[int], Awaitable[list[Answer]]]] = []
    for home, places in (await _elsewhere(service, team, here)).items():
        there = [one for i in places if isinstance(one := items[i], BaseModel)]  # all of them
        sent.append((places, _ask(team, home, member, there)))
        for place in places:
            del here[place]
    waiting = service.engine.do_all(list(here.values()))
    ended, *told = await asyncio.gather(waiting, *(answers for _, answers in sent))
    said = dict(zip(here, map(_result, ended), strict=True))
    for (places, _), results in zip(sent, told, strict=True):
        said |= zip(places, results, strict=True)
    return {"results": [said[place] for place in range(len(wanted))]}


async def _elsewhere(
    service: Service, team: Team, wanted: dict[int, Wanted]
) -> dict[int, list[int]]:
    """The other workers that are homes of some bandits, with the places of their items."""
    homes: dict[str, int] = {}
    places: dict[int, list[int]] = defaultdict(list)
    for place, one in wanted.items():
        if isinstance(one, Exception):
            continue
        bandit = one[0]
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
    if isinstance(said, Exception):
        raise said
    return {"answer": said, "replayed": True} if isinstance(said, Repeated) else {"answer": said}


ENDPOINTS = (decide_all, tell_all)
