"""Every verb of the client, written once. Those about many decisions are in `bulk_verbs`.

A verb is a generator of requests. `Client` runs the generator and `AsyncClient` awaits it.
A bandit is given as its id or as a `Bandit`, and a decision as its id or as a `Decision`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Unpack, overload

import numpy as np

from superarm.client.answers import Bandit, Decision
from superarm.client.requests import (
    AskOptions,
    Features,
    Name,
    Request,
    as_key,
    ask_body,
    bandit_path,
    decision_path,
    features_of,
    names_of,
    new_key,
    outcomes_of,
    without_none,
)
from superarm.client.retries import Steps
from superarm.core.arguments import as_flag

_BANDITS_PER_REQUEST, _ARMS_PER_REQUEST = 100, 10_000
_MOST_EXACT = 2**53


def create(
    name: str,
    arms: Iterable[Name] | int,
    k: int,
    *,
    belief: str | Mapping[str, Any] | None = None,
    features: Features | None = None,
    oracle: str | Mapping[str, Any] | None = None,
    reward: str | Mapping[str, Any] | None = None,
    prior: str | Sequence[float] | None = None,
    warm_start: Mapping[str, Any] | None = None,
    expiry: Mapping[str, Any] | None = None,
    seed: int | None = None,
    keep: int | None = None,
    explain_last: int | None = None,
    holdout: float | Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Steps[Bandit]:
    """Create a bandit that picks ``k`` of the arms.

    ``arms`` is a list of names, or a number of arms. ``features`` are those of the arms: one row of
    numbers per arm, in the order of the arms or by name. ``warm_start`` has the rounds that it
    learns first. The service has defaults for everything else.
    """
    body = {
        "name": name,
        "arms": arms if isinstance(arms, int | np.integer) else names_of(arms, "arms"),
        "k": k,
        "belief": belief,
        "features": features_of(features),
        "oracle": oracle,
        "reward": reward,
        "prior": prior if prior is None or isinstance(prior, str) else list(prior),
        "warm_start": warm_start,
        "expiry": expiry,
        # Not every JSON reader on the way has larger numbers.
        "seed": str(seed) if seed is not None and seed > _MOST_EXACT else seed,
        "keep": keep,
        "explain_last": explain_last,
        "holdout": holdout,
    }
    # Members that are None stay out, so that the defaults are those of the service, whichever
    # version it has.
    request = Request("POST", "/v1/bandits", body=without_none(body), key=as_key(key))
    return Bandit.from_json((yield request))


def bandits(*, name: str | None = None) -> Steps[list[Bandit]]:
    """List all bandits, or the one with a name."""
    params = without_none({"limit": _BANDITS_PER_REQUEST, "name": name})
    found = yield from _pages("/v1/bandits", "bandits", params)
    return list(map(Bandit.from_json, found))


def arms(bandit: Bandit | str, *, query: str | None = None) -> Steps[list[dict[str, Any]]]:
    """List all arms with their posteriors, in the order in which they came.

    With ``query``, only arms whose names contain it are returned.
    """
    params = without_none({"limit": _ARMS_PER_REQUEST, "query": query})
    return (yield from _pages(bandit_path(bandit, "arms"), "arms", params))


def _pages(path: str, member: str, params: dict[str, Any]) -> Steps[list[Any]]:
    """All items of a list, which may be more than fit in one answer."""
    answer = yield Request("GET", path, params)
    found = answer[member]
    while answer.get("next"):
        answer = yield Request("GET", path, {**params, "after": answer["next"]})
        found += answer[member]
    return found


def bandit(
    bandit: Bandit | str, *, top: int | None = None, query: str | None = None
) -> Steps[Bandit]:
    """Look at one bandit, with the posterior of its ``top`` best arms.

    With ``query``, only arms whose names contain it are returned.
    """
    params = without_none({"top": top, "query": query})
    return Bandit.from_json((yield Request("GET", bandit_path(bandit), params)))


def delete(bandit: Bandit | str) -> Steps[None]:
    """Delete a bandit with its decisions, outcomes and log. This cannot be undone."""
    name = bandit.name if isinstance(bandit, Bandit) else None
    if name is None:  # which confirms the request
        name = (yield Request("GET", bandit_path(bandit), {"top": 0}))["name"]
    yield Request("DELETE", bandit_path(bandit), {"name": name})


@overload
def ask(bandit: Bandit | str, n: None = None, **options: Unpack[AskOptions]) -> Steps[Decision]: ...


@overload
def ask(bandit: Bandit | str, n: int, **options: Unpack[AskOptions]) -> Steps[list[Decision]]: ...


def ask(bandit: Bandit | str, n: int | None = None, **options: Unpack[AskOptions]) -> Steps[Any]:
    """Decide which arms to pull now, or make ``n`` decisions at once.

    The constraints apply to this round only: ``k``, ``at_most``, ``available``, ``must``,
    ``must_not``, ``groups``, ``weights`` and ``capacity``.

    ``context`` is what is known of this round: numbers, or one row of numbers per arm. The belief
    must be made for contexts. The service keeps it with the decision, as it does ``metadata``,
    texts and numbers by name for your own use.

    ``propensities`` is a number of samples. The service uses the samples to estimate the
    probability of its decision, and logs the estimate for `superarm.offpolicy.Log.from_events`.
    Each sample costs as much time as one decision.

    ``key`` is the Idempotency-Key. The same key returns the same decision again, so that a program
    that stores its keys never decides twice, even if it crashes. By default every call has a new
    key.
    """
    body = without_none({"n": n, **ask_body(options)})
    key = as_key(body.pop("key", None))
    answer = yield Request("POST", bandit_path(bandit, "decisions"), body=body, key=key)
    if n is None:
        return Decision.from_json(answer)
    return [Decision.from_json(decision) for decision in answer["decisions"]]


def tell(decision: Decision | str, outcomes: Mapping[Any, float]) -> Steps[tuple[str, ...]]:
    """Report the outcomes of arms of a decision, each in [0, 1].

    Returns the arms whose outcomes were not known before.
    """
    # No key is needed: the same outcomes again are the same request.
    body = {"outcomes": outcomes_of(outcomes)}
    answer = yield Request("POST", decision_path(decision, "outcomes"), body=body)
    return tuple(answer["new"])


def decision(decision: Decision | str) -> Steps[Decision]:
    """Look at one decision."""
    return Decision.from_json((yield Request("GET", decision_path(decision))))


def verdict(
    bandit: Bandit | str,
    delta: float = 0.05,
    *,
    dependent: bool = False,
    late: Literal["any", "alike"] = "any",
) -> Steps[dict[str, Any]]:
    """Say whether the best arms of a bandit are known, except with probability ``delta``.

    The arguments are those of `Session.verdict`. The members are those of the library's `Verdict`.
    ``"text"`` is the verdict in words.
    """
    flag = str(as_flag(dependent, "dependent")).lower()
    query = {"delta": delta, "dependent": flag, "late": late}
    return (yield Request("GET", bandit_path(bandit, "verdict"), query))


def lift(bandit: Bandit | str, delta: float = 0.05) -> Steps[dict[str, Any]]:
    """Say what the policy of a bandit gains over its hold-out, with an interval.

    The members are those of the library's `Lift`. ``"text"`` is the lift in words.
    """
    return (yield Request("GET", bandit_path(bandit, "lift"), {"delta": delta}))


def explain(decision: Decision | str) -> Steps[dict[str, Any]]:
    """Explain why the arms of a recent decision were picked.

    The members are those of the library's `Explanation`. ``"text"`` is the explanation in words.
    """
    return (yield Request("GET", decision_path(decision, "explanation")))


def add_arms(
    bandit: Bandit | str,
    names: Iterable[Name],
    *,
    prior: Sequence[float] | None = None,
    features: Features | None = None,
    key: str | None = None,
) -> Steps[dict[str, Any]]:
    """Add arms, optionally with their own prior or features.

    Retired arms among ``names`` are restored.
    """
    given = {
        "arms": names_of(names, "names"),
        "prior": None if prior is None else list(prior),
        "features": features_of(features),
    }
    path = bandit_path(bandit, "arms")
    return (yield Request("POST", path, body=without_none(given), key=as_key(key)))


def retire(bandit: Bandit | str, *names: Name) -> Steps[None]:
    """Stop picking some arms. Each arm is a request of its own."""
    for name in names:
        yield Request("DELETE", bandit_path(bandit, "arms", str(name)), key=new_key())


def restore(bandit: Bandit | str, *names: Name) -> Steps[None]:
    """Pick retired arms again. Unknown names are refused, while `add_arms` would add them."""
    wanted = names_of(names, "names")
    if wanted:
        body = {"arms": wanted, "known_only": True}
        yield Request("POST", bandit_path(bandit, "arms"), body=body, key=new_key())


def snapshot(bandit: Bandit | str) -> Steps[dict[str, Any]]:
    """Take a snapshot to decide with elsewhere, for `EdgeBandit`."""
    return (yield Request("POST", bandit_path(bandit, "snapshots")))


def merge(
    bandit: Bandit | str, version: str, decisions: Sequence[Mapping[str, Any]], *, key: str
) -> Steps[dict[str, Any]]:
    """Send decisions that were made with snapshots. The same ``key`` counts once."""
    body = {"version": version, "decisions": list(decisions)}
    return (yield Request("POST", bandit_path(bandit, "batches"), body=body, key=key))


def health() -> Steps[dict[str, Any]]:
    """Ask the service for its state."""
    return (yield Request("GET", "/healthz"))


def log(bandit: Bandit | str, after: int, follow: bool) -> Request:
    """Build the request for a log. It is no generator, because the clients stream the answer."""
    params = {"after": after, "follow": "true" if as_flag(follow, "follow") else "false"}
    return Request("GET", bandit_path(bandit, "log"), params)
