"""Bodies of requests, from bytes to something checked."""

from __future__ import annotations

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from superarm.service.problems import Problem, shown

Body = TypeVar("Body", bound=BaseModel)
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_BANDIT = re.compile(r"[a-z2-9]{10}")
_DECISION = re.compile(r"([a-z2-9]{10})-[1-9][0-9]{0,14}")
_MOST_ERRORS = 10


async def body_of(request: Request, kind: type[Body]) -> Body:
    """The body of a request."""
    return parsed(await raw_of(request), kind)


async def raw_of(request: Request) -> bytes:
    """The bytes of a request's body."""
    raw = await request.body()
    check_media(request.headers.get("content-type"), raw)
    return raw


def check_media(sent: str | None, raw: bytes) -> None:
    """Refuse bodies that are not said to be JSON: any website may have a browser send those without asking."""
    if sent is None and not raw:
        return
    media = (sent or "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise Problem(
            415,
            "the body must be JSON",
            expected="application/json",
            got=shown(media),
            fix="send Content-Type",
        )


def parsed(raw: bytes, kind: type[Body]) -> Body:
    """What some bytes say."""
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        raise _as_problem(error) from None


def key_of(request: Request) -> str | None:
    """The Idempotency-Key of a request."""
    return key_from(request.headers.get("idempotency-key"))


def key_from(key: str | None) -> str | None:
    """An Idempotency-Key as it may be."""
    if key is not None and not _KEY.fullmatch(key):
        raise Problem(
            400,
            "Idempotency-Key must be 1 to 200 visible ASCII characters",
            got=shown(key),
            fix="a UUID will do",
        )
    return key


def bandit_id(id: str) -> str:
    """An id that could be a bandit's."""
    if not _BANDIT.fullmatch(id):
        raise Problem(404, f"no bandit has the id {shown(id)}", fix="GET /v1/bandits lists them")
    return id


def bandit_of(decision: str) -> str:
    """The id of the bandit that a decision is of."""
    found = _DECISION.fullmatch(decision)
    if not found:
        raise Problem(404, f"no decision has the id {shown(decision)}")
    return found[1]


def _as_problem(error: ValidationError) -> Problem:
    found = error.errors(include_url=False, include_context=False)
    if found[0]["type"] == "json_invalid":
        return Problem(400, f"the body must be JSON: {_plain(found[0]['msg'])}")
    errors = [
        {
            "at": _plain(".".join(map(str, one["loc"]))),
            "detail": _plain(one["msg"]),
            "got": shown(one["input"]),
        }
        for one in found[:_MOST_ERRORS]
    ]
    first = errors[0]
    return Problem(
        422, f"the body does not fit: {first['at'] or 'it'}: {first['detail']}", errors=errors
    )


def _plain(text: str) -> str:
    return json.dumps(text)[1:-1][:300]
