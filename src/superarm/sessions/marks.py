"""What a decision leaves behind besides itself: small enough to log with each one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superarm.core import FeasibleSets, Policy
from superarm.core.arguments import IndexArray


def mark_of(policy: Policy, rng: np.random.Generator) -> dict[str, Any]:
    """The generator's place, the evaluations so far, and the level of a belief that has one."""
    state: Any = rng.bit_generator.state
    at = f"{state['state']['state']:032x}{state['has_uint32']:x}{state['uinteger']:08x}"
    level = getattr(policy.belief, "level", None)
    mark = {"rng": at, "evaluations": policy.evaluations}
    return mark if level is None else {**mark, "level": list(level)}


def restore(
    mark: dict[str, Any],
    policy: Policy,
    rng: np.random.Generator,
    k: int | FeasibleSets,
    answers: Sequence[IndexArray],
) -> None:
    """Bring a policy and a generator to a mark, the answers being the sets that were decided on the way."""
    state: Any = rng.bit_generator.state
    at = mark["rng"]
    state["state"]["state"] = int(at[:32], 16)
    state["has_uint32"], state["uinteger"] = int(at[32], 16), int(at[33:], 16)
    rng.bit_generator.state = state
    policy.reward.evaluations = mark["evaluations"]
    belief, oracle = policy.belief, policy.oracle
    if hasattr(belief, "level"):
        level = mark.get("level")
        belief.level = None if level is None else (int(level[0]), float(level[1]))
    if hasattr(oracle, "adopt"):
        for arms in answers:
            oracle.adopt(arms, k, policy.reward.n_arms)
