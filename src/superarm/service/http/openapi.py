"""The OpenAPI description, made from the declarations of the endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core.core_schema import DictSchema

from superarm.service.http.endpoint import NDJSON, REPLAYED, Endpoint, Media
from superarm.service.http.problem_body import ProblemBody
from superarm.service.problems import MEDIA_TYPE
from superarm.version import __version__

_REF = "#/components/schemas/{model}"
_REPLAYED_HEADER = {
    "description": "true for the answer to an earlier request with the same key.",
    "schema": {"type": "string"},
}
_LOCATION_HEADER = {
    "description": "The path of what was made. Several decisions have none.",
    "schema": {"type": "string"},
}
# By the module of the endpoint.
_TAGS = {
    "bandit_routes": ("bandits", "Make, list, look up and delete bandits, and change their arms."),
    "decision_routes": ("decisions", "Issue decisions, tell outcomes, look up, list, explain."),
    "bulk_routes": ("many at once", "Decisions and outcomes of any bandits in one request."),
    "edge_routes": ("edge", "Snapshots to decide with elsewhere, and batches of what came of it."),
    "server_routes": ("server", "The server itself: its parts, its health, its metrics."),
}
_OF_PATHS = {"name": "The name of the arm.", "id": "The id of the {thing}."}
_OF_EVERY_ENDPOINT = (403, 429, 500, 504)
_KEY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key gets the same answer, and changes nothing again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


def description(endpoints: Sequence[Endpoint], *, with_keys: bool) -> dict[str, Any]:
    """The OpenAPI document of some endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r":\w+\}", "}", endpoint.path)  # {name:path} is Starlette's own syntax
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, with_keys)
    components: dict[str, Any] = {"schemas": _schemas(endpoints)}
    if with_keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    info = {
        "title": "superarm",
        "description": "Pick the best k of m, round after round, over HTTP.",
        "version": __version__,
    }
    tags = [{"name": name, "description": sentence} for name, sentence in _TAGS.values()]
    return {
        "openapi": "3.1.0",
        "info": info,
        "tags": tags,
        "paths": paths,
        "components": components,
    }


def _operation(endpoint: Endpoint, with_keys: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.name.replace("_", " ").title(),
        "description": inspect.getdoc(endpoint.function),
        "operationId": endpoint.name,
        "tags": [_TAGS[endpoint.function.__module__.rpartition(".")[2]][0]],
    }
    if parameters := [*_path_parameters(endpoint), *_query_parameters(endpoint)]:
        operation["parameters"] = parameters
    if endpoint.takes_key:
        operation.setdefault("parameters", []).append(_KEY_HEADER)
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": endpoint.needs_body,
            "content": _content("application/json", _ref(endpoint.body)),
        }
        if endpoint.example is not None:
            operation["requestBody"]["content"]["application/json"]["example"] = endpoint.example
        if endpoint.lines is not None:
            operation["requestBody"]["content"] |= _content(NDJSON, {"type": "string"})
    needs_key = with_keys and (endpoint.path.startswith("/v1/") or endpoint.path == "/metrics")
    if needs_key:
        # The same paths as in `guard._needed_role`.
        operation["security"] = [{"key": []}]
    operation["responses"] = _responses(endpoint, needs_key)
    return operation


def _path_parameters(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)", endpoint.path):
        schema = {"type": "string", "title": name.title()}
        thing = "decision" if endpoint.path.startswith("/v1/decisions") else "bandit"
        about = _OF_PATHS[name].format(thing=thing)
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": about,
            "schema": schema,
        }


def _query_parameters(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    if endpoint.query is None:
        return
    for name, schema in endpoint.query.model_json_schema()["properties"].items():
        if schema["default"] is None:  # a query cannot say null
            del schema["default"]
            schema |= schema.pop("anyOf")[0]
        about = schema.pop("description")
        yield {
            "name": name,
            "in": "query",
            "required": False,
            "description": about,
            "schema": schema,
        }


def _responses(endpoint: Endpoint, needs_key: bool) -> dict[str, Any]:
    responses = {endpoint.status: _success(endpoint)}
    statuses = [*endpoint.problems, *_OF_EVERY_ENDPOINT, *([401] if needs_key else [])]
    statuses += [422] if endpoint.path.startswith("/v1/") else []  # of an unknown parameter
    statuses += [410] if "{id}" in endpoint.path else []  # of a bandit that was deleted
    content = _content(MEDIA_TYPE, _ref(ProblemBody))
    for status in statuses:
        responses[status] = {"description": HTTPStatus(status).phrase, "content": content}
    if endpoint.failure is not None:
        responses[503] = {
            "description": HTTPStatus(503).phrase,
            "content": _content("application/json", _ref(endpoint.failure)),
        }
    return {str(status): responses[status] for status in sorted(responses)}


def _success(endpoint: Endpoint) -> dict[str, Any]:
    answer = endpoint.answer
    if isinstance(answer, Media) and not answer.type:
        return {"description": answer.description}
    if isinstance(answer, Media):
        content = _content(answer.type, {"type": "string"})
        return {"description": answer.description, "content": content}
    schema = TypeAdapter(answer).json_schema(mode="serialization", ref_template=_REF)
    # A union has no name that a reference could use.
    if "anyOf" in schema:
        title = f"Response {endpoint.name.replace('_', ' ').title()}"
        schema = {"anyOf": schema["anyOf"], "title": title}
    else:
        schema = _ref(answer)
    response: dict[str, Any] = {
        "description": HTTPStatus(endpoint.status).phrase,
        "content": _content("application/json", schema),
    }
    headers = {REPLAYED: _REPLAYED_HEADER} if endpoint.takes_key else {}
    headers |= {"Location": _LOCATION_HEADER} if endpoint.location else {}
    if headers:
        response["headers"] = headers
    if endpoint.links:
        parameters = {"id": "$response.body#/id"}
        response["links"] = {
            name: {"operationId": name, "parameters": parameters} for name in endpoint.links
        }
    return response


def _content(media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {media: {"schema": schema}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def _schemas(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The schemas of all bodies and answers, by name."""
    bodies = [one.body for one in endpoints if one.body is not None]
    answers = [one.answer for one in endpoints if not isinstance(one.answer, Media)]
    found = _definitions(answers, "serialization")
    for schema in found.values():
        for member in schema["properties"].values():
            if member.get("default", ...) is None:
                del member["default"]  # such a member is left out of the answer, not null
    found |= _definitions(bodies, "validation") | _definitions([ProblemBody], "serialization")
    return dict(sorted(found.items()))


def _definitions(models: Sequence[Any], mode: JsonSchemaMode) -> dict[str, Any]:
    # A model may be a union, which has no name, so the models are numbered.
    adapters = [(place, mode, TypeAdapter(model)) for place, model in enumerate(models)]
    _, found = TypeAdapter.json_schemas(
        adapters, ref_template=_REF, schema_generator=_ForGenerators
    )
    return found["$defs"]


class _ForGenerators(GenerateJsonSchema):
    """Schemas that generators of clients understand."""

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Names and values have rules of their own: few generators read patternProperties."""
        made = super().dict_schema(schema)
        if "patternProperties" in made:
            ((pattern, values),) = made.pop("patternProperties").items()
            names = {**made.get("propertyNames", {}), "pattern": pattern}
            made |= {"additionalProperties": values, "propertyNames": names}
        return made
