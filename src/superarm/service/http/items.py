"""Bodies that do not fit. Of many items, only those are refused that do not fit."""

from __future__ import annotations

import io
import json
import typing
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import from_json

from superarm.service.http import bodies
from superarm.service.http.misfits import misfit
from superarm.service.problems import Problem

# How some bodies begin, and what is wrong with them.
_NOT_JSON = {
    b"\x1f\x8b": "send it without compression",
    b"\xef\xbb\xbf": "send it without a byte order mark",
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "send it in UTF-8"),
}
# To describe an item that does not fit takes as long as ten good items, and all requests wait.
_MOST_DESCRIBED = 100


def unfit(
    error: ValidationError, raw: bytes, model: type[BaseModel], line: str | None = None
) -> Problem:
    """The problem of a text that a model refuses. ``line`` is what it is if it has one line."""
    whole = line or "the body"
    if not _is_no_json(error):
        return misfit(error, from_json(raw), model, "members", whole)
    detail = json.dumps(error.errors()[0]["msg"])[1:-1]
    if line is not None:
        detail = detail.replace(" at line 1 column ", " at column ")
    # 400 for text that is not JSON, 422 for JSON that does not fit.
    return Problem(400, f"{whole} must be JSON: {detail}", fix=_fix(raw))


def from_list(error: ValidationError, raw: bytes, model: type[BaseModel], member: str) -> BaseModel:
    """The body that JSON is, in which ``member`` has the items.

    ``error`` says that something does not fit. Raises a problem if that is more than items.
    """
    try:
        body = _parsed(raw)
        _check_whole(body, model, member)
    # What is nested deeper than models may be is no JSON for them, and too deep to describe.
    except (ValueError, RecursionError):
        raise unfit(error, raw, model) from None
    texts = (("the item", json.dumps(one).encode()) for one in body[member])
    given: Any = {member: _checked(texts, _item(model, member))}
    return model.model_construct(**given)


def _parsed(raw: bytes) -> Any:
    # Halves of surrogate pairs, from texts that were cut, are JSON here, but not for models.
    return json.loads(raw.decode())


def _check_whole(body: Any, model: type[BaseModel], member: str) -> None:
    try:
        _with_anything(model, member).model_validate(body)
    except ValidationError as whole:
        raise misfit(whole, body, model, "members") from None


def from_lines(raw: bytes, model: type[BaseModel], member: str) -> BaseModel:
    """The body whose items are the lines of a text. Empty lines are none.

    Lines that are not JSON are problems. Raises the first one if there are no lines that are items:
    if none is an object, or if all together are one value.
    """
    every = ((f"line {n}", line.rstrip()) for n, line in enumerate(io.BytesIO(raw), 1))
    lines = list(islice((one for one in every if one[1]), bodies.MOST_ITEMS + 1))
    if not 1 <= len(lines) <= bodies.MOST_ITEMS:
        many = "more" if lines else "none"
        raise Problem(422, f"the body must have 1 to {bodies.MOST_ITEMS:,} lines, got {many}")
    items: Any = _checked(lines, _item(model, member))
    broken = [one for one in items if _is_broken(one)]
    if broken and (_fix(raw) or not any(map(_is_object, lines, items)) or _is_value(raw)):
        raise broken[0]
    return model.model_construct(**{member: items})


def _is_broken(item: BaseModel | Problem) -> bool:
    return isinstance(item, Problem) and item.status == 400


def _is_object(line: tuple[str, bytes], item: BaseModel | Problem) -> bool:
    return line[1].lstrip().startswith(b"{") and not _is_broken(item)


def _is_value(raw: bytes) -> bool:
    try:
        _parsed(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _checked(
    texts: Iterable[tuple[str, bytes]], item: type[BaseModel]
) -> list[BaseModel | Problem]:
    """The items that texts are, or their problems. Each text has a name."""
    items: list[BaseModel | Problem] = []
    n_unfit = 0
    for name, text in texts:
        try:
            items.append(item.model_validate_json(text))
        except ValidationError as error:
            n_unfit += 1
            if n_unfit <= _MOST_DESCRIBED:
                items.append(unfit(error, text, item, name))
            else:
                status = 400 if _is_no_json(error) else 422
                fix = f"the problems of the first {_MOST_DESCRIBED} such items say more"
                items.append(Problem(status, f"{name} does not fit", fix=fix))
    return items


def _is_no_json(error: ValidationError) -> bool:
    one = error.error_count() == 1
    return one and error.errors(include_url=False)[0]["type"] == "json_invalid"


def _fix(raw: bytes) -> str | None:
    return next((fix for start, fix in _NOT_JSON.items() if raw.startswith(start)), None)


def _item(model: type[BaseModel], member: str) -> type[BaseModel]:
    (item,) = typing.get_args(model.model_fields[member].annotation)
    return item


@cache
def _with_anything(model: type[BaseModel], member: str) -> type[BaseModel]:
    """The model of a body whose items may be anything."""
    declared: Any = (Annotated[list[Any], *model.model_fields[member].metadata], ...)
    return create_model(model.__name__, __config__=model.model_config, **{member: declared})
