"""The best set within quotas and a budget, by integer programming."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.sets._quotas import Quotas

# The budget is scaled to this. The solver may be off by about 1e-6, which is then rounding.
_SIZE = 1e3
# The solver stops within this share of the best sum. To prove the last digits may take for ever.
_GAP = 1e-6
# A set may weigh more than the budget by this share: it is rounding.
_ROUNDING = 1e-9
# Keeps a division by the largest gain finite when all gains are 0.
_TINY = 1e-300
# The solver takes 10 ms for any problem. Of so few arms, every set is looked at in 0.1 ms.
_FEW_ARMS = 10
# Sets this close in value, or above the budget, are left to the solver: its tolerances decide then.
_CLOSE = 1e-5
# A set that weighs more than the budget by this share weighs as much as the budget.
_EQUAL = 1e-12


def best_within_budget(
    quotas: Quotas,
    values: FloatArray,
    weights: FloatArray,
    budget: float,
    *,
    rng: np.random.Generator,
) -> IndexArray:
    """The set of the largest sum of values whose weights sum to at most the budget, ascending.

    To within a millionth of that sum (HiGHS, by scipy). Equal arms come in random order, so that
    the solver prefers none for its number. The generator is not used if no two values are equal.
    """
    arms = np.flatnonzero(quotas.possible)
    if len(np.unique(values[arms])) < len(arms):
        arms = rng.permutation(arms)
    gains = np.where(quotas.must[arms], 0.0, values[arms])
    gains = gains * (_SIZE / max(float(np.abs(gains).max()), _TINY))
    scale, limit = _SIZE / budget, _SIZE
    while True:
        scaled = weights[arms] * scale
        is_in = _looked_up(quotas, arms, gains, scaled)
        if is_in is None:
            is_in = _solve(quotas, arms, gains, scaled, limit)
        chosen = np.sort(arms[is_in])
        over = float(weights[chosen].sum()) * scale - _SIZE
        if over <= _ROUNDING * _SIZE:
            return chosen
        # The solver rounded in its favour: a slightly smaller budget leaves out this set.
        limit -= max(over, _ROUNDING * _SIZE)


def _looked_up(
    quotas: Quotas, arms: IndexArray, gains: FloatArray, weights: FloatArray
) -> NDArray[np.bool_] | None:
    """What `_solve` finds, by a look at every set; None for many arms, or if sets are too close."""
    if len(arms) > _FEW_ARMS:
        return None
    sets = _every_set(len(arms))
    counts = sets @ np.eye(len(quotas.least))[quotas.group[arms]]
    sizes, must = counts.sum(axis=1), quotas.must[arms]
    good = ((counts >= quotas.least) & (counts <= quotas.most)).all(axis=1) & (sizes <= quotas.k)
    good &= (sizes >= (0 if quotas.at_most else quotas.k)) & (sets @ must == must.sum())
    over = (sets @ weights - _SIZE) / _SIZE
    if (good & (over > _EQUAL) & (over < _CLOSE)).any():
        return None
    totals = np.where(good & (over <= _EQUAL), sets @ gains, -np.inf)
    best = int(totals.argmax())
    behind = totals[best] - np.delete(totals, best).max(initial=-np.inf)
    return sets[best] > 0 if behind > _CLOSE * (_SIZE + abs(totals[best])) else None


@lru_cache(maxsize=_FEW_ARMS + 1)
def _every_set(n: int) -> FloatArray:
    """Shape (2^n, n): every set of n arms, 1.0 for its members."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.float64)


def _solve(
    quotas: Quotas, arms: IndexArray, gains: FloatArray, weights: FloatArray, limit: float
) -> NDArray[np.bool_]:
    """Shape (len(arms),): which arms are in the set of the largest gains within the limit."""
    from scipy import optimize, sparse  # slow to import, and only budgets need them

    n = len(arms)
    ones = (np.ones(n), (quotas.group[arms], np.arange(n)))
    groups = sparse.csr_array(ones, shape=(len(quotas.least), n))
    least = 0 if quotas.at_most else quotas.k
    found = optimize.milp(
        -gains,
        integrality=np.ones(n, np.intp),
        bounds=optimize.Bounds(quotas.must[arms].astype(float), 1.0),
        constraints=[
            optimize.LinearConstraint(groups, quotas.least, quotas.most),
            optimize.LinearConstraint(np.ones((1, n)), least, quotas.k),
            optimize.LinearConstraint(weights[None], -np.inf, limit),
        ],
        options={"mip_rel_gap": _GAP},
    )
    if found.x is None:
        raise RuntimeError(
            f"the solver found no set within the budget, though there is one: {found.message}"
        )
    return found.x > 0.5
