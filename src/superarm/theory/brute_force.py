"""Two of the paper's definitions, computed over all sets: for small problems and for tests."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, as_k, as_unit

_MOST_SETS = 1_000_000
_MOST_ARMS = 20
_RELATIVE_ROUNDING = 1e-12


def gap_range(reward: Reward, theta: ArrayLike, k: int) -> tuple[float, float]:
    """Delta_min and Delta_max of section 2, over all sets of k arms.

    Delta_min is NaN if all sets have the same value.

    Examples
    --------
    >>> import superarm as sa
    >>> gap_range(sa.LinearReward(4), [0.5, 0.25, 1.0, 0.0], k=2)
    (0.25, 1.25)
    """
    values = _all_values(reward, theta, k)[1]
    gaps = values.max() - values
    # Sets that are equal up to rounding are all optimal: their gap is 0, not tiny.
    positive = gaps[gaps > _rounding(values)]
    return float(positive.min()) if positive.size else math.nan, float(gaps.max())


def separation(reward: Reward, theta: ArrayLike, k: int) -> float:
    """The C of C-separability (eq. C_sep). Assumption 6 holds at theta if and only if C > 0.

    C is the minimum of r(S + s) - r(S + t) over all arms s of optimal sets, all arms t of no
    optimal set, and *all* sets S of the other arms. There are 2^(n_arms - 2) sets S, so use it for
    a dozen arms. NaN if every arm is in some optimal set.

    Examples
    --------
    >>> import superarm as sa
    >>> separation(sa.LinearReward(4), [0.5, 0.25, 1.0, 0.0], k=2)
    0.25
    """
    n_arms = reward.n_arms
    if n_arms > _MOST_ARMS:
        raise ValueError(
            f"separation looks at 2^n_arms sets: n_arms must be at most {_MOST_ARMS}, got {n_arms}"
        )
    sets, values = _all_values(reward, theta, k)
    best = np.unique(sets[values >= values.max() - _rounding(values)])
    others = np.setdiff1d(np.arange(n_arms), best)
    # Row b of `inside` is the set whose members are the bits of b.
    masks = np.arange(2**n_arms)
    inside = (masks[:, None] >> np.arange(n_arms) & 1).astype(bool)
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    all_values = reward.batch(Pools(np.nonzero(inside)[1], offsets, n_arms), theta)
    least = math.inf
    for s in best:
        for t in others:
            rest = masks[~inside[:, s] & ~inside[:, t]]
            # Adding an arm to a set sets its bit, so that S + s is the row S | 1 << s.
            difference = all_values[rest | 1 << s] - all_values[rest | 1 << t]
            least = min(least, float(difference.min()))
    return least if math.isfinite(least) else math.nan


def _all_values(reward: Reward, theta: ArrayLike, k: int) -> tuple[NDArray[np.intp], FloatArray]:
    theta = as_unit(theta, "theta", (reward.n_arms,))
    n_sets = math.comb(reward.n_arms, as_k(k, reward.n_arms))
    if n_sets > _MOST_SETS:
        raise ValueError(f"brute force looks at every set: at most {_MOST_SETS:,}, got {n_sets:,}")
    sets = np.array(list(combinations(range(reward.n_arms), k)), np.intp)
    return sets, reward.batch(Pools(sets.ravel(), np.arange(n_sets + 1) * k, reward.n_arms), theta)


def _rounding(values: FloatArray) -> float:
    """Values closer than this are equal: a share of the largest one."""
    return _RELATIVE_ROUNDING * float(np.abs(values).max())
