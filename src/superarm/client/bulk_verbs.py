"""The verbs of the client that decide and report for many bandits in one request.

They are written as in `superarm.client.verbs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from superarm.client.answers import Bandit, Decision
from superarm.client.errors import ProblemError, problem_error
from superarm.client.requests import (
    AskOptions,
    Request,
    as_key,
    ask_body,
    id_of,
    outcomes_of,
    without_none,
)
from superarm.client.retries import Steps

T = TypeVar("T")
U = TypeVar("U")


def tell_all(
    outcomes: Iterable[tuple[Decision | str, Mapping[Any, float]]],
) -> Steps[list[tuple[str, ...] | ProblemError]]:
    """Report the outcomes of many decisions, of any bandits, in one request.

    Returns for each the arms whose outcomes were not known before, or the error that `tell` would
    raise: the other ones count all the same.
    """
    items = [
        {"decision": id_of(one), "outcomes": outcomes_of(told)}
        for one, told in _pairs(outcomes, "a decision with its outcomes")
    ]
    if not items:
        return []
    answer = yield Request("POST", "/v1/outcomes", body={"outcomes": items}, many="outcomes")
    return [_result(one, lambda told: tuple(told["new"])) for one in answer["results"]]


def ask_all(
    asked: Iterable[tuple[Bandit | str, AskOptions]],
) -> Steps[list[Decision | ProblemError]]:
    """Make decisions of any bandits, each with its options, in one request.

    Returns for each the decision, or the error that `ask` would raise.
    """
    items = []
    for one, options in _pairs(asked, "a bandit with a mapping of options"):
        body = without_none(ask_body(options))
        body["key"] = as_key(body.get("key"))
        items.append({"bandit": id_of(one), **body})
    if not items:
        return []
    answer = yield Request("POST", "/v1/decisions", body={"decisions": items}, many="decisions")
    return [_result(one, Decision.from_json) for one in answer["results"]]


def _pairs(items: Iterable[tuple[T, U]], what: str) -> list[tuple[T, U]]:
    pairs = list(items)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"each item must be a pair, {what}, got {pair!r:.60}")
    return pairs


def _result(said: dict[str, Any], read: Callable[[Any], T]) -> T | ProblemError:
    problem = said.get("problem")
    return read(said["answer"]) if problem is None else problem_error(problem["status"], problem)
