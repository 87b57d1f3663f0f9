"""Local search: swaps from a good start, until no swap helps."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import (
    Counted,
    FeasibleSets,
    KOrSets,
    Oracle,
    Pools,
    Reward,
    Sample,
    as_selection,
    top_k,
)
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.optional import Adopts, check_sets
from superarm.core.replays import must_replay
from superarm.core.showing import one_line
from superarm.oracles._budget import as_budget
from superarm.oracles._groups import as_group, with_groups
from superarm.oracles._lazy.audits import AUDITS
from superarm.oracles._rounding import rounding_at, scale_of
from superarm.oracles._sets import completable
from superarm.oracles._state import check_state, forget_inner, inner_state, load_inner, refuse_noisy
from superarm.oracles.lazy_singletons import LazySingletons


@dataclass(frozen=True, eq=False)
class LocalSearchReport:
    """How a set was found.

    Attributes
    ----------
    start
        The set that the search began with; with restarts, the search that found the best set.
    value
        The value of the set that it ended with.
    n_swaps
        How many swaps were made, those of all restarts included.
    evaluations
        How many evaluations it took, those of the start included.
    certified
        Whether no swap of one arm improves the set. False only if the budget was used up. It does
        not mean that no set is better.
    """

    start: IndexArray
    value: float
    n_swaps: int
    evaluations: int
    certified: bool

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: sets were compared, not arms."""


class LocalSearch:
    """Swaps arms of a set, one at a time, until no swap improves it.

    For rewards that are not separable, where the arms worth most alone are not the best set. The
    result is at least as good as the start, and no swap of one arm improves it. Evaluations: those
    of the start, one for its set, and n_arms - k per arm that is tried, so about k · n_arms if the
    start is good already.

    Other feasible sets than those of k arms must be `Completable`. Only swaps that lead to a
    feasible set are tried. If a set may have fewer arms, adding one arm is tried as well. A set
    that no swap improves can then be further from the best set: two swaps may have to be made at
    once.

    Parameters
    ----------
    start
        The oracle whose set the search begins with; `LazySingletons` by default.
    budget
        The largest number of evaluations per round; None for no limit. A ``start`` of your own
        needs a budget of its own.
    groups
        Sets of arms that are worth more together, as ``superarm.inspect(...).groups`` finds them.
        Before the swaps of single arms, groups take the place of other arms or groups, as long as
        this improves the set. Evaluations: one per group and per group in the set, in each step.
    restarts
        How many times to search again, from random sets. The best set counts. For rewards whose
        arms are worth more together, where one search can end far from the best set. Each restart
        takes about 2 k · n_arms evaluations.

    Examples
    --------
    >>> import superarm as sa
    >>> reward = sa.CoverageReward([[1, 1, 0], [1, 1, 0], [0, 0, 1]])  # the first two overlap
    >>> oracle, rng = LocalSearch(), np.random.default_rng(0)
    >>> oracle.select(reward, [0.9, 0.8, 0.5], 2, rng=rng)
    array([0, 2])
    >>> oracle.report.start, oracle.report.n_swaps
    (array([0, 1]), 2)
    """

    report: LocalSearchReport | None = None

    __repr__ = one_line

    def __init__(
        self,
        start: Oracle | None = None,
        *,
        budget: int | None = None,
        groups: Iterable[ArrayLike] = (),
        restarts: int = 0,
    ) -> None:
        self.budget = as_budget(budget)
        self.restarts = as_count(restarts, "restarts")
        self.groups = tuple(as_group(group) for group in groups)
        # A budget is for swaps, so the start audits nothing within a budget.
        audits = AUDITS if self.budget is None else 0.0
        default = LazySingletons(budget=self.budget, audits=audits)
        self.start: Oracle = default if start is None else start
        if isinstance(self.start, LazySingletons):
            self.start.is_start = True
        self._counted: Counted | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """A set that no swap of one arm improves."""
        if isinstance(self.start, LazySingletons):  # the default, which would refuse it, too
            instead = "NoisyLocalSearch, or another start, as in LocalSearch(Singletons())"
            refuse_noisy(self, reward, instead)
        theta, feasible = as_selection(reward, theta, k)
        if self._counted is None or self._counted.uncounted is not reward:
            # The same one in every round: a start that remembers answers knows its reward by
            # identity.
            self._counted = Counted(reward)
        # Made before the start runs, so that the evaluations of the start count.
        search = _Search(self._counted, theta, completable(self, feasible), self.budget)
        start = self.start.select(self._counted, theta, feasible, rng=rng)
        if self.groups:
            most = sys.maxsize if self.budget is None else search.left()
            start, search.value = with_groups(
                self._counted, theta, feasible, start, self.groups, most, rng=rng
            )
        certified = search.improve(start, rng=rng)
        found = start, search.arms, search.value, certified
        for _ in range(self.restarts):
            if search.left() <= 0:
                break
            start, search.value = feasible.best(rng.random(reward.n_arms), rng=rng), math.nan
            certified = search.improve(start, rng=rng)
            if search.value > found[2] + rounding_at(found[2], search.value):
                found = start, search.arms, search.value, certified
        start, arms, value, certified = found
        self.report = LocalSearchReport(start, value, search.n_swaps, search.n_spent(), certified)
        return arms

    @property
    def must_replay(self) -> bool:
        """Whether the start has a memory."""
        return isinstance(self.start, Adopts) or must_replay(self.start)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot exchange an arm, and what the start refuses."""
        completable(self, feasible)
        check_sets(self.start, feasible)

    def state(self) -> dict[str, Any]:
        """The state of the start, if it has one, as plain JSON."""
        return {
            "oracle": "LocalSearch",
            "start": inner_state(self.start),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "LocalSearch", "start")
        load_inner(self.start, state["start"])

    def forget(self) -> None:
        """Let the start forget its reward."""
        forget_inner(self.start)


class _Search:
    """One search: the set that it has come to, its value, and what it may still spend."""

    def __init__(
        self, reward: Counted, theta: FloatArray, feasible: Any, budget: int | None
    ) -> None:
        self.reward, self.theta, self.feasible, self.budget = reward, theta, feasible, budget
        self.arms: IndexArray = np.zeros(0, np.intp)
        self.value = math.nan
        self.n_swaps = 0
        self._before = reward.evaluations

    def n_spent(self) -> int:
        """How many evaluations the round has taken so far, those of the start included."""
        return self.reward.evaluations - self._before

    def improve(self, start: IndexArray, *, rng: np.random.Generator) -> bool:
        """Try every place of the set in turn until no place can be improved.

        False if the budget ends the search earlier.
        """
        self.arms = start
        if math.isnan(self.value) and self.left() > 0:  # with groups, it is known
            self.value = self.reward(start, self.theta[start])
        n_settled, turn = 0, 0
        while n_settled < self._n_places() and self.left() > 0 and not math.isnan(self.value):
            swapped, settled = self._try(turn % self._n_places(), rng)
            # After a swap, every place has to be tried again.
            n_settled = 0 if swapped else n_settled + settled
            turn += 1
        return n_settled >= self._n_places() or len(self.arms) == self.reward.n_arms

    def _n_places(self) -> int:
        """How many places can be tried: the arms, and an empty place if the set may grow."""
        may_grow = not self.feasible.same_size and len(self.arms) < self.feasible.n_most
        return len(self.arms) + may_grow

    def _try(self, place: int, rng: np.random.Generator) -> tuple[bool, bool]:
        """Put the best arm into one place.

        Whether this is a swap, and whether all arms were tried.
        """
        # The place after the last arm is the empty one.
        stay = np.delete(self.arms, [place] if place < len(self.arms) else [])
        completing = np.array(self.feasible.completed_by(stay), bool)
        completing[self.arms] = False
        others = completing.nonzero()[0]
        n_others = len(others)
        if not n_others:
            return False, True
        if n_others > self.left():  # the likeliest ones, by their means
            others = np.sort(others[top_k(self.theta[others], self.left(), rng=rng)])
        values = self.reward.batch(Pools.extensions(stay, others, self.reward.n_arms), self.theta)
        best = int(top_k(values, 1, rng=rng)[0])
        # Rounding must not look like progress, or two equal sets would be swapped for ever.
        value = float(values[best])
        if value > self.value + rounding_at(self.value, value, scale_of(values, self.reward)):
            self.arms, self.value = np.sort(np.append(stay, others[best])), value
            self.n_swaps += 1
            return True, False
        return False, len(others) == n_others

    def left(self) -> int:
        """How many evaluations the round may still make, or enough for every place."""
        return self.reward.n_arms if self.budget is None else self.budget - self.n_spent()
