"""The next samples of `BetaTopK` at once, by few calls of numpy: same law, other draws."""

from __future__ import annotations

import numpy as np

from superarm.beliefs.beta_top_k import ArmsAbove, BetaPosteriors, BetaTopK, _distinct
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import top_k
from superarm.core.special import betainc, betaincinv

_FEW = 3  # samples that take less time one by one
_N_LOOKED_AT = 2  # samples that say where the k-th largest values are
_ARMS_PER_POINT = 20  # up to here, one search among all arms pays


def next_tops(
    top: BetaTopK, belief: BetaPosteriors, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """What ``top.draw`` returns, for n independent samples: shape (n, k) each."""
    arms, values = np.empty((n, k), np.intp), np.empty((n, k))
    done = 0
    # Few are drawn one by one, and so is a first whole sample, which finds a level.
    while done < n and (n - done <= _FEW or not _suits(top, belief, k)):
        arms[done], values[done] = top.draw(belief, k, rng=rng)
        done += 1
    if done < n and top.above is not None:
        theta = _draw(top.above, arms[done:], values[done:], rng)
        if theta is not None:
            top.forget()
            top.above = ArmsAbove.at_rank(belief.a, belief.b, k, theta)
    return arms, values


def _suits(top: BetaTopK, belief: BetaPosteriors, k: int) -> bool:
    return top.level(belief) is not None and top.above is not None and top.above.suits(k)


def _draw(
    above: ArmsAbove, arms: IndexArray, values: FloatArray, rng: np.random.Generator
) -> FloatArray | None:
    """Fill in the arms and values of samples. Returns the last that was drawn as a whole."""
    n, k = arms.shape
    row, arm = _arms_above(above, n, rng)
    tail = above._tail(arm) * (1 - rng.random(len(arm)))
    kept = _candidates(above, row, arm, tail, n)
    row, arm = row[kept], arm[kept]
    found = betaincinv(above.b[arm], above.a[arm], tail[kept])
    below = np.minimum(found, above.margin)
    # By rows, in each row the largest value first, and equal ones in random order.
    order = np.lexsort((rng.random(len(below)), below, row))
    sizes = np.bincount(row, minlength=n)
    starts = np.cumsum(sizes) - sizes
    full = np.flatnonzero(sizes >= k)
    best = order[starts[full, None] + np.arange(k)]
    best = best[np.arange(len(full))[:, None], arm[best].argsort(axis=1)]
    arms[full], values[full] = arm[best], 1 - below[best]
    theta = None
    for one in np.flatnonzero(sizes < k).tolist():
        # Rare: fewer than k values exceed the level, so the other values are needed as well.
        mine = slice(starts[one], starts[one] + sizes[one])
        theta = above.draw_rest(arm[mine], below[mine], rng=rng)
        arms[one] = top_k(theta, k, rng=rng)
        values[one] = theta[arms[one]]
    return theta


def _arms_above(
    above: ArmsAbove, n: int, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """The arms above the level in n samples, as in ``ArmsAbove.draw``: rows, and arms."""
    n_arms, sizes = len(above.a), rng.poisson(above._sums[-1], n)
    n_points = int(sizes.sum())
    if n_arms <= _ARMS_PER_POINT * n_points:
        sums = above._rates.cumsum()
        points = sums.searchsorted(rng.random(n_points) * sums[-1], side="right")
    else:
        points = above._arms_of_points(n_points, rng)
    found = _distinct(np.repeat(np.arange(n) * n_arms, sizes) + points)
    if len(above._coins):
        sample, coin = np.nonzero(rng.random((n, len(above._coins))) < above._chances)
        found = np.sort(np.concatenate([found, sample * n_arms + above._coins[coin]]))
    row, arm = np.divmod(found, n_arms)
    return row, arm


def _candidates(
    above: ArmsAbove, row: IndexArray, arm: IndexArray, tail: FloatArray, n: int
) -> IndexArray:
    """Places of values that include the k largest of each sample, and all of samples with fewer.

    To invert a tail takes ten times as long as to compute one. So the first samples say where
    about twice k values are. If a sample has k values above that, its other values are left out.
    """
    n_first = int(np.searchsorted(row, _N_LOOKED_AT))
    first = arm[:n_first]
    found = betaincinv(above.b[first], above.a[first], tail[:n_first])
    n_near = min(2 * above.k * _N_LOOKED_AT, n_first)
    margin = np.partition(found, n_near - 1)[n_near - 1] if n_near else above.margin
    is_near = tail <= betainc(above.b[arm], above.a[arm], margin)
    enough = np.bincount(row, is_near, n) >= above.k
    return np.flatnonzero(is_near | ~enough[row])
