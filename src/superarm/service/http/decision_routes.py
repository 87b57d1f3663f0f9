"""Endpoints about decisions: issue, learn, look up, list, explain."""

from __future__ import annotations

import re
from functools import partial

from superarm.service.bandits import decisions, explanations, listing
from superarm.service.bandits.actor import only
from superarm.service.bandits.changes import Ask
from superarm.service.bandits.outcomes import Tell
from superarm.service.bandits.records import Answer
from superarm.service.http import answers, bodies, queries
from superarm.service.http.endpoint import Work, endpoint
from superarm.service.http.service import Service
from superarm.service.problems import Problem, shown

_DECISION = re.compile(r"([a-z2-9]{10})-[1-9][0-9]{0,14}")
# A decision can be read from the log, so a bandit that cannot be rebuilt is no problem here (500).
_OF_READING = (404, 422, 503)
_NO_CONSTRAINTS = bodies.DecideBody.model_validate({})


def bandit_of(decision: str) -> str:
    """The id of the bandit that made a decision."""
    found = _DECISION.fullmatch(decision)
    if not found:
        raise Problem(404, f"no decision has the id {shown(decision)}", kind="decision-unknown")
    return found[1]


@endpoint(
    "POST",
    "/v1/bandits/{id}/decisions",
    status=201,
    location="/v1/decisions/{id}",
    answer=answers.DecisionAnswer | answers.DecisionBatch,
    links=("tell", "get_decision", "explain_decision"),
    problems=(400, 404, 409, 413, 415, 422, 429, 500, 503, 507),
    example={"must_not": ["quiz"], "metadata": {"page": "front"}},
)
def decide(
    service: Service, id: str, key: str | None, body: bodies.DecideBody = _NO_CONSTRAINTS
) -> Work:
    """Issue a decision, or ``n`` of them. It is in the log before it is answered."""
    # Without defaults, as the log has it: a request with the same key is compared with the log.
    asked = body.model_dump(exclude_defaults=True) if body.model_fields_set else {}
    return Work([(id, Ask(asked, key, service.engine.clock, service.limits))], only)


@endpoint(
    "POST",
    "/v1/decisions/{id}/outcomes",
    answer=answers.ToldAnswer,
    problems=(400, 404, 409, 410, 413, 415, 422, 503, 507),
    example={"outcomes": {"storm": 1.0, "derby": 0.0}},
)
def tell(service: Service, id: str, body: bodies.TellBody) -> Work:
    """Learn outcomes of some arms. They are in the log before that is acknowledged."""
    return Work([(bandit_of(id), Tell(id, body.outcomes, service.engine.clock))], only)


@endpoint("GET", "/v1/bandits/{id}/decisions", answer=answers.DecisionList, problems=_OF_READING)
async def list_decisions(service: Service, id: str, query: queries.DecisionsQuery) -> Answer:
    """List decisions, newest first; ``before`` is the number at the end of a decision's id."""
    operation = partial(listing.list_decisions, **dict(query))
    look = await service.engine.do(id, operation, reads=True)
    return await service.engine.in_thread(look)


@endpoint("GET", "/v1/decisions/{id}", answer=answers.DecisionState, problems=_OF_READING)
async def get_decision(service: Service, id: str) -> Answer:
    """Look up a decision, its status and its outcomes, however old it is."""
    return await service.engine.do(bandit_of(id), partial(decisions.show, id=id), reads=True)


@endpoint(
    "GET",
    "/v1/decisions/{id}/explanation",
    answer=answers.ExplanationAnswer,
    problems=_OF_READING,
)
async def explain_decision(service: Service, id: str) -> Answer:
    """Say why each arm was chosen, and which arms were left out."""
    return await service.engine.do(bandit_of(id), partial(explanations.explain, id=id), reads=True)


ENDPOINTS = (decide, tell, list_decisions, get_decision, explain_decision)
