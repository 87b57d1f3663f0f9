"""Contestants: policies and problems of other programs, named MODULE:FUNCTION.

A policy is a function of ``task`` that returns a `superarm.Policy`. ``task`` has ``reward``, ``k``
and ``horizon``. The function returns None for problems that the policy does not play.

A problem is a function of ``rng`` and ``horizon`` that returns an `superarm.Instance`, or a
`ReplayEnvironment` and k. The default of ``horizon`` is the number of rounds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from superarm.reporting import RequestError
from superarm.studies.cells.outside import load
from superarm.studies.code import outside_digest

_SHAPES = (
    "def policy(task), which returns a superarm.Policy, or "
    "def problem(rng, horizon=1000), which returns a superarm.Instance"
)


@dataclass(frozen=True)
class Contestant:
    """A policy or a problem from outside, as plain data.

    Attributes
    ----------
    name
        MODULE:FUNCTION.
    label, sentence
        The name of the function in tables, and the first line of its docstring.
    code
        The digest of its source files: after a change, its runs are played again.
    horizon
        The number of rounds of a problem; None for a policy.
    """

    name: str
    label: str
    sentence: str
    code: str
    horizon: int | None = None


def contestants(names: Sequence[str]) -> list[Contestant]:
    """Import the functions, and find out what each of them is.

    Raises
    ------
    RequestError
        If a name is not one of a function of one of the two shapes.
    """
    return [_contestant(name) for name in dict.fromkeys(names)]


def _contestant(name: str) -> Contestant:
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise RequestError(f"expected MODULE:FUNCTION, as in my_module:contestant, got {name!r}")
    try:
        found = load(name)
        code = outside_digest(module)
    except Exception as error:  # the module is the user's, and may fail in any way
        raise RequestError(f"{name} can't be imported: {type(error).__name__}: {error}") from None
    sentence = (inspect.getdoc(found) or "").partition("\n")[0]
    about = {"label": function.replace("_", " "), "sentence": sentence, "code": code}
    return Contestant(name, **about, horizon=_horizon(name, found))


def _horizon(name: str, found: Callable[..., Any]) -> int | None:
    """The rounds of a problem, and None for a policy; everything else is refused."""
    if not callable(found):
        raise RequestError(f"{name} must be a function, {_SHAPES}; got {found!r}")
    parameters = inspect.signature(found).parameters
    if list(parameters) == ["task"]:
        return None
    if list(parameters) == ["rng", "horizon"]:
        horizon = parameters["horizon"].default
        if isinstance(horizon, int) and horizon > 0:
            return horizon
    raise RequestError(f"{name} must be {_SHAPES}; got {name}{inspect.signature(found)}")
