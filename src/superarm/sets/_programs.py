"""The set of the largest sum of gains within quotas and a limit of weights, as an integer program.

Few arms are looked up among all their sets instead, which takes 0.1 ms and not 10 ms.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray

BoolArray = NDArray[np.bool_]

# Gains and the limit are scaled to this. The solver may be off by about 1e-6, which is rounding.
SIZE = 1e3
# The solver stops within this share of the best sum. To prove the last digits may take for ever.
_GAP = 1e-6
# Keeps a division by the largest gain finite when all gains are 0.
_TINY = 1e-300
# Of so few arms, every set is looked at.
_FEW_ARMS = 10
# Sets this close in value, or above the limit, are left to the solver: its tolerances decide then.
_CLOSE = 1e-5
# A set that weighs more than the limit by this share weighs as much as the limit.
_EQUAL = 1e-12


class Bounds(Protocol):
    """Quotas, of disjoint groups or of any groups."""

    least: IndexArray
    most: IndexArray
    k: int
    at_most: bool

    def members(self, arms: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Pairs of a group and the place in ``arms`` of one of its members."""


class IntegerProgram(NamedTuple):
    """Some arms, which of them must be in, and their weights; None without a limit of weights."""

    quotas: Bounds
    arms: IndexArray
    must: BoolArray
    weights: FloatArray | None = None

    def solve(self, gains: FloatArray, limit: float = SIZE) -> BoolArray | None:
        """Which arms are in the set of the largest sum of gains; None if there is no set."""
        few = len(self.arms) <= _FEW_ARMS
        if few and len(looked_up := self._looked_up(gains)):
            return looked_up[0]
        return self._solved(gains, limit)

    def _fulfilled(self, sets: FloatArray) -> tuple[BoolArray, FloatArray]:
        """Which sets fulfil the quotas, and by which share they are above the limit."""
        quotas, n = self.quotas, len(self.arms)
        members = np.zeros((len(quotas.least), n))
        members[quotas.members(self.arms)] = 1.0
        counts, sizes = sets @ members.T, sets.sum(axis=1)
        good = ((counts >= quotas.least) & (counts <= quotas.most)).all(axis=1)
        good &= (sizes <= quotas.k) & (sizes >= (0 if quotas.at_most else quotas.k))
        good &= sets @ self.must == self.must.sum()
        over = np.zeros(len(sets)) if self.weights is None else (sets @ self.weights - SIZE) / SIZE
        return good, over

    def _looked_up(self, gains: FloatArray) -> list[BoolArray | None]:
        """What `_solved` finds, by a look at every set; nothing if sets are too close."""
        sets = _every_set(len(self.arms))
        good, over = self._fulfilled(sets)
        if (good & (over > _EQUAL) & (over < _CLOSE)).any():
            return []
        if not (good & (over <= _EQUAL)).any():
            return [None]
        totals = np.where(good & (over <= _EQUAL), sets @ gains, -np.inf)
        best = int(totals.argmax())
        behind = totals[best] - np.delete(totals, best).max(initial=-np.inf)
        return [sets[best] > 0] if behind > _CLOSE * (SIZE + abs(totals[best])) else []

    def _solved(self, gains: FloatArray, limit: float) -> BoolArray | None:
        from scipy import optimize, sparse  # slow to import, and few constraints need them

        quotas, n = self.quotas, len(self.arms)
        groups, places = quotas.members(self.arms)
        ones = (np.ones(len(groups)), (groups, places))
        members = sparse.csr_array(ones, shape=(len(quotas.least), n))
        least = 0 if quotas.at_most else quotas.k
        limits = [
            optimize.LinearConstraint(members, quotas.least, quotas.most),
            optimize.LinearConstraint(np.ones((1, n)), least, quotas.k),
        ]
        if self.weights is not None:
            limits.append(optimize.LinearConstraint(self.weights[None], -np.inf, limit))
        found = optimize.milp(
            -gains,
            integrality=np.ones(n, np.intp),
            bounds=optimize.Bounds(self.must.astype(float), 1.0),
            constraints=limits,
            options={"mip_rel_gap": _GAP},
        )
        return None if found.x is None else found.x > 0.5


def as_gains(values: FloatArray) -> FloatArray:
    """Values on the scale of the solver."""
    return values * (SIZE / max(float(np.abs(values).max(initial=0.0)), _TINY))


@lru_cache(maxsize=_FEW_ARMS + 1)
def _every_set(n: int) -> FloatArray:
    """Shape (2^n, n): every set of n arms, 1.0 for its members."""
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.float64)
