"""Greedy among the sets that may be chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from superarm.core import Choices, Pools, Reward, top_k
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._budget import likeliest

# By so little a value may fall from rounding.
ROUNDING = 1e-12


class Found(NamedTuple):
    """A set by greedy.

    ``order``: the arms as they were added. ``values``: the set's value after each, NaN where it is not known.
    ``asked``: the evaluations. ``whole``: whether no budget ran out on the way.
    """

    order: IndexArray
    values: FloatArray
    asked: int
    whole: bool


def greedy_within(
    reward: Reward,
    theta: FloatArray,
    choices: Choices,
    extend: Callable[[IndexArray], Any],
    budget: int | None,
    *,
    rng: np.random.Generator,
) -> Found:
    """Greedy's set; where arms have weights, the better of two: by what an arm adds, and by that for its weight."""
    weights = getattr(choices, "weights", None)
    if weights is None:
        return _run(reward, theta, choices, extend, None, budget, rng)
    half = None if budget is None else budget // 2
    one = _run(reward, theta, choices, extend, weights, half, rng)
    two = _run(
        reward, theta, choices, extend, None, None if budget is None else budget - one.asked, rng
    )
    worth = [
        found.values[-1] if len(found.order) and not np.isnan(found.values[-1]) else -np.inf
        for found in (one, two)
    ]
    better = one if worth[0] > worth[1] else two
    return Found(better.order, better.values, one.asked + two.asked, one.whole and two.whole)


def _run(
    reward: Reward,
    theta: FloatArray,
    choices: Choices,
    extend: Callable[[IndexArray], Any],
    weights: FloatArray | None,
    budget: int | None,
    rng: np.random.Generator,
) -> Found:
    order: IndexArray = getattr(choices, "must", np.zeros(0, np.intp))
    values, worth, asked, whole = np.full(len(order), np.nan), np.nan, 0, True
    left = np.flatnonzero(extend(order))
    # What arms add is asked for as the value with them; what there was before is needed now and then.
    if (len(order) or weights is not None or not choices.same_size) and (
        budget is None or budget > 0
    ):
        worth, asked = reward(order, theta[order]), 1
        values[-1:] = worth
    while len(left):
        steps = max(1, choices.n_most - len(order))
        room = None if budget is None else budget - asked
        share = len(left) if room is None or room >= steps * len(left) else -(-room // steps)
        arms = likeliest(reward, theta, left, share, rng=rng)
        whole &= len(arms) == len(left)
        if len(arms):
            with_it = reward.batch(Pools.extensions(order, arms, reward.n_arms), theta)
            asked += len(arms)
            adds = with_it - worth
            scores = (
                with_it
                if weights is None or np.isnan(worth)
                else _for_their_weight(adds, weights[arms])
            )
            best = int(top_k(scores, 1, rng=rng)[0])
            falls = with_it[best] < worth - ROUNDING * max(1.0, abs(worth))
            if falls and not choices.same_size and choices.is_feasible(order):
                break
            winner, worth = arms[best], float(with_it[best])
        else:
            winner, worth = likeliest(reward, theta, left, 1, rng=rng)[0], np.nan
        order, values = np.append(order, winner), np.append(values, worth)
        left = np.flatnonzero(extend(order))
    return Found(order, values, asked, whole)


def _for_their_weight(adds: FloatArray, weights: FloatArray) -> FloatArray:
    """What arms add for a unit of weight; those that weigh nothing come first."""
    heaviest = float(weights.max())
    return adds / np.maximum(weights, 1e-9 * heaviest) if heaviest > 0 else adds
