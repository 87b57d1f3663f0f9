"""Greedy: one arm after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, as_selection
from superarm.core.arguments import IndexArray
from superarm.core.showing import one_line
from superarm.oracles._budget import as_budget
from superarm.oracles._greedy import BuiltReport, greedy
from superarm.oracles._sets import extendable


@dataclass(frozen=True, eq=False)
class GreedyReport(BuiltReport):
    """How a set was built.

    Attributes
    ----------
    order
        Shape (k,): the arms in the order in which they were added.
    values
        Shape (k,): the value of the set after each arm. NaN where the budget left no evaluation.
    certified
        Always False: greedy does not prove that its set is the best.
    """

    certified: bool = False

    __repr__ = one_line


class Greedy:
    """Adds the arm that raises the value most, k times.

    Within 1 - 1/e of the best set for monotone submodular rewards (Nemhauser, Wolsey, Fisher 1978).
    Exact if the reward is separable and one set is best. k · n_arms - k (k - 1) / 2 evaluations per
    round. `LazyGreedy` decides the same with fewer evaluations if the reward is submodular.

    Other feasible sets must be `Extendable`. Greedy then starts with the arms that must be in, and
    adds only arms with which a feasible set can still be made. Without weights, the result is
    within 1/2 of the best set for monotone submodular rewards (Fisher, Nemhauser, Wolsey 1978), and
    exact for sums. With weights, greedy runs twice, once by what an arm adds per unit of weight,
    and the better set is taken. That is within (1 - 1/e) / 2 if the budget of weights is the only
    constraint that binds (Leskovec and others 2007), and has no guarantee otherwise.

    Parameters
    ----------
    budget
        The largest number of evaluations per round; None for no limit. A smaller budget is shared
        evenly among the steps. Each step evaluates only the arms of the largest B_i theta_i. If no
        evaluation is left, the first of these arms is added.

    Examples
    --------
    >>> import superarm as sa
    >>> reward = sa.CoverageReward([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> oracle = Greedy()
    >>> rng = np.random.default_rng(0)
    >>> oracle.select(reward, [0.9, 0.8, 0.5], 2, rng=rng)  # the first two overlap
    array([0, 2])
    >>> oracle.report.values.round(6)
    array([1.8, 2.3])
    """

    report: GreedyReport | None = None

    __repr__ = one_line

    def __init__(self, *, budget: int | None = None) -> None:
        self.budget = as_budget(budget)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms that greedy adds."""
        theta, feasible = as_selection(reward, theta, k)
        found = greedy(reward, theta, extendable(self, feasible), self.budget, rng=rng)
        self.report = GreedyReport(found.order, found.values)
        # The report keeps the order of the additions. Sets are ascending everywhere.
        return np.sort(found.order)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot be built arm by arm."""
        extendable(self, feasible)
