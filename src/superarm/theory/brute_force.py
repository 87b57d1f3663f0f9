"""Two of the paper's definitions, looked up set by set: for small problems, and for tests."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, as_k, as_unit

_MOST_SETS = 1_000_000


def gap_range(reward: Reward, theta: ArrayLike, k: int) -> tuple[float, float]:
    """Delta_min and Delta_max of section 2 by brute force over all sets of k arms.

    Where all sets are worth the same, Delta_min has no definition and is NaN.

    Examples
    --------
    >>> import superarm as sa
    >>> gap_range(sa.LinearReward(4), [0.5, 0.25, 1.0, 0.0], k=2)
    (0.25, 1.25)
    """
    values = _all_values(reward, theta, k)[1]
    gaps = values.max() - values
    positive = gaps[gaps > _rounding(values)]
    return float(positive.min()) if positive.size else math.nan, float(gaps.max())


def separation(reward: Reward, theta: ArrayLike, k: int) -> float:
    """The C of C-separability (eq. C_sep) by brute force; assumption 6 holds at theta exactly if it is above 0.

    The least of r(S + s) - r(S + t) over all arms s of an optimal set, all arms t of none, and *all* sets S of the
    other arms: 2^(n_arms - 2) of them, so this is for a dozen arms. NaN if every arm is in some optimal set.

    Examples
    --------
    >>> import superarm as sa
    >>> separation(sa.LinearReward(4), [0.5, 0.25, 1.0, 0.0], k=2)
    0.25
    """
    n_arms = reward.n_arms
    if n_arms > 20:
        raise ValueError(
            f"separation looks at 2^n_arms sets: n_arms must be at most 20, got {n_arms}"
        )
    sets, values = _all_values(reward, theta, k)
    best = np.unique(sets[values >= values.max() - _rounding(values)])
    others = np.setdiff1d(np.arange(n_arms), best)
    # Row b is the set whose members are the bits of b.
    masks = np.arange(2**n_arms)
    inside = (masks[:, None] >> np.arange(n_arms) & 1).astype(bool)
    every = Pools(
        np.nonzero(inside)[1], np.concatenate([[0], np.cumsum(inside.sum(axis=1))]), n_arms
    )
    worth = reward.batch(every, theta)
    least = math.inf
    for s in best:
        for t in others:
            rest = masks[~inside[:, s] & ~inside[:, t]]
            least = min(least, float((worth[rest | 1 << s] - worth[rest | 1 << t]).min()))
    return least if math.isfinite(least) else math.nan


def _all_values(reward: Reward, theta: ArrayLike, k: int) -> tuple[NDArray[np.intp], FloatArray]:
    theta = as_unit(theta, "theta", (reward.n_arms,))
    n_sets = math.comb(reward.n_arms, as_k(k, reward.n_arms))
    if n_sets > _MOST_SETS:
        raise ValueError(f"brute force looks at every set: at most {_MOST_SETS:,}, got {n_sets:,}")
    sets = np.array(list(combinations(range(reward.n_arms), k)), np.intp)
    return sets, reward.batch(Pools(sets.ravel(), np.arange(n_sets + 1) * k, reward.n_arms), theta)


def _rounding(values: FloatArray) -> float:
    return 1e-12 * max(1.0, float(np.abs(values).max()))
