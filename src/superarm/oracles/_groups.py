"""Groups of arms that enter a set together, before a local search swaps single arms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._rounding import rounding_at, scale_of


def as_group(group: ArrayLike) -> tuple[int, ...]:
    """Different arms, sorted."""
    arms = np.asarray(group)
    numbers = arms.ndim == 1 and np.issubdtype(arms.dtype, np.integer)
    if not numbers or not len(arms) or len(set(arms.tolist())) < len(arms) or arms.min() < 0:
        raise ValueError(
            f"groups must be lists of different arms, as in groups=[(3, 17)], got {group!r}"
        )
    return tuple(sorted(arms.tolist()))


def with_groups(
    reward: Reward,
    theta: FloatArray,
    feasible: FeasibleSets,
    start: IndexArray,
    groups: Sequence[tuple[int, ...]],
    most: int,
    *,
    rng: np.random.Generator,
) -> tuple[IndexArray, float]:
    """The start, or a better set with groups in it, and its value.

    Step by step: one more group, or one group for another, whichever improves the set most, as long
    as one does. The arms of the start with the largest means fill up the set. Makes at most
    ``most`` evaluations; the value is NaN if that is 0.
    """
    largest = max(arm for group in groups for arm in group)
    if largest >= len(theta):
        raise ValueError(f"groups must have arms below {len(theta)} (n_arms), got arm {largest}")
    if most < 1:
        return start, math.nan
    best, value = start, float(reward(start, theta[start]))
    left, seen = most - 1, {tuple(start.tolist())}
    while left > 0 and not math.isnan(value):
        sets = (_filled(theta, feasible, start, arms, rng) for arms in _steps(groups, best))
        new = {tuple(arms.tolist()): arms for arms in sets if arms is not None}
        tried = [arms for key, arms in new.items() if key not in seen][:left]
        if not tried:
            break
        seen.update(new)
        left -= len(tried)
        values = reward.batch(Pools.of(tried, reward.n_arms), theta)
        top = int(np.argmax(values))
        # Rounding must not look like progress.
        new_value = float(values[top])
        if not new_value > value + rounding_at(value, new_value, scale_of(values, reward)):
            break
        best, value = tried[top], new_value
    return best, value


def _steps(groups: Sequence[tuple[int, ...]], best: IndexArray) -> list[frozenset[int]]:
    """The arms that are kept in each step from a set: its groups, with one added or exchanged."""
    there = frozenset(best.tolist())
    kept = [group for group in groups if there.issuperset(group)]
    rests = [kept, *(kept[:j] + kept[j + 1 :] for j in range(len(kept)))]
    others = [group for group in groups if not there.issuperset(group)]
    return [frozenset().union(*rest, group) for rest in rests for group in others]


def _filled(
    theta: FloatArray,
    feasible: FeasibleSets,
    start: IndexArray,
    members: frozenset[int],
    rng: np.random.Generator,
) -> IndexArray | None:
    """A feasible set with all members, and as many arms of the start as possible."""
    if len(members) > feasible.n_most:
        return None
    # More than all means of a set together, and more than all of these together.
    one = 1.0 + feasible.n_most
    scores = theta.astype(np.float64)
    scores[start] += one
    scores[list(members)] += one * (1 + one)
    arms = np.sort(feasible.best(scores, rng=rng))
    return arms if members.issubset(arms.tolist()) else None
