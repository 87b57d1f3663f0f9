"""Policies that change under a session: copied for a fork, or grown by more arms."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from superarm.core import Counted, Policy, Reward


def copied(policy: Policy) -> Policy:
    """A policy with a belief and an oracle of its own, and the same reward, counted from 0."""
    belief, reward = copy.deepcopy(policy.belief), policy.reward.uncounted
    other = Policy(belief, policy.oracle, reward, policy.k)
    # An oracle knows its reward, and ESCBIndex its belief, by identity: those of the copy take their places.
    places = {id(reward): reward, id(policy.reward): other.reward, id(policy.belief): belief}
    other.oracle = copy.deepcopy(policy.oracle, places)
    return other


def grow(
    policy: Policy,
    n_new: int,
    prior: Any,
    reward: Reward | None,
    rewards: Callable[[int], Reward] | None,
) -> None:
    """Make room for more arms in a policy; refused before anything has changed."""
    belief: Any = policy.belief
    if not hasattr(belief, "add_arms"):
        raise TypeError(f"the belief must be able to grow: {type(belief).__name__} has no add_arms")
    total = policy.reward.n_arms + n_new
    if reward is None and rewards is None:
        raise ValueError(
            f"reward must be given, that of {total} arms, since the session has no rewards to ask"
        )
    larger = reward if rewards is None or reward is not None else rewards(total)
    counted = larger if isinstance(larger, Counted) else Counted(larger)  # type: ignore[arg-type]
    if counted.n_arms != total:
        raise ValueError(f"reward must be of {total} arms, got one of {counted.n_arms}")
    belief.add_arms(n_new, prior)
    counted.evaluations = policy.evaluations
    policy.reward = counted
    if hasattr(policy.oracle, "forget"):
        policy.oracle.forget()  # it knew the old reward
