"""Every set: the reference that the other oracles are tested against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Pools, Reward, Sample, as_selection
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_values
from superarm.core.optional import Enumerable
from superarm.core.showing import one_line
from superarm.oracles._budget import as_budget
from superarm.oracles._rounding import rounding_at, scale_of
from superarm.oracles._sets import enumerable


@dataclass(frozen=True)
class ExhaustiveReport:
    """What the best set is worth.

    Attributes
    ----------
    value, n_best
        The value of the best set that was evaluated, and how many sets share this value.
    certified
        Whether every set was evaluated, so that none is better. False only if the budget is
        smaller.
    """

    value: float
    n_best: int
    certified: bool = True

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: sets were compared, not arms."""


class Exhaustive:
    """Evaluates all feasible sets: exact for every reward (eq. S_star), and expensive.

    C(n_arms, k) evaluations per round for a plain k. Other feasible sets must be `Enumerable`. Sets
    within rounding of the best count as equally good, and one of them is drawn.

    Parameters
    ----------
    limit
        Problems with more sets than this are refused, unless the budget is smaller.
    budget
        The largest number of evaluations per round; None for no limit. A smaller budget goes to the
        first sets in lexicographic order, the arms being ranked by B_i theta_i, so that the
        likeliest arms are in all of these sets.

    Examples
    --------
    >>> import superarm as sa
    >>> Exhaustive().select(sa.AnySuccess(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    """

    report: ExhaustiveReport | None = None

    __repr__ = one_line

    def __init__(self, limit: int = 1_000_000, *, budget: int | None = None) -> None:
        self.limit = as_count(limit, "limit", least=1)
        self.budget = as_budget(budget)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The best set of all."""
        theta, feasible = as_selection(reward, theta, k)
        listed = enumerable(self, feasible)
        left = self._n_evaluations(listed)
        # If not all sets can be evaluated, the likeliest ones come first.
        order = _ranked(reward, theta, rng) if left < listed.n_candidates else None
        best, complete = _BestSets(), True
        for sets in listed.blocks(order):
            complete = len(sets) <= left
            best.add(reward, theta, sets[:left])
            left -= len(sets[:left])
            if not complete:
                break
        self.report = ExhaustiveReport(best.value, len(best.sets), complete)
        n_best = len(best.sets)
        # Nothing is drawn if there is no tie. A copy, since the sets are rows of a larger block.
        return np.array(best.sets[int(rng.integers(n_best)) if n_best > 1 else 0])

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot be listed."""
        enumerable(self, feasible)

    def _n_evaluations(self, feasible: Enumerable) -> int:
        """How many sets are evaluated at most; more than ``limit`` are refused."""
        n_sets = feasible.n_candidates
        n_evaluations = n_sets if self.budget is None else min(n_sets, self.budget)
        if n_evaluations > self.limit:
            raise ValueError(
                f"Exhaustive evaluates every set of {feasible}: {n_sets:,} sets are more than "
                f"its limit of {self.limit:,}; use Greedy or Singletons, give a budget, or raise "
                "the limit"
            )
        return n_evaluations


class _BestSets:
    """The best sets so far, those within rounding of each other, and their value."""

    def __init__(self) -> None:
        self.sets: list[IndexArray] = []
        self.value = -np.inf
        self._scale = 0.0
        self._values: list[float] = []

    def add(self, reward: Reward, theta: FloatArray, sets: IndexArray) -> None:
        """Evaluate more sets, shape (n_sets, size)."""
        if not len(sets):
            return
        offsets = np.arange(len(sets) + 1) * sets.shape[1]
        pools = Pools(sets.ravel(), offsets, reward.n_arms)
        values = as_values(reward.batch(pools, theta), pools)
        self.value = max(self.value, float(values.max()))
        self._scale = max(self._scale, scale_of(values, reward))
        least = self.value - rounding_at(self.value, self._scale)
        good = np.flatnonzero(values >= least)
        # A better set may rule out sets that were the best so far.
        kept = [number for number, value in enumerate(self._values) if value >= least]
        self.sets = [self.sets[number] for number in kept] + list(sets[good])
        self._values = [self._values[number] for number in kept] + values[good].tolist()


def _ranked(reward: Reward, theta: FloatArray, rng: np.random.Generator) -> IndexArray:
    """All arms by B_i theta_i, the largest first; equal arms in random order."""
    bounds = reward.lipschitz * theta
    arms = np.arange(reward.n_arms)
    if len(np.unique(bounds)) < len(bounds):
        arms = rng.permutation(arms)
    return arms[np.argsort(-bounds[arms], kind="stable")]
