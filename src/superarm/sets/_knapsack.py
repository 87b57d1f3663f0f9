"""The best set within quotas and a budget, by integer programming."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.sets._overlapping import Overlapping
from superarm.sets._programs import SIZE, IntegerProgram, as_gains
from superarm.sets._quotas import Quotas

# A set may weigh more than the budget by this share: it is rounding.
_ROUNDING = 1e-9


def best_within_budget(
    quotas: Quotas | Overlapping,
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
    gains = as_gains(np.where(quotas.must[arms], 0.0, values[arms]))
    scale, limit = SIZE / budget, SIZE
    while True:
        program = IntegerProgram(quotas, arms, quotas.must[arms], weights[arms] * scale)
        is_in = program.solve(gains, limit)
        if is_in is None:
            raise RuntimeError("the solver found no set within the budget, though there is one")
        chosen = np.sort(arms[is_in])
        over = float(weights[chosen].sum()) * scale - SIZE
        if over <= _ROUNDING * SIZE:
            return chosen
        # The solver rounded in its favour: a slightly smaller budget leaves out this set.
        limit -= max(over, _ROUNDING * SIZE)
