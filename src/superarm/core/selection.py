"""What `Policy` and every oracle check before they spend an evaluation.

A whole number k becomes a `KOfM` here and nowhere else, so that oracles see feasible sets only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_k, as_unit
from superarm.core.k_of_m import KOfM
from superarm.core.protocols import FeasibleSets, Reward


def as_selection(
    reward: Reward, theta: ArrayLike, k: int | FeasibleSets
) -> tuple[FloatArray, FeasibleSets]:
    """theta as an array of shape (n_arms,), and the sets to choose from, for the reward's arms."""
    n_arms = reward.n_arms
    return as_unit(theta, "theta", (n_arms,)), as_feasible(k, n_arms)


def as_feasible(k: int | FeasibleSets, n_arms: int) -> FeasibleSets:
    """The sets to choose from, where a whole number k stands for all sets of k arms."""
    # Python caches this check by type, so it costs little in every round.
    if issubclass(type(k), _ForArms):
        return k.for_arms(n_arms)  # type: ignore[union-attr]
    return _k_of_m(as_k(k, n_arms), n_arms)


def as_k_of_m(k: int | FeasibleSets, n_arms: int) -> KOfM:
    """The same for oracles that choose among all sets of k arms only: other sets are refused."""
    feasible = as_feasible(k, n_arms)
    if not isinstance(feasible, KOfM):
        raise TypeError(
            f"k must be a whole number here, where constraints are not known, got {feasible!r}"
        )
    return feasible


def lipschitz_constant(reward: Reward) -> float:
    """The reward's B as one number: the largest where it declares one per arm."""
    declared = reward.lipschitz
    return float(declared if isinstance(declared, float) else np.max(declared))


@runtime_checkable
class _ForArms(Protocol):
    """What tells feasible sets from a number."""

    def for_arms(self, n_arms: int) -> FeasibleSets: ...


# The same object in every round, so that what it has worked out is worked out once.
@lru_cache(maxsize=8)
def _k_of_m(k: int, n_arms: int) -> KOfM:
    return KOfM(k, n_arms)
