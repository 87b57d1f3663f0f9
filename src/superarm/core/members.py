"""Refuse what is not the wanted part, by the members that it lacks."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from superarm.core.contexts import Contextual
from superarm.core.optional import kind_has

_OF_BELIEFS = ("sample", "update")
_OF_A_FUNCTION = "superarm.BlackBox(function, n_arms=..., lipschitz=..., upper=...)"


def need(part: Any, name: str, *members: str) -> None:
    """Refuse an argument without members that every part of its kind has."""
    missing = [member for member in members if not hasattr(part, member)]
    if not missing and not isinstance(part, type):
        return
    if isinstance(part, type):
        came = f"the class {part.__name__}; call it to make one"
    else:
        came = f"{type(part).__name__} without {', '.join(missing)}"
    if name == "reward" and isinstance(part, FunctionType):
        came += f"; use {_OF_A_FUNCTION}"
    raise TypeError(f"{name} must have {', '.join(members)}, got {came}")


def n_arms_of(reward: Any) -> int:
    """How many arms a reward has. Refuses what is no reward, such as a function."""
    need(reward, "reward", "n_arms", "batch")
    return reward.n_arms


def check_parts(belief: Any, oracle: Any, reward: Any) -> None:
    """Refuse what cannot be joined into a policy."""
    # A contextual belief may know nothing without a context.
    need(belief, "belief", "n_arms", *(() if kind_has(type(belief), Contextual) else _OF_BELIEFS))
    need(oracle, "oracle", "select", "report")
    if belief.n_arms != n_arms_of(reward):
        raise ValueError(
            f"belief and reward must be about the same arms, "
            f"got a belief of {belief.n_arms} and a reward of {reward.n_arms}"
        )
