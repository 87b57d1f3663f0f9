"""Make beliefs, oracles and rewards by name. Requests name parts of the catalog, never code."""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from superarm import catalog
from superarm.catalog import Parameter, Part
from superarm.core.arguments import as_count, as_flag
from superarm.service.problems import Problem, shown, shown_error

_log = logging.getLogger("superarm.service")
Factory = Callable[..., Any]
Factories = Mapping[str, Factory]  # by the name that a request uses
_DEEPEST = 3  # levels of oracles inside oracles
_MOST_FLOAT = sys.float_info.max
_MOST_INT = 2**53  # larger whole numbers are not exact in every JSON reader


# Sorted after the recommended one, so that descriptions do not depend on the order of the catalog.
def _offered(parts: Mapping[str, Part], first: str = "") -> dict[str, Part]:
    names = sorted(parts, key=lambda name: (name != first, name))
    return {name: _without_features(parts[name]) for name in names if parts[name].over_http}


def _without_features(part: Part) -> Part:
    """Over HTTP the arms bring their features, so they are no parameter of the belief."""
    rest = tuple(one for one in part.parameters if one.name != "features")
    return replace(part, parameters=rest)


BELIEFS = _offered(catalog.BELIEFS, first="learned_beta")
ORACLES = _offered(catalog.ORACLES)
REWARDS = _offered(catalog.REWARDS)
# The beliefs that take features, or the number of arms in their place.
FEATURED = [name for name in BELIEFS if catalog.BELIEFS[name] != BELIEFS[name]]


def described(own: Factories) -> dict[str, Any]:
    """Every part that a bandit can be made of, with its parameters, as plain JSON."""
    rewards = [_described(part) for part in REWARDS.values()]
    sentence = "A reward of the operator of this server."
    rewards += [
        {"name": name, "label": name, "sentence": sentence, "parameters": []}
        for name in sorted(own)
    ]
    return {
        "beliefs": [_described(part) for part in BELIEFS.values()],
        "oracles": [_described(part) for part in ORACLES.values()],
        "rewards": rewards,
    }


def _described(part: Part) -> dict[str, Any]:
    parameters = [
        {
            "name": one.name,
            "kind": one.kind,
            "sentence": one.sentence,
            "required": one.required,
            "default": None if one.required else one.default,
            "least": one.least,
            "most": one.most,
            "choices": list(one.choices),
        }
        for one in part.parameters
    ]
    return {
        "name": part.name,
        "label": part.label,
        "sentence": part.sentence,
        "parameters": parameters,
    }


def own_rewards(module: str) -> dict[str, Factory]:
    """The rewards in a module of the operator: each is called as ``NAME(n_arms, **params)``.

    These are the public functions and classes that the module defines, or the names in its
    ``__all__``.

    Examples
    --------
    >>> sorted(own_rewards("superarm.rewards.any_success"))
    ['AnySuccess', 'log_failure']
    """
    found = importlib.import_module(module)
    listed = getattr(found, "__all__", None)
    # Imported names are not rewards, unless the module lists them.
    names = [name for name in vars(found) if not name.startswith("_")] if listed is None else listed
    own = {
        name: thing
        for name in names
        if callable(thing := getattr(found, name))
        and (listed is not None or getattr(thing, "__module__", None) == found.__name__)
    }
    if not own:
        raise ValueError(
            f"{module} must have public functions NAME(n_arms, **params) that return a reward, "
            f"got none"
        )
    if taken := sorted(set(own) & set(catalog.REWARDS)):
        raise ValueError(
            f"rewards of {module} must have names of their own, got {taken[0]!r}, which is built in"
        )
    return own


def belief(given: Mapping[str, Any], n_arms: int, prior: Any = None, features: Any = None) -> Any:
    """The belief of ``{"kind": ..., ...}``, with one row of features per arm or none."""
    params = {name: value for name, value in given.items() if name != "kind"}
    if prior is not None:
        params["prior"] = prior
    first = n_arms if features is None else features
    return _make_part(BELIEFS, given.get("kind"), "belief", params, first)


def settings_of(belief: Any) -> dict[str, Any]:
    """What `belief` takes for a belief like this one, with all its settings but the prior.

    A log with all settings gives the same decisions when the defaults of the library change.
    """
    label = type(belief).__name__
    (part,) = (part for part in BELIEFS.values() if part.label == label)
    names = [one.name for one in part.parameters if one.name != "prior"]
    return {"kind": part.name, **{name: getattr(belief, name) for name in names}}


def oracle(given: Any, depth: int = 0) -> Any:
    """The oracle of ``{"kind": ..., ...}`` or of a name; ``depth`` oracles contain it."""
    if depth >= _DEEPEST:
        raise Problem(422, f"oracles must be nested at most {_DEEPEST} deep, got more")
    given = {"kind": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping):
        raise Problem(422, f"an oracle must be a name or an object with kind, got {shown(given)}")
    params = {name: value for name, value in given.items() if name != "kind"}
    return _make_part(ORACLES, given.get("kind"), "oracle", params, depth=depth)


def reward(given: Mapping[str, Any], n_arms: int, own: Factories) -> Any:
    """The reward of ``{"name": ..., ...}``, built in or the operator's own."""
    params = {name: value for name, value in given.items() if name != "name"}
    name = given.get("name")
    if isinstance(name, str) and name in own:
        made = _make_own(name, own[name], n_arms, params)
    else:
        made = _make_part(REWARDS, name, "reward", params, n_arms, known={*REWARDS, *own})
    # A reward may take its size from a parameter, such as the rows of a matrix.
    if getattr(made, "n_arms", None) != n_arms:
        raise Problem(
            422, f"reward must be of {n_arms} arms, got one of {getattr(made, 'n_arms', None)}"
        )
    return made


def _make_part(
    parts: Mapping[str, Part],
    name: Any,
    what: str,
    params: dict[str, Any],
    *args: Any,
    depth: int = 0,
    known: Any = None,
) -> Any:
    part = parts.get(name) if isinstance(name, str) else None
    if part is None:
        raise Problem(
            422,
            f"{what} must be one that is known, got {shown(name)}",
            expected=", ".join(sorted(known or parts)),
            got=shown(name),
        )
    try:
        _check_names(part, params)
        values = {
            one.name: _value(one, params[one.name], depth)
            for one in part.parameters
            if one.name in params
        }
        return part.make(*args, **values)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise Problem(422, f"{what} {name}: {shown_error(error)}") from None


def _check_names(part: Part, params: Mapping[str, Any]) -> None:
    known = [one.name for one in part.parameters]
    for name in params:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise ValueError(f"{takes}, got {shown(name)}")
    for one in part.parameters:
        if one.required and one.name not in params:
            raise ValueError(f"{one.name} must be given")


def _value(parameter: Parameter, value: Any, depth: int) -> Any:
    """A value of a request, once its limits are checked. The part checks everything else."""
    if value is None and not parameter.required and parameter.default is None:
        return None
    # Words come before numbers: n_tests takes both.
    if isinstance(value, str) and value in parameter.choices:
        return value
    if parameter.kind == "oracle":
        return oracle(value, depth + 1)
    if parameter.kind == "pair":
        return _as_pair(value, parameter.name)
    if parameter.kind == "int":
        return _as_int(value, parameter)
    if parameter.kind == "float":
        return _as_float(value, parameter)
    if parameter.kind == "bool":
        return as_flag(value, parameter.name)
    return value


def _as_int(value: Any, parameter: Parameter) -> int:
    # Limits protect the server: a huge cache or window would exhaust its memory.
    number = as_count(value, parameter.name, least=int(parameter.least or 0))
    most = _MOST_INT if parameter.most is None else int(parameter.most)
    if number > most:
        raise ValueError(f"{parameter.name} must be at most {most}, got {shown(value)}")
    return number


def _as_float(value: Any, parameter: Parameter) -> Any:
    low = -_MOST_FLOAT if parameter.least is None else parameter.least
    high = _MOST_FLOAT if parameter.most is None else parameter.most
    if type(value) not in (int, float) or not low <= value <= high:
        raise ValueError(
            f"{parameter.name} must be a number in [{low:g}, {high:g}], got {shown(value)}"
        )
    return value


def _as_pair(pair: Any, name: str) -> tuple[float, float]:
    is_pair = isinstance(pair, list | tuple) and len(pair) == 2
    if not is_pair or not all(
        type(number) in (int, float) and abs(number) <= _MOST_FLOAT for number in pair
    ):
        raise Problem(422, f"{name} must be two numbers, got {shown(pair)}", expected="[a, b]")
    return float(pair[0]), float(pair[1])


def _make_own(name: str, factory: Factory, n_arms: int, params: dict[str, Any]) -> Any:
    """A reward of the operator. Its messages are for the operator, not for clients."""
    try:
        # Apart from the call: a TypeError inside the reward is not the fault of the client.
        inspect.signature(factory).bind(n_arms, **params)
    except TypeError as error:
        raise Problem(422, f"the parameters of reward {name} do not fit: {error}") from None
    try:
        return factory(n_arms, **params)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        _log.warning("fault", exc_info=error, extra={"fields": {"reward": name}})
        raise Problem(
            422, f"reward {name} refuses its parameters", fix="the log of the server says why"
        ) from None
