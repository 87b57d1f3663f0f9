"""The paper's Oracle+ (section 4): one evaluation per arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import KOrSets, Pools, Reward, Sample, Scores, as_selection
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.showing import one_line
from superarm.oracles._budget import as_budget, gains_of_some, likeliest


@dataclass(frozen=True, eq=False)
class SingletonsReport:
    """What each arm is worth alone.

    Attributes
    ----------
    values
        Shape (n_arms,): the values. NaN for arms that were not evaluated: the feasible sets already
        decide about them, or the budget was used up.
    certified
        Whether every undecided arm was evaluated, so that the set is Oracle+'s.
    """

    values: FloatArray
    certified: bool = True

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The values."""
        return Scores("worth alone", np.where(np.isnan(self.values), -np.inf, self.values))


class Singletons:
    """Oracle+: evaluates every arm alone and picks the k largest values (eq. baseline).

    Exact if the reward is separable (assumption 6) and one set is best. Takes n_arms evaluations
    per round, and O(n_arms) time besides. With constraints it picks the feasible set of the largest
    sum of values, which is exact for sums. Arms whose membership the sets
    already decide are not evaluated. If the sets differ in size, the empty set is evaluated too,
    and a value is what an arm adds to it.

    Parameters
    ----------
    budget
        The largest number of evaluations per round; None for no limit. A smaller budget goes to the
        arms of the largest B_i theta_i, a bound on what an arm can add if a mean of zero is an
        absent arm. Arms that were not evaluated come last, in the order of this bound.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = Singletons()
    >>> oracle.select(sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    >>> oracle.report.values
    array([0.1, 0.8, 0.3, 0.6])
    """

    report: SingletonsReport | None = None

    __repr__ = one_line

    def __init__(self, *, budget: int | None = None) -> None:
        self.budget = as_budget(budget)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms worth most alone."""
        theta, feasible = as_selection(reward, theta, k)
        arms = np.flatnonzero(feasible.undecided)
        # One more for the empty set, which sets of several sizes are compared with.
        n_wanted = len(arms) if feasible.same_size else len(arms) + 1
        certified = self.budget is None or n_wanted <= self.budget
        if not certified:
            arms = likeliest(reward, theta, arms, self.budget or 0, rng=rng)
        values = np.full(len(theta), np.nan)
        values[arms] = reward.batch(Pools.singletons(arms, len(theta)), theta)
        self.report = SingletonsReport(values, certified)
        if not certified:
            gains = gains_of_some(reward, theta, feasible, values)
        elif feasible.same_size:
            # A constant per arm changes nothing among sets of one size: an evaluation is saved.
            gains = values
        else:
            gains = values - reward(np.empty(0, np.intp), np.empty(0))
        return feasible.best(gains, rng=rng)
