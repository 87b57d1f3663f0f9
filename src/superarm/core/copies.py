"""Copies of policies: for forks of a session, and for sampling what a policy would do."""

from __future__ import annotations

import copy
from typing import Any

from superarm.core.policy import Policy


def copy_policy(policy: Policy) -> Policy:
    """A policy in the same state with its own belief and oracle; its evaluations start at 0.

    The reward is shared, because rewards have no state.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.cts(sa.LinearReward(4), 2)
    >>> other = copy_policy(policy)
    >>> other.belief is policy.belief, other.reward.uncounted is policy.reward.uncounted
    (False, True)
    """
    belief = _deepcopy(policy.belief, {})
    other = Policy(belief, policy.oracle, policy.reward.uncounted, policy.k)
    other.oracle = copy_oracle(policy.oracle, policy, other)
    return other


def copy_oracle(oracle: Any, before: Policy, after: Policy) -> Any:
    """A copy of an oracle of one policy for another policy with the same reward."""
    reward = before.reward.uncounted
    # Oracles recognise their reward, and ESCBIndex its belief, by identity:
    # the copy must hold those of its new policy, not copies of the old ones.
    same = {id(reward): reward, id(before.reward): after.reward, id(before.belief): after.belief}
    return _deepcopy(oracle, same)


def _deepcopy(part: Any, same: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(part, same)
    except Exception as error:  # the part's own __deepcopy__ may raise anything
        raise ValueError(
            f"belief and oracle must be such that copy.deepcopy copies them, got "
            f"{type(part).__name__}, for which it says: {error}; give it a __deepcopy__, "
            f"or ask without propensities"
        ) from error
