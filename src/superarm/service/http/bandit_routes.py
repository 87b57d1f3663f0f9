"""Endpoints about bandits: make, list, look up, add and retire arms, read the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.responses import Response, StreamingResponse

from superarm.service.bandits import arms, decisions, spec, views
from superarm.service.bandits.engine import Engine
from superarm.service.bandits.records import Answer, Repeated
from superarm.service.http import answers, bodies, queries
from superarm.service.http.endpoint import Media, endpoint
from superarm.service.http.service import Service
from superarm.service.log import chain
from superarm.service.log.events import Bandit
from superarm.service.log.store import NameTakenError, Store
from superarm.service.problems import Problem, shown
from superarm.service.summary import Summary

_EVENTS_PER_READ = _BANDITS_PER_READ = 1000
_POLL_S = 0.25  # between two looks at the database for new events
_NEVER = 2**63 - 1  # above the seq of any event
# 500 is among them because the bandit may need a reward that this server was not started with.
_OF_REBUILDING = (404, 422, 500, 503)


@endpoint(
    "POST",
    "/v1/bandits",
    status=201,
    location="/v1/bandits/{id}",
    answer=Summary,
    links=("decide", "get_bandit", "add_arms"),
    problems=(400, 409, 413, 415, 422, 503, 507),
    example={"name": "front page", "arms": ["budget", "storm", "derby", "quiz"], "k": 2},
)
async def create_bandit(service: Service, body: bodies.CreateBody, key: str | None) -> Answer:
    """Make a bandit. The same request again gets the same bandit."""
    # The key is checked but not needed: names are distinct, so the request is idempotent anyway.
    engine, limits, given = service.engine, service.limits, body.model_dump()
    wanted = await engine.slowly(lambda: spec.complete(given, engine.own, most_arms=limits.arms))
    try:
        bandit, made = await engine.create(wanted), True
    except NameTakenError:
        chosen = [name for name in ("belief", "seed") if given[name] is None]
        bandit, made = await engine.in_thread(_same_bandit, engine, wanted, chosen), False
    answer = await engine.in_thread(views.logged_summary, engine.store, bandit)
    return answer if made else Repeated(answer)


def _same_bandit(engine: Engine, wanted: spec.Spec, chosen: list[str]) -> Bandit:
    """The bandit that has the name already, if the same request made it.

    ``chosen`` are the members that the server chose, because the request does not have them.
    """
    name = wanted["name"]
    bandit = engine.store.bandit_named(name)
    if bandit is None:
        raise Problem(
            503,
            "the bandit of this name is just being made",
            fix="repeat",
            headers={"Retry-After": "1"},
        )
    found = chain.spec_of(engine.store.events(bandit.number, 0, 1)[0])
    # Whatever seed was drawn, and whatever belief was the default when the bandit was made.
    wanted = {**wanted, **{name: found[name] for name in chosen}}
    # Through JSON, as the log has it: tuples become lists.
    if found != json.loads(json.dumps(wanted)):
        fix = f"take another name, or use the bandit {bandit.id}"
        raise Problem(409, f"another bandit has the name {shown(name)}", fix=fix, kind="name-taken")
    return bandit


@endpoint("GET", "/v1/bandits", answer=answers.BanditList, problems=(404, 422, 503))
async def list_bandits(service: Service, query: queries.BanditsQuery) -> Answer:
    """List bandits in the order of their creation: all, or by their names."""
    engine, limit, number = service.engine, query.limit, 0
    if query.after is not None:
        try:
            number = (await engine.find(query.after)).number
        except Problem as problem:
            if problem.kind != "bandit-deleted":  # since the page that it ended
                raise
            number = await engine.in_thread(engine.store.deleted, query.after)

    def look() -> Answer:
        if query.name is None:
            found = _with_text(engine.store, query.query, limit + 1, number)
        else:
            named = engine.store.bandit_named(query.name)
            found = [] if named is None or named.number <= number else [named]
        listed = [views.logged_summary(engine.store, bandit) for bandit in found[:limit]]
        return {"bandits": listed, "next": listed[-1]["id"] if len(found) > limit else None}

    return await engine.in_thread(look)


def _with_text(store: Store, text: str, limit: int, after: int) -> list[Bandit]:
    """Bandits after one, with a text in their names, without regard to case."""
    if not text:
        return store.bandits(limit, after)
    wanted, found = text.casefold(), list[Bandit]()
    while len(found) < limit and (some := store.bandits(_BANDITS_PER_READ, after)):
        found += [bandit for bandit in some if wanted in bandit.name.casefold()]
        after = some[-1].number
    return found[:limit]


@endpoint("GET", "/v1/bandits/{id}", answer=answers.BanditState, problems=_OF_REBUILDING)
async def get_bandit(service: Service, id: str, query: queries.BanditQuery) -> Answer:
    """Look up a bandit, and its best arms among those with ``query`` in their names."""
    among = await _among(service, id, query.query)
    engine = service.engine
    means = await engine.do(id, views.means, reads=True)
    shown = await engine.slowly(views.best, means, query.top, among)
    look = await engine.do(id, partial(views.state, shown=shown), reads=True)
    return await engine.slowly(look)


async def _among(service: Service, id: str, text: str) -> Any:
    """The numbers of the arms with a text in their names; None for all arms.

    Decisions need not wait for the search, which takes long with a million arms.
    """
    if not text:
        return None
    names = await service.engine.do(id, views.names, reads=True)
    return await service.engine.in_thread(views.with_query, names, text)


@endpoint(
    "DELETE",
    "/v1/bandits/{id}",
    status=204,
    answer=Media("", "Deleted"),
    problems=(404, 410, 422, 503, 507),
)
async def delete_bandit(service: Service, id: str, query: queries.DeleteQuery) -> Response:
    """Delete a bandit with its decisions, outcomes and log. This cannot be undone."""
    try:
        bandit = await service.engine.find(id)
        # Some HTTP libraries turn the address of an arm called ".." into that of the bandit.
        if query.name != bandit.name:
            raise Problem(
                422, f"name must be that of the bandit to delete, got {shown(query.name)}"
            )
        await service.engine.delete(id)
    except Problem as problem:
        if problem.kind != "bandit-deleted":  # a request that is repeated has succeeded
            raise
    return Response(status_code=204)


@endpoint(
    "POST",
    "/v1/bandits/{id}/arms",
    answer=answers.ArmsAnswer,
    problems=(400, 404, 409, 413, 415, 422, 503, 507),
    example={"arms": ["recipe", "obituary"]},
)
async def add_arms(service: Service, id: str, body: bodies.ArmsBody, key: str | None) -> Answer:
    """Add arms, or restore retired ones. Arms that exist and are not retired do not change."""
    engine = service.engine
    operation = partial(
        arms.add_arms,
        arms=body.arms,
        prior=body.prior,
        features=body.features,
        known_only=body.known_only,
        key=key,
        now=engine.clock,
        most_arms=service.limits.arms,
    )
    return await engine.do(id, operation)


@endpoint("GET", "/v1/bandits/{id}/arms", answer=answers.ArmList, problems=_OF_REBUILDING)
async def list_arms(service: Service, id: str, query: queries.ArmsQuery) -> Answer:
    """List arms in the order in which they came, with what is known of each."""
    among = await _among(service, id, query.query)
    operation = partial(views.list_arms, limit=query.limit, after=query.after or 0, among=among)
    look = await service.engine.do(id, operation, reads=True)
    return await service.engine.slowly(look)


@endpoint(
    "DELETE",
    "/v1/bandits/{id}/arms/{name:path}",
    answer=answers.ArmsAnswer,
    problems=(400, 404, 409, 422, 503, 507),
)
async def retire_arm(service: Service, id: str, name: str, key: str | None) -> Answer:
    """Stop picking an arm. Its posterior stays, and outcomes of it are still learned."""
    engine = service.engine
    return await engine.do(id, partial(arms.retire, name=name, key=key, now=engine.clock))


@endpoint("GET", "/v1/bandits/{id}/history", answer=answers.History, problems=_OF_REBUILDING)
async def get_history(service: Service, id: str, query: queries.HistoryQuery) -> Answer:
    """Show the bandit over time, at decisions that are evenly spread over all of them."""
    engine = service.engine
    look = await engine.do(id, partial(decisions.history, points=query.points), reads=True)
    return await engine.in_thread(look)


@endpoint("GET", "/v1/bandits/{id}/verdict", answer=answers.VerdictAnswer, problems=_OF_REBUILDING)
async def get_verdict(service: Service, id: str, query: queries.VerdictQuery) -> Answer:
    """Say whether the best arms are known. It may be asked at any time."""
    look = await service.engine.do(id, partial(views.verdict, **dict(query)), reads=True)
    return await service.engine.slowly(look)


@endpoint("GET", "/v1/bandits/{id}/lift", answer=answers.LiftAnswer, problems=_OF_REBUILDING)
async def get_lift(service: Service, id: str, query: queries.LiftQuery) -> Answer:
    """Say what the policy gains over the hold-out. It may be asked at any time."""
    return await service.engine.do(id, partial(views.lift, delta=query.delta), reads=True)


@endpoint(
    "GET",
    "/v1/bandits/{id}/log",
    answer=Media("application/x-ndjson", "Events"),
    problems=(404, 422, 503),
)
async def read_log(service: Service, id: str, query: queries.LogQuery) -> Response:
    """Read the events after one, one per line; with ``follow``, wait for new events, too."""
    bandit = await service.engine.find(id)
    lines = _lines(service, bandit, query.after, query.follow)
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _lines(
    service: Service, bandit: Bandit, after: int, follow: bool
) -> AsyncIterator[bytes]:
    """Lines up to the present last event, or without an end until the server stops."""
    engine = service.engine
    # Fixed at the start: a busy bandit would otherwise never end the answer.
    newest = None if follow else await engine.in_thread(engine.store.last, bandit.number)
    last = _NEVER if newest is None else newest.seq

    def read(seq: int) -> tuple[int, bytes]:
        found = engine.store.events(bandit.number, seq, min(_EVENTS_PER_READ, last - seq))
        text = b"".join(views.line(bandit, event) for event in found)
        return (found[-1].seq if found else seq), text

    while after < last and not (follow and service.closing()):
        after, text = await engine.in_thread(read, after)
        if text:
            yield text
        elif not follow or not await engine.in_thread(engine.store.bandit, bandit.id):
            return  # at its end, or of a bandit that was deleted
        else:
            await asyncio.sleep(_POLL_S)


ENDPOINTS: tuple[Any, ...] = (
    create_bandit,
    list_bandits,
    get_bandit,
    delete_bandit,
    list_arms,
    add_arms,
    retire_arm,
    get_history,
    get_verdict,
    get_lift,
    read_log,
)
