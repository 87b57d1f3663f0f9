"""Requests as plain data, and the checks of what goes into a request."""

from __future__ import annotations

import json
import math
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import ArrayLike

from superarm.client.answers import Bandit, Decision
from superarm.sets import Group
from superarm.version import __version__

DEFAULT_URL = "http://127.0.0.1:8321"

Name = str | int
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
Features = ArrayLike | Mapping[Any, ArrayLike]  # one row per arm, in their order or by name


class AskOptions(TypedDict, total=False):
    """The keywords of `ask`: constraints of this round, its context, propensities and a key."""

    k: int | None
    at_most: bool | None
    available: Iterable[Name] | None
    must: Iterable[Name] | None
    must_not: Iterable[Name] | None
    groups: Iterable[Group | Mapping[str, Any]] | None
    weights: Mapping[Any, float] | None
    capacity: float | None
    context: ArrayLike | None
    propensities: int | None
    metadata: Mapping[str, Any] | None
    key: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """One request, not sent yet. All retries of it carry the same Idempotency-Key ``key``.

    ``many`` is the member of the body with the items, if there are many. The answer then has a
    result for each of them, and the keys are those of the items.
    """

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str | None = None
    many: str | None = None

    def for_httpx(self) -> dict[str, Any]:
        """Give the arguments for `httpx.Client.request`."""
        headers: dict[str, str] = {}
        arguments: dict[str, Any] = {
            "method": self.method,
            "url": self.path,
            "params": self.params,
            "headers": headers,
        }
        if self.body is not None:
            # json.dumps escapes to ASCII, so that the service refuses names with lone surrogates.
            # httpx would fail to encode these names.
            arguments["content"] = as_json(self.body)
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return arguments

    def for_following(self) -> dict[str, Any]:
        """Give the arguments for a stream of events, which may be silent for any time."""
        # Connecting must not take for ever, but silence in between only means that nothing
        # happened.
        return {**self.for_httpx(), "timeout": httpx.Timeout(10.0, read=None)}


def as_json(body: Any) -> bytes:
    """Write a body, or raise ValueError or TypeError if JSON cannot have it."""
    try:
        return json.dumps(body, allow_nan=False, default=_as_plain).encode()
    except ValueError:
        raise ValueError(
            "all numbers of a request must be finite, because JSON has no others; got NaN or an "
            "infinity"
        ) from None


def _as_plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"a request can have texts, numbers, True, False, None, lists and mappings, got {value!r} "
        f"of type {type(value).__name__}"
    )


def as_url(url: str) -> str:
    """The address of a service. Refuses what no request could reach."""
    try:
        parsed = httpx.URL(url)
        is_whole = parsed.scheme in ("http", "https") and bool(parsed.host)
    except (httpx.InvalidURL, TypeError):
        is_whole = False
    if not is_whole:
        # httpx would find out in every request, as if the service could not be reached.
        shown = str(url).rpartition("@")[2]  # without a password, which would end up in logs
        advice = "http://HOST:PORT" if "://" in shown else f"http://{shown.lstrip('/')}"
        raise ValueError(
            f"url must begin with http:// or https:// and a host, got {shown!r}; write {advice}"
        )
    return url


def options_of(url: str | None, key: str | None, timeout_s: float) -> dict[str, Any]:
    """Give the options that both kinds of httpx client take."""
    url = as_url(url or os.environ.get("SUPERARM_URL") or DEFAULT_URL)
    key = key or os.environ.get("SUPERARM_KEY")
    # The version helps operators to find out which clients are outdated.
    headers = {"User-Agent": f"superarm/{__version__}"}
    if key:
        if not key.isascii() or not key.isprintable() or " " in key:
            # The message must not show the key: messages end up in logs.
            raise ValueError(
                "key must be printable ASCII without spaces, got something else; copy it again"
            )
        headers["Authorization"] = f"Bearer {key}"
    return {"base_url": url, "timeout": timeout_s, "headers": headers}


def new_key() -> str:
    """Make an Idempotency-Key."""
    # Random, not a counter: clients on several machines must never use the same key.
    return uuid.uuid4().hex


def as_key(key: str | None) -> str:
    """The given Idempotency-Key, or a new one."""
    if key is None:
        return new_key()
    # Checked here: a header cannot have other characters.
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ValueError(f"key must be 1 to 200 visible ASCII characters, got {key!r:.60}")
    return key


def bandit_path(bandit: Bandit | str, *rest: str) -> str:
    """Build the path of a bandit, or of something that belongs to the bandit."""
    return "/".join(["/v1/bandits", _quoted_id(bandit), *map(_path_segment, rest)])


def decision_path(decision: Decision | str, *rest: str) -> str:
    """Build the path of a decision, or of something that belongs to the decision."""
    return "/".join(["/v1/decisions", _quoted_id(decision), *rest])


def names_of(names: Iterable[Name], what: str) -> list[str]:
    """Check a list of arms. A single string would otherwise be read as a list of its letters."""
    if isinstance(names, str | bytes):
        raise TypeError(f"{what} must be several names, got {names!r:.60}; put it in a list")
    if not isinstance(names, Iterable):
        raise TypeError(f"{what} must be several names, got {names!r:.60}")
    return [str(name) for name in names]


def by_text(given: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """Values by the names of arms, as texts: over HTTP, the number 7 is the name "7"."""
    named = {str(arm): value for arm, value in given.items()}
    if len(named) < len(given):
        twice = next(arm for arm in given if not isinstance(arm, str) and str(arm) in given)
        raise ValueError(f"{what} must have each arm once, got {twice!r} and {str(twice)!r}")
    return named


def group_of(group: Group | Mapping[str, Any]) -> dict[str, Any]:
    """Write a `Group`, or a mapping with the same members, as JSON."""
    if isinstance(group, Mapping):
        if "arms" not in group:
            raise TypeError(f"a group must have arms, got {dict(group)!r:.60}")
        return {**group, "arms": names_of(group["arms"], "the arms of a group")}
    arms: Any = group.arms
    names = names_of(arms, "the arms of a group")
    return without_none({"arms": names, "least": group.least, "most": group.most})


def numbers_of(numbers: ArrayLike) -> Any:
    """Write an array, or lists of numbers, as JSON."""
    return np.asarray(numbers, np.float64).tolist()


def features_of(features: Features | None) -> Any:
    """Write the features of arms as JSON."""
    if isinstance(features, Mapping):
        return {arm: numbers_of(row) for arm, row in by_text(features, "features").items()}
    return None if features is None else numbers_of(features)


def outcomes_of(outcomes: Mapping[Any, float]) -> dict[str, float]:
    """Write outcomes as JSON. Checked here, because JSON has no NaN and the arm can be named."""
    if not isinstance(outcomes, Mapping) and hasattr(outcomes, "to_dict"):
        outcomes = dict(outcomes.items())  # a Series of pandas
    if not isinstance(outcomes, Mapping):
        raise TypeError(f"outcomes must be a mapping from arms to outcomes, got {outcomes!r:.60}")
    named = by_text(outcomes, "outcomes")
    return {arm: _outcome(arm, outcome) for arm, outcome in named.items()}


def _outcome(arm: Any, outcome: Any) -> float:
    try:
        if isinstance(outcome, str | bytes):
            raise TypeError
        number = float(outcome)
    except (TypeError, ValueError):
        raise TypeError(f"the outcome of {arm!r} must be a number, got {outcome!r:.60}") from None
    if not math.isfinite(number):
        raise ValueError(f"the outcome of {arm!r} must be in [0, 1], got {number}")
    return number


def without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out members that were not given, so that the service uses its defaults."""
    return {name: value for name, value in members.items() if value is not None}


def ask_body(options: AskOptions) -> dict[str, Any]:
    """Write the keywords of `ask` as JSON."""
    # Checked here: the service would refuse it after a request, with a less helpful message.
    unknown = sorted(options.keys() - AskOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(AskOptions.__annotations__)
        raise TypeError(f"keywords of ask must be among {known}, got {', '.join(unknown)}")
    body = without_none(options)
    for name in body.keys() & {"available", "must", "must_not"}:
        body[name] = names_of(body[name], name)
    if "groups" in body:
        body["groups"] = [group_of(group) for group in body["groups"]]
    if "weights" in body:
        body["weights"] = by_text(body["weights"], "weights")
    if "context" in body:
        body["context"] = numbers_of(body["context"])
    return body


def id_of(thing: Bandit | Decision | str) -> str:
    """The id of a bandit or a decision."""
    found = thing if isinstance(thing, str) else getattr(thing, "id", None)
    if not isinstance(found, str) or not found:
        raise TypeError(
            f"a bandit or decision must be given as itself or as its id, got {thing!r:.60}"
        )
    return found


def _quoted_id(thing: Bandit | Decision | str) -> str:
    # Even "/" is quoted, so that an id cannot name another path.
    return quote(id_of(thing), safe="")


def _path_segment(name: str) -> str:
    """Quote a name for a path. URL rules resolve "." and ".." as folders unless escaped."""
    return name.replace(".", "%2E") if set(name) == {"."} else quote(name, safe="")
