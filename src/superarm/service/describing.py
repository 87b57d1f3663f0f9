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


def description(app: FastAPI) -> dict[str, Any]:
    """All of it, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = made.setdefault("components", {}).setdefault("schemas", {})
        for mode, models in (("validation", _MODELS), ("serialization", (bodies.ProblemBody,))):
            _, found = models_json_schema([(model, mode) for model in models], ref_template=_REF)  # type: ignore[misc]
            components.update(found["$defs"])
        app.openapi_schema = made
    return app.openapi_schema
