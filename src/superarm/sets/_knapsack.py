"""The best set within quotas and a budget, by integer programming."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.sets._quotas import Quotas

# The solver may be off by about 1e-6 in the budget: relative to this size, that is rounding.
_SIZE = 1e3
# The solver stops within this share of the best sum. To prove that the last digits are right may take for ever.
_GAP = 1e-6


def best_within_budget(
    quotas: Quotas,
    values: FloatArray,
    weights: FloatArray,
    budget: float,
    *,
    rng: np.random.Generator,
) -> IndexArray:
    """The set of the largest sum of values whose weights sum to the budget at most, ascending.

    To within a millionth of that sum (HiGHS, through scipy). Equal arms come in any order, so that the solver prefers
    none for its number; the generator is left alone where no two values are equal.
    """
    from scipy import optimize, sparse  # takes a while to import, and only budgets need it

    arms = np.flatnonzero(quotas.possible)
    if len(np.unique(values[arms])) < len(arms):
        arms = rng.permutation(arms)
    groups = sparse.csr_array(
        (np.ones(len(arms)), (quotas.group[arms], np.arange(len(arms)))),
        shape=(len(quotas.least), len(arms)),
    )
    scale = _SIZE / budget
    rows = [
        optimize.LinearConstraint(groups, quotas.least, quotas.most),
        optimize.LinearConstraint(
            np.ones((1, len(arms))), 0 if quotas.at_most else quotas.k, quotas.k
        ),
    ]
    gains = np.where(quotas.must[arms], 0.0, values[arms])
    gains = gains * (_SIZE / max(float(np.abs(gains).max()), 1e-300))
    limit = _SIZE
    while True:
        found = optimize.milp(
            -gains,
            integrality=np.ones(len(arms), np.intp),
            bounds=optimize.Bounds(quotas.must[arms].astype(float), 1.0),
            constraints=[
                *rows,
                optimize.LinearConstraint(weights[None, arms] * scale, -np.inf, limit),
            ],
            options={"mip_rel_gap": _GAP},
        )
        if found.x is None:
            raise RuntimeError(
                f"the solver found no set within the budget, though there is one: {found.message}"
            )
        chosen = np.sort(arms[found.x > 0.5])
        over = float(weights[chosen].sum()) * scale - _SIZE
        if over <= _SIZE * 1e-9:
            return chosen
        limit -= max(over, 1e-9 * _SIZE)
