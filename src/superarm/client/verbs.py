"""Every verb, once: a generator of requests, which `Client` runs and `AsyncClient` awaits.

The names are the library's. A bandit is given as its id or as a `Bandit`, a decision as its id or as a `Decision`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload
from urllib.parse import quote

from superarm.client.answers import Bandit, Decision
from superarm.client.retries import Request, Steps
from superarm.sets.feasible import Group

Name = str | int


def create(
    name: str,
    arms: Iterable[Name] | int,
    k: int,
    *,
    belief: str | Mapping[str, Any] | None = None,
    oracle: str | Mapping[str, Any] | None = None,
    reward: str | Mapping[str, Any] | None = None,
    prior: Sequence[float] | None = None,
    expiry: Mapping[str, Any] | None = None,
    seed: int | None = None,
    keep: int | None = None,
    explain_last: int | None = None,
    key: str | None = None,
) -> Steps[Bandit]:
    """Make a bandit: ``k`` of these arms, by name, or of so many. What is not given is left to the service."""
    body = {
        "name": name,
        "arms": arms if isinstance(arms, int) else _names(arms, "arms"),
        "k": k,
        "belief": belief,
        "oracle": oracle,
        "reward": reward,
        "prior": None if prior is None else list(prior),
        "expiry": expiry,
        "seed": seed,
        "keep": keep,
        "explain_last": explain_last,
    }
    return Bandit.of((yield Request("POST", "/v1/bandits", body=_given(body), key=key or _key())))


def bandits() -> Steps[list[Bandit]]:
    """All bandits, page after page."""
    found: list[Bandit] = []
    params: dict[str, Any] = {"limit": 100}
    while True:
        page = yield Request("GET", "/v1/bandits", params)
        found += map(Bandit.of, page["bandits"])
        if not page.get("next"):
            return found
        params = {"limit": 100, "after": page["next"]}


def bandit(
    bandit: Bandit | str, *, top: int | None = None, query: str | None = None
) -> Steps[Bandit]:
    """One bandit as it is now, with what is known of its ``top`` best arms whose names have ``query`` in them."""
    return Bandit.of((yield Request("GET", _path(bandit), _given({"top": top, "query": query}))))


@overload
def ask(
    bandit: Bandit | str,
    n: None = None,
    *,
    k: int | None = None,
    at_most: bool | None = None,
    available: Iterable[Name] | None = None,
    must: Iterable[Name] | None = None,
    must_not: Iterable[Name] | None = None,
    groups: Iterable[Group | Mapping[str, Any]] | None = None,
    weights: Mapping[Any, float] | None = None,
    capacity: float | None = None,
    propensities: int | None = None,
    key: str | None = None,
) -> Steps[Decision]: ...


@overload
def ask(
    bandit: Bandit | str,
    n: int,
    *,
    k: int | None = None,
    at_most: bool | None = None,
    available: Iterable[Name] | None = None,
    must: Iterable[Name] | None = None,
    must_not: Iterable[Name] | None = None,
    groups: Iterable[Group | Mapping[str, Any]] | None = None,
    weights: Mapping[Any, float] | None = None,
    capacity: float | None = None,
    propensities: int | None = None,
    key: str | None = None,
) -> Steps[list[Decision]]: ...


def ask(
    bandit: Bandit | str,
    n: int | None = None,
    *,
    k: int | None = None,
    at_most: bool | None = None,
    available: Iterable[Name] | None = None,
    must: Iterable[Name] | None = None,
    must_not: Iterable[Name] | None = None,
    groups: Iterable[Group | Mapping[str, Any]] | None = None,
    weights: Mapping[Any, float] | None = None,
    capacity: float | None = None,
    propensities: int | None = None,
    key: str | None = None,
) -> Steps[Any]:
    """The arms to pull now, under the constraints of this round; with a number, so many decisions together.

    ``propensities`` is a number of samples from which the service finds out with which probability it decided so, and
    logs that: what `superarm.Log.from_events` reads. Each sample is a round of the oracle, and takes as long.

    ``key`` is the Idempotency-Key. The same key gives the same decision again, so a program that writes its keys down
    may be killed at any moment and never decides twice. Without one, a fresh key is made for each call.
    """
    body = {
        "n": n,
        "k": k,
        "at_most": at_most,
        "available": None if available is None else _names(available, "available"),
        "must": None if must is None else _names(must, "must"),
        "must_not": None if must_not is None else _names(must_not, "must_not"),
        "groups": None if groups is None else [_group(group) for group in groups],
        "weights": None
        if weights is None
        else {str(arm): weight for arm, weight in weights.items()},
        "capacity": capacity,
        "propensities": propensities,
    }
    answer = yield Request("POST", _path(bandit, "decisions"), body=_given(body), key=key or _key())
    return Decision.of(answer) if n is None else [Decision.of(one) for one in answer["decisions"]]


def tell(decision: Decision | str, outcomes: Mapping[Any, float]) -> Steps[tuple[str, ...]]:
    """What some arms of a decision did, each in [0, 1]; says of which arms that was news."""
    body = {"outcomes": {str(arm): float(x) for arm, x in outcomes.items()}}
    return tuple(
        (yield Request("POST", f"/v1/decisions/{_id(decision)}/outcomes", body=body))["new"]
    )


def decision(decision: Decision | str) -> Steps[Decision]:
    """One decision as it is now."""
    return Decision.of((yield Request("GET", f"/v1/decisions/{_id(decision)}")))


def explain(decision: Decision | str) -> Steps[dict[str, Any]]:
    """Why each arm of a recent decision is in, as the library's `Explanation` has it; ``"text"`` says it in words."""
    return (yield Request("GET", f"/v1/decisions/{_id(decision)}/explanation"))


def add_arms(
    bandit: Bandit | str,
    names: Iterable[Name],
    *,
    prior: Sequence[float] | None = None,
    key: str | None = None,
) -> Steps[dict[str, Any]]:
    """Add arms, with a prior of their own if wanted; those that are retired are restored."""
    body = _given({"arms": _names(names, "names"), "prior": None if prior is None else list(prior)})
    return (yield Request("POST", _path(bandit, "arms"), body=body, key=key or _key()))


def retire(bandit: Bandit | str, *names: Name) -> Steps[None]:
    """Stop picking some arms, one after the other."""
    for name in names:
        yield Request("DELETE", _path(bandit, "arms", str(name)), key=_key())


def restore(bandit: Bandit | str, *names: Name) -> Steps[None]:
    """Pick retired arms again. Arms that never were there are refused, where `add_arms` would add them."""
    wanted = _names(names, "names")
    retired = (yield Request("GET", _path(bandit), {"top": 0}))["retired"]
    for name in wanted:
        if name not in retired:
            found = yield Request("GET", _path(bandit), {"top": 10_000, "query": name})
            if name not in [row["arm"] for row in found["posterior"]]:
                raise ValueError(
                    f"names must be of arms that the bandit has, got {name!r}; add_arms adds new ones"
                )
    back = [name for name in wanted if name in retired]
    if back:
        yield from add_arms(bandit, back)


def health() -> Steps[dict[str, Any]]:
    """What the service says of itself."""
    return (yield Request("GET", "/healthz"))


def log(bandit: Bandit | str, after: int, follow: bool) -> Request:
    """The events of a bandit after a number; asked for by the clients themselves, since the answer is a stream."""
    return Request(
        "GET", _path(bandit, "log"), {"after": after, "follow": "true" if follow else "false"}
    )


def _key() -> str:
    return uuid.uuid4().hex


def _id(thing: Bandit | Decision | str) -> str:
    found = thing if isinstance(thing, str) else getattr(thing, "id", None)
    if not isinstance(found, str) or not found:
        raise TypeError(
            f"a bandit or decision must be given as itself or as its id, got {thing!r:.60}"
        )
    return quote(found, safe="")


def _path(bandit: Bandit | str, *rest: str) -> str:
    return "/".join(["/v1/bandits", _id(bandit), *map(_part, rest)])


def _part(name: str) -> str:
    """A part of a path. A name of dots alone would be taken for a way through folders."""
    return name.replace(".", "%2E") if set(name) == {"."} else quote(name, safe="")


def _names(names: Iterable[Name], what: str) -> list[str]:
    if isinstance(names, str | bytes):
        raise TypeError(f"{what} must be several names, got {names!r:.60}; put it in a list")
    return [str(name) for name in names]


def _group(group: Group | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(group, Mapping):
        return {**group, "arms": _names(group["arms"], "the arms of a group")}
    arms: Any = group.arms
    return _given(
        {"arms": _names(arms, "the arms of a group"), "least": group.least, "most": group.most}
    )


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
