"""What does not fit in a request: where it is, what was expected there, and what came.

Pydantic names the models and the alternatives that it has tried. Clients know neither, so problems
have only the members of the request, and words for what may be there.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from superarm.service.problems import Problem, shown

# Patterns of texts.
NO_CONTROLS = r"^[^\x00-\x1f\x7f]+$"
DIGITS = r"^[0-9]{1,39}$"
VISIBLE = r"^[\x21-\x7e]{1,200}$"
VERSION = r"^[1-9][0-9]{0,17}-[0-9a-f]{16}$"
_PATTERNS = {
    NO_CONTROLS: "text without control characters",
    DIGITS: "1 to 39 digits",
    VISIBLE: "1 to 200 visible ASCII characters",
    VERSION: "the version of a snapshot",
}
_TYPES = {
    "model_type": "an object",
    "dict_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
}
_LIMITS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("below", "lt"),
    "too_short": ("at least", "min_length"),
    "too_long": ("at most", "max_length"),
    "string_too_short": ("at least", "min_length"),
    "string_too_long": ("at most", "max_length"),
}
_NAME = "[key]"  # the last step to the name of a member, not to its value
_MOST_ERRORS = 10  # that one answer lists
_MANY = 40  # above the number of members of all models
_LONGEST_TEXT = 300


class _Misfit(NamedTuple):
    """A place that does not fit; ``by_type`` says that a value of another type was expected."""

    path: tuple[str | int, ...]
    words: str
    got: Any
    by_type: bool


def misfit(
    error: ValidationError, value: Any, model: type[BaseModel], what: str, whole: str = "the body"
) -> Problem:
    """The problem of a value that does not fit a model.

    ``what`` its members are, such as "parameters", and what it is as a ``whole``.
    """
    found = _few(error, value, model)
    errors = [
        {
            "at": _printable(".".join(map(str, one.path))),
            "detail": _sentence(one, model, what),
            "got": shown(one.got),
        }
        for one in _settled(found, value)[:_MOST_ERRORS]
    ]
    if not errors:
        return Problem(422, f"{whole} has {error.error_count():,} members that do not fit")
    first = errors[0]
    detail = f"{first['at'] or whole} {first['detail']}"
    has_value = first["detail"].startswith("must")
    return Problem(422, f"{detail}, got {first['got']}" if has_value else detail, errors=errors)


def _few(error: ValidationError, value: Any, model: type[BaseModel]) -> Sequence[Any]:
    """Some errors, found among some members of large objects if there are very many errors.

    Each error takes as long as hundreds of good members, and all requests wait.
    """
    if error.error_count() <= _MANY:
        return error.errors(include_url=False)
    try:
        model.model_validate_json(to_json(_cut(value)))
    except ValidationError as fewer:
        # A member that is missing may have been cut off.
        found = fewer.errors(include_url=False) if fewer.error_count() <= 10 * _MANY else []
        return [one for one in found if one["type"] != "missing"]
    return []


def _cut(value: Any) -> Any:
    """A value whose objects have few members. Of lists only the first wrong item is looked for."""
    if isinstance(value, Mapping):
        names = list(value)
        kept = names if len(names) <= _MANY else names[: _MANY // 2] + names[-_MANY // 2 :]
        return {name: _cut(value[name]) for name in kept}
    return [_cut(one) for one in value] if isinstance(value, list) else value


def _settled(
    found: Sequence[Any], value: Any, path: tuple[str | int, ...] = (), depth: int = 0
) -> list[_Misfit]:
    """Misfits in and below a value, one per place. ``depth`` steps of their places lead to it."""
    ends = [one for one in found if len(one["loc"]) == depth]
    settled = [_Misfit(path, _words(one), one["input"], _is_of_type(one)) for one in ends]
    groups: dict[Any, list[Any]] = {}
    for one in found:
        if len(one["loc"]) > depth:
            groups.setdefault(one["loc"][depth], []).append(one)
    alternatives = []
    for step, group in groups.items():
        inner = _inside(value, step)
        if inner or (group[0]["type"] == "missing" and len(group[0]["loc"]) == depth + 1):
            settled += _settled(group, inner[0] if inner else None, (*path, step), depth + 1)
        else:  # not a member but one of several models
            alternatives.append(_settled(group, value, path, depth + 1))
    return settled + _closest(alternatives)


def _inside(value: Any, step: Any) -> list[Any]:
    """The member of a value, or nothing."""
    if isinstance(value, Mapping):
        return [value[step]] if step in value else []
    is_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
    return [value[step]] if is_item else []


def _closest(alternatives: Iterable[list[_Misfit]]) -> list[_Misfit]:
    """The misfits of the alternatives that fit best. What is at the same place becomes one."""

    def fit(one: list[_Misfit]) -> tuple[Any, ...]:
        # The later the first wrong item of a list, the better the list fits.
        places = [place for place in one[0].path if isinstance(place, int)]
        return max(len(each.path) for each in one), not one[0].by_type, places, -len(one)

    ranked = sorted(alternatives, key=fit, reverse=True)
    merged: dict[Any, _Misfit] = {}
    for one in ranked:
        if fit(one) == fit(ranked[0]):
            for each in one:
                before = merged.setdefault(each.path, each)
                if each.words not in before.words:
                    words = f"{before.words} or {each.words}"
                    merged[each.path] = before._replace(words=words)
    return list(merged.values())


def _words(one: Mapping[str, Any]) -> str:
    """What was expected at a place, after "must be", or that a member is missing or unknown."""
    kind, about = one["type"], one.get("ctx", {})
    if kind in ("missing", "extra_forbidden"):
        return kind
    if kind in _TYPES:
        return _TYPES[kind]
    if kind in _LIMITS:
        word, name = _LIMITS[kind]
        words = f"{word} {_number(about[name])}"
        if kind.startswith("string"):
            words = f"text of {_many(words, 'character')}"
        elif "field_type" in about:
            inside = "an object of" if about["field_type"] == "Dictionary" else "a list of"
            words = f"{inside} {_many(words, 'item')}"
    elif kind == "literal_error":
        words = about["expected"]
    elif kind == "string_pattern_mismatch":
        words = _PATTERNS.get(about["pattern"], f"text that matches {about['pattern']}")
    else:
        words = one["msg"].removeprefix("Input should be ")
    return words.replace("text", "a name", 1) if one["loc"][-1:] == (_NAME,) else words


def _is_of_type(one: Mapping[str, Any]) -> bool:
    return one["type"] in _TYPES or one["type"] == "literal_error"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)


def _many(words: str, noun: str) -> str:
    return f"{words} {noun}" if words.endswith(" 1") else f"{words} {noun}s"


def _sentence(one: _Misfit, model: type[BaseModel], what: str) -> str:
    if one.words == "missing":
        return "is missing"
    if one.words == "extra_forbidden":
        known = ", ".join(_known(one.path[:-1], model))
        return f"is unknown: {f'known {what} are {known}' if known else f'no {what} are known'}"
    return _printable(f"must be {one.words}")


def _known(path: Iterable[str | int], model: type[BaseModel]) -> list[str]:
    """The members of the object at a path."""
    models = [model]
    for step in path:
        fields = [one.model_fields[step] for one in models if step in one.model_fields]
        if fields:  # else it is the place in a list
            models = [inner for one in fields for inner in _models(one.annotation)]
    return [name for one in models for name in one.model_fields]


def _models(annotation: Any) -> Iterable[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def _printable(text: str) -> str:
    """A text that people can read, and no characters that change how others are shown."""
    return (text if text.isprintable() else json.dumps(text)[1:-1])[:_LONGEST_TEXT]
