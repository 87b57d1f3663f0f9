"""The OpenAPI description: what FastAPI finds by itself, and what the routes read and answer by hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from superarm.service import bodies
from superarm.service.problems import MEDIA_TYPE

_MODELS = (bodies.CreateBody, bodies.DecideBody, bodies.TellBody, bodies.ArmsBody)
_REF = "#/components/schemas/{model}"


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problem responses of a route."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="ProblemBody")}}}
    return {status: {"description": "A problem", "content": content} for status in statuses}


def body(kind: type[bodies.Strict], *, required: bool = True) -> dict[str, Any]:
    """A body that the route reads by itself."""
    content = {"application/json": {"schema": {"$ref": _REF.format(model=kind.__name__)}}}
    return {"requestBody": {"required": required, "content": content}}


def header(name: str) -> dict[str, Any]:
    """A header that the route reads by itself."""
    schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
    return {"parameters": [{"name": name, "in": "header", "required": False, "schema": schema}]}


def links(*operations: str) -> dict[str, Any]:
    """The operations that take the id which an answer has."""
    parameters = {"id": "$response.body#/id"}
    return {"links": {name: {"operationId": name, "parameters": parameters} for name in operations}}


def description(app: FastAPI, *, with_keys: bool = False) -> dict[str, Any]:
    """All of it, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = made.setdefault("components", {}).setdefault("schemas", {})
        for mode, models in (("validation", _MODELS), ("serialization", (bodies.ProblemBody,))):
            _, found = models_json_schema([(model, mode) for model in models], ref_template=_REF)  # type: ignore[misc]
            components.update(found["$defs"])
        for path, methods in made["paths"].items():
            for one in methods.values():
                _complete(
                    one, needs_key=with_keys and (path.startswith("/v1/") or path == "/metrics")
                )
        if with_keys:
            made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = made
    return app.openapi_schema


def _complete(operation: dict[str, Any], *, needs_key: bool) -> None:
    """What every route may answer, whatever it is about; FastAPI's own form of errors is never used."""
    responses = operation["responses"]
    for status, response in responses.items():
        if "HTTPValidationError" in str(response):
            responses[status] = problems(int(status))[int(status)]
    if needs_key:
        operation["security"] = [{"key": []}]
        responses.update({str(status): found for status, found in problems(401).items()})
    for status, found in problems(403, 429, 500).items():
        responses.setdefault(str(status), found)
    operation["responses"] = dict(sorted(responses.items()))
