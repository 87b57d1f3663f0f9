"""An endpoint: one method of one path, with what it reads and what it answers.

An endpoint is a function with a declaration. Its parameters say what it reads from a request:
``body`` and ``query`` are checked by the model they are annotated with, ``key`` is the
Idempotency-Key, and the other ones are parts of the path. It is asynchronous, or it returns `Work`.
The routes of the application and the OpenAPI description are both made from these declarations.
"""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from superarm.service.bandits.actor import Wanted
from superarm.service.bandits.records import Repeated
from superarm.service.http.items import from_lines, from_list, unfit
from superarm.service.http.misfits import misfit
from superarm.service.http.service import Service
from superarm.service.problems import Problem, shown

REPLAYED = "Idempotent-Replayed"  # the header of an answer that was given before
NDJSON = "application/x-ndjson"  # JSON lines
JSON = "application/json"
_NOTHING = (b"", b"{}")
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


# The bytes of an answer. JSON has no NaN and no infinities: they become null.
encoded: Callable[[Any], bytes] = partial(to_json, inf_nan_mode="null")


class Work(NamedTuple):
    """Operations on bandits, and how their answers become the answer of the endpoint."""

    wanted: Sequence[Wanted]
    answer: Callable[[list[Any]], Any]


Function = Callable[..., Awaitable[Any] | Work]


@dataclass(frozen=True)
class Endpoint:
    """One method of one path.

    Attributes
    ----------
    method, path, function
        Such as "POST" and "/v1/decisions/{id}/outcomes". ``function(service, **parameters)`` is
        awaited and gives the members of the answer, or a response; or it returns `Work`.
    answer
        The model of the answer.
    status
        The status of the answer.
    problems
        The statuses of problems that the endpoint may answer, besides those of every endpoint.
    failure
        The model of the answer with status 503, if that is not a problem.
    links
        Names of the endpoints that take the id in the answer.
    location
        Where the thing with the id in the answer is, such as "/v1/bandits/{id}".
    lines
        The member of the body that may also come alone, as JSON lines with one item each.
    example
        A body, for the description.
    """

    method: str
    path: str
    function: Function
    answer: Any
    status: int = 200
    problems: tuple[int, ...] = ()
    failure: type[BaseModel] | None = None
    links: tuple[str, ...] = ()
    location: str | None = None
    lines: str | None = None
    example: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, which have the same endpoints."""
        return _declared, (self.function.__module__, self.name)

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.function.__name__

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The model of the request's body."""
        return typing.get_type_hints(self.function).get("body")

    @cached_property
    def query(self) -> type[BaseModel] | None:
        """The model of the query."""
        return typing.get_type_hints(self.function).get("query")

    @cached_property
    def takes_key(self) -> bool:
        """Whether the endpoint reads an Idempotency-Key."""
        return "key" in inspect.signature(self.function).parameters

    @cached_property
    def needs_body(self) -> bool:
        """Whether the body may not be left out."""
        parameter = inspect.signature(self.function).parameters.get("body")
        return parameter is not None and parameter.default is parameter.empty

    async def respond(self, service: Service, request: Request) -> Response:
        """Read the request, call the function, and encode its answer."""
        raw = b""
        if self.body is not None:
            try:
                raw = await request.body()
            except ClientDisconnect:  # a part of a body is not the request
                raise incomplete() from None
        headers = request.headers
        if self.takes_key and len(headers.getlist("idempotency-key")) > 1:
            raise Problem(400, "Idempotency-Key must come once")
        content = raw, headers.get("content-type"), headers.get("idempotency-key")
        given = {**request.path_params, **await service.read(self.arguments, *content)}
        if self.query is not None:
            given["query"] = _checked(request, self.query)
        elif request.url.query and self.path.startswith("/v1/"):
            _checked(request, _NoQuery)
        said = self.function(service, **given)
        if isinstance(said, Work):
            answer = said.answer(await service.engine.do_all(said.wanted))
        else:
            answer = await said
        if isinstance(answer, Response):
            return answer
        return json_response(answer, self.status, self.headers(answer))

    def arguments(self, raw: bytes, media: str | None, key: str | None) -> dict[str, Any]:
        """The body and the Idempotency-Key of a request, as far as the function takes them."""
        given: dict[str, Any] = {}
        if self.body is not None:
            # Any website can make a browser send other types without asking the service first.
            is_json = media == JSON or (media is None and not raw)
            lines = None if is_json else self._lines_of(media or "")
            try:
                if lines is not None:
                    given["body"] = from_lines(raw, self.body, lines)
                # A body that is not needed, and says nothing, leaves the default of the function.
                elif self.needs_body or raw not in _NOTHING:
                    # From bytes, not from parsed JSON: strict models then take lists for tuples.
                    given["body"] = self.body.model_validate_json(raw)
            except ValidationError as error:
                if self.lines is None:
                    raise unfit(error, raw, self.body) from None
                given["body"] = from_list(error, raw, self.body, self.lines)
        if self.takes_key:
            given["key"] = None if key is None else idempotency_key(key)
        return given

    def _lines_of(self, media: str) -> str | None:
        """The member whose items are the lines of a body; None for JSON. Refuses other types."""
        media = media.partition(";")[0].strip().lower()
        if media == JSON:
            return None
        if media == NDJSON and self.lines is not None:
            return self.lines
        raise Problem(
            415,
            "the body must be JSON",
            expected=JSON if self.lines is None else f"{JSON} or {NDJSON}",
            got=shown(media),
            fix="send Content-Type",
        )

    def headers(self, answer: Any) -> dict[str, str]:
        """The headers of an answer, without those of its body."""
        headers = {}
        if self.location is not None and "id" in answer:
            headers["Location"] = self.location.format(id=answer["id"])
        if isinstance(answer, Repeated):
            headers[REPLAYED] = "true"
        return headers


def endpoint(method: str, path: str, **declared: Any) -> Callable[[Function], Endpoint]:
    """Declare the endpoint of a function: see `Endpoint` for ``declared``."""
    return lambda function: Endpoint(method, path, function, **declared)


def _declared(module: str, name: str) -> Endpoint:
    """An endpoint by its name in a module."""
    return getattr(importlib.import_module(module), name)


def json_response(
    members: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response with JSON."""
    return Response(encoded(members), status, headers, JSON)


class Media(NamedTuple):
    """An answer that is not JSON; without a type, one that has no body."""

    type: str
    description: str


def incomplete() -> Problem:
    """The answer to a request whose client has left before its end."""
    return Problem(400, "the body is incomplete", fix="send it again")


class _NoQuery(BaseModel):
    """The query of an endpoint that has none."""

    model_config = ConfigDict(extra="forbid")


def _checked(request: Request, model: type[BaseModel]) -> BaseModel:
    given = request.query_params.multi_items()
    sent = dict(given)
    for name in sent if len(sent) < len(given) else ():
        if (n := sum(name == one for one, _ in given)) > 1:
            raise Problem(422, f"{shown(name)} must come once, got it {n} times")
    try:
        # Not strict: everything in a query is text.
        return model.model_validate(sent)
    except ValidationError as error:
        raise misfit(error, sent, model, "parameters", "the query") from None


def idempotency_key(key: str) -> str:
    """The key, if it may be one."""
    if not _KEY.fullmatch(key):
        raise Problem(
            400,
            "Idempotency-Key must be 1 to 200 visible ASCII characters",
            got=shown(key),
            fix="use a UUID",
        )
    return key
