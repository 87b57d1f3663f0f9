"""The feasible sets of one request for decisions."""

from __future__ import annotations

import re
from typing import Any

from superarm.service.problems import Problem, shown, shown_error
from superarm.sessions import Session
from superarm.sets import Group
from superarm.sets.clash import ClashError

# "arm 3", or "arms [0 1]". A number before the word is a number of arms.
_ARMS = re.compile(r"\b(arm|arms) (?:(?<=arm )|\[ *)(\d+(?: +\d+)*)\]?")
_QUOTED = re.compile(r"['\"]")
_NOT_CONSTRAINTS = ("n", "k", "propensities", "context", "metadata")


def feasible_of(session: Session, k: int, asked: dict[str, Any]) -> Any:
    """What `Session.ask` takes as ``feasible``; ``k`` is the bandit's own.

    ``asked`` is the body of the request without the members that were left out.
    """
    if not asked:  # in most requests; the bandit's own k was checked when it was made
        return None
    size = asked.get("k", k)
    check_k(size, session.policy.reward.n_arms)
    given = {name: value for name, value in asked.items() if name not in _NOT_CONSTRAINTS}
    # None means the policy's own k, which needs no constraint object.
    if not given:
        return asked.get("k")
    # The library calls a limit on weights budget; over HTTP, budget limits evaluations.
    if "capacity" in given:
        given["budget"] = given.pop("capacity")
    given["groups"] = [Group(**group) for group in given.get("groups", ())]
    try:
        return session.feasible(size, **given)
    except (ValueError, TypeError) as error:
        raise clash("the constraints do not fit", error, session) from error


def clash(what: str, error: Exception, session: Session) -> Problem:
    """No set can be chosen, or the context does not fit."""
    return Problem(422, f"{what}: {named_error(error, session)}", kind="constraints-refused")


def named_error(error: Exception, session: Session) -> str:
    """The message of an error of the library, with names of arms where it has numbers."""

    def names(found: re.Match[str]) -> str:
        return ", ".join(map(shown, session.names_of(map(int, found[2].split()))))

    text = str(error)
    # Errors that have names already. A name may look like a number of an arm, or like a word here.
    if isinstance(error, ClashError) or _QUOTED.search(text):
        return shown_error(error)
    text = _ARMS.sub(lambda found: f"{found[1]} {names(found)}", text)
    # Over HTTP, budget limits evaluations.
    return shown_error(ValueError(text.replace("budget", "capacity")))


def check_k(k: int, n_arms: int) -> None:
    """Raise Problem if a set cannot have ``k`` arms."""
    if k > n_arms:
        detail = f"k must be between 1 and {n_arms} (the number of arms), got {k}"
        raise Problem(422, detail, kind="constraints-refused")
