"""What oracles with a budget of evaluations have in common."""

from __future__ import annotations

import numpy as np

from superarm.core import FeasibleSets, Reward, is_uniform, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count

# What the likeliest arm that was not evaluated counts for in a sum with values: next to nothing,
# as a share of the largest value.
_NEXT_TO_NOTHING = 1e-9


def as_budget(budget: int | None) -> int | None:
    """The largest number of evaluations per round, or None for no limit."""
    return None if budget is None else as_count(budget, "budget", least=1)


def likeliest(
    reward: Reward, theta: FloatArray, arms: IndexArray, n: int, *, rng: np.random.Generator
) -> IndexArray:
    """The n of some arms with the largest B_i theta_i, in the order given; all arms if n is larger.

    If a mean of zero is an absent arm, that is the most an arm can add.
    """
    if n >= len(arms):
        return arms
    if n == 0:
        return arms[:0]
    return arms[top_k((reward.lipschitz * theta)[arms], n, rng=rng)]


def gains_of_some(
    reward: Reward, theta: FloatArray, feasible: FeasibleSets, values: FloatArray
) -> FloatArray:
    """Shape (n_arms,): values to choose a set by, where some arms were not evaluated (NaN).

    Arms that were not evaluated come last, in the order of B_i theta_i.
    """
    seen = np.flatnonzero(~np.isnan(values))
    unseen = np.flatnonzero(np.isnan(values) & feasible.undecided)
    bounds = (reward.lipschitz * theta)[unseen]
    gains = values.copy()
    if is_uniform(feasible):
        # Only the order decides here, so ranks say it exactly.
        gains[unseen] = _ranks(bounds)
        gains[seen] = len(values) + _ranks(values[seen])
    else:
        most = float(bounds.max(initial=0.0))
        # If all values are 0, any number above 0 will do: the bounds themselves.
        largest = float(np.abs(values[seen]).max(initial=0.0)) or most
        gains[unseen] = _NEXT_TO_NOTHING * largest * (bounds / most if most > 0 else bounds)
    return gains


def _ranks(values: FloatArray) -> IndexArray:
    """The rank of each value, 0 for the smallest; equal values have equal ranks."""
    return np.unique(values, return_inverse=True)[1].ravel()
