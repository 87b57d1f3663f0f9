"""Copies of policies: for forks of a session, and for sampling what a policy would do."""

from __future__ import annotations

import copy
from typing import Any

from superarm.core.policy import Policy
from superarm.core.protocols import Oracle


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
    other.oracle = copy_oracle(policy, other)
    return other


def copy_oracle(policy: Policy, owner: Policy) -> Oracle:
    """A copy of a policy's oracle that works with the belief and the reward of ``owner``."""
    reward = policy.reward.uncounted
    # Oracles recognise their reward, and ESCBIndex its belief, by identity:
    # the copy must hold the objects of its owner, not copies of them.
    same = {id(reward): reward, id(policy.reward): owner.reward, id(policy.belief): owner.belief}
    return _deepcopy(policy.oracle, same)


def _deepcopy(part: Any, same: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(part, same)
    except Exception as error:  # the part's own __deepcopy__ may raise anything
        raise ValueError(
            f"belief and oracle must be such that copy.deepcopy copies them, got "
            f"{type(part).__name__}, for which it says: {error}; give it a __deepcopy__, "
            f"or ask without propensities"
        ) from error
