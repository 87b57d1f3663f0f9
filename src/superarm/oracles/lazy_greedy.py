"""Greedy's decision from remembered answers, with fewer evaluations per round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import (
    FeasibleSets,
    KOfM,
    KOrSets,
    Reward,
    as_selection,
    is_uniform,
    top_k,
)
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.showing import one_line
from superarm.oracles._bounds import LazySingletonsReport
from superarm.oracles._greedy import BuiltReport, falls, greedy, may_end
from superarm.oracles._lazy.audits import AUDITS
from superarm.oracles._lazy.greedy_round import ContradictionError, GreedyRound, KnownSets
from superarm.oracles._lazy.stage import Stage
from superarm.oracles._sets import extendable
from superarm.oracles._state import check_loaded, check_state, refuse_noisy
from superarm.oracles.lazy_singletons import LazySingletons
from superarm.sets.feasible import Feasible


@dataclass(frozen=True, eq=False)
class LazyGreedyReport(BuiltReport):
    """What greedy added, and whether the bounds prove it.

    Attributes
    ----------
    order, values
        Shape (k,) each: the arms in the order in which they were added, and the value of the set
        after each arm. A value is NaN if no decision needed it.
    evaluations
        How many evaluations it took.
    certified
        Whether the set is Greedy's, given what the reward declares. False only if the budget was
        used up.
    audits, excluded
        As in `LazySingletonsReport`, with the larger of the shares for single arms and for sets.
    """

    evaluations: int
    certified: bool
    audits: int = 0
    excluded: float = 1.0

    __repr__ = one_line


class _First(NamedTuple):
    """The best first arm: its worth, NaN if it is unknown, and whether it is certainly the best.

    ``alone``, shape (n_arms,): upper bounds on what each arm adds to the empty set.
    """

    arms: IndexArray
    worth: float
    certified: bool
    alone: FloatArray


class LazyGreedy:
    """The set that `Greedy` would pick if the reward is submodular, certified by bounds.

    Assumes that the reward is submodular (no arm adds more to a larger set), and Lipschitz as
    declared. The first arm is that of `LazySingletons`. What an arm adds alone, or added to a
    smaller set in this or an earlier round, bounds what it adds now. An arm is added as soon as
    what it adds is above the bounds of all others. Until then, the arms that stand in the way are
    evaluated. Among arms of equal value, the random choice may differ from that of `Greedy`.

    Many evaluations are saved only if the reward declares ``diminishing``: raising a mean never
    lowers a value, and raises it by less if this mean or others are higher, an absent arm being one
    of mean 0. `LinearReward`, `AnySuccess`, `CoverageReward` and `NetworkReward` without negative
    weights are such. Then one evaluation rules out several arms, if all of them together add less
    than the best arm. And an answer at other means, of the same set or of a subset, is a bound
    after one evaluation for all arms. Otherwise such answers are of use only as far as B reaches.

    If an answer is above its bound, the reward is not what it declares. The assumption is given up
    with a warning: ``diminishing`` first if the bound came from it, and otherwise submodularity,
    after which all rounds are plain Greedy's. The current round is Greedy's in full.

    A round takes about k evaluations at least. If new sets are tried all the time, as in the first
    rounds of a bandit, it takes many: a share of Greedy's. Time: O(n_answers · n_arms) per step,
    and O(n_arms) per batch of evaluations. Memory: at most 16 · n_points + 8 + 24 · n_answers bytes
    per arm, 1,800 by default. The memory is only a cache: without it the answers are the same, up
    to random tie-breaking, but cost more evaluations. ``state`` and ``load`` save it.

    Among other feasible sets, too, it picks what `Greedy` picks; with weights, at Greedy's cost.

    Parameters
    ----------
    n_points
        How many answers are remembered per arm alone.
    n_answers
        How many answers are remembered per arm with others, on average.
    batch
        How many arms are evaluated together at least, as for `LazySingletons`.
    budget
        The largest number of evaluations per round; None for no limit. The steps share it, and what
        one step leaves goes to the next. A step without any adds the arm of the largest bound.
    audits
        As for `LazySingletons`, once for single arms and once for larger sets. A budget is for the
        steps, so there are no audits within one.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> reward = sa.Counted(sa.CoverageReward(rng.random((200, 9))))
    >>> lazy, plain, theta = LazyGreedy(), sa.Greedy(), rng.random(200)
    >>> for _ in range(50):
    ...     theta = np.clip(theta + rng.normal(0, 0.01, 200), 0, 1)
    ...     arms = lazy.select(reward, theta, 3, rng=rng)
    ...     assert np.array_equal(arms, plain.select(reward.uncounted, theta, 3, rng=rng))
    >>> reward.evaluations < 50 * 597 / 10  # Greedy makes 597 in each round
    True
    """

    report: LazyGreedyReport | None = None

    __repr__ = one_line

    def __init__(
        self,
        *,
        n_points: int = 16,
        n_answers: int = 64,
        batch: int = 1,
        budget: int | None = None,
        audits: float = AUDITS,
    ) -> None:
        # The oracle of the first arm checks the settings that both have.
        alone = LazySingletons(n_points=n_points, batch=batch, budget=budget, audits=audits)
        self.n_points, self.batch, self.budget = alone.n_points, alone.batch, alone.budget
        self.n_answers = as_count(n_answers, "n_answers")
        self.audits = alone.audits if budget is None else 0.0
        self._reward: Reward | None = None
        self._known: KnownSets | None = None
        self._alone = self._new_alone()

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms that greedy adds."""
        theta, feasible = as_selection(reward, theta, k)
        sets = extendable(self, feasible)
        known = self._meet(reward)
        now = GreedyRound(
            reward, known, theta, budget=self.budget, batch=self.batch, audits=self.audits
        )
        if known.submodular and sets.weights is None:
            try:
                self.report = self._lazily(now, sets, rng=rng)
                return np.sort(self.report.order)
            except ContradictionError:
                pass
        left = None if self.budget is None else self.budget - now.evaluations
        found = greedy(reward, theta, sets, left, rng=rng)
        evaluations = now.evaluations + found.evaluations
        self.report = LazyGreedyReport(found.order, found.values, evaluations, found.whole)
        return np.sort(found.order)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot be built arm by arm."""
        extendable(self, feasible)

    def state(self) -> dict[str, Any]:
        """The remembered answers, and what they showed about the reward, as plain JSON."""
        if self._known is None:
            return {"oracle": "LazyGreedy", "alone": None}
        return {"oracle": "LazyGreedy", "alone": self._alone.state(), **self._known.state()}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, for the reward of the next ``select``."""
        check_state(state, "LazyGreedy", "alone")
        if state["alone"] is None:
            self.forget()
            return
        known, alone = KnownSets.of(state, self.n_answers), self._new_alone()
        alone.load(state["alone"])
        self._reward, self._alone, self._known = None, alone, known

    def forget(self) -> None:
        """Forget the reward and its answers."""
        self._reward = self._known = None

    def _new_alone(self) -> LazySingletons:
        """The oracle of the first arm."""
        return LazySingletons(n_points=self.n_points, batch=self.batch, audits=self.audits)

    def _meet(self, reward: Reward) -> KnownSets:
        """What is known about this reward: nothing if it is new. A loaded state fits any."""
        refuse_noisy(self, reward, "NoisyGreedy or Greedy")
        if self._known is None or (self._reward is not None and reward is not self._reward):
            self._alone, self._known = self._new_alone(), KnownSets.new(reward, self.n_answers)
        elif self._reward is None:
            check_loaded(len(self._known.lipschitz), reward)
        self._reward = reward
        return self._known

    def _lazily(
        self, now: GreedyRound, feasible: Any, *, rng: np.random.Generator
    ) -> LazyGreedyReport:
        """Greedy's set by bounds."""
        theta, audits = now.theta, now.known.audits
        audits.rounds += 1
        first = self._first(now, feasible, rng=rng)
        order, values, certified = self._begin(now, feasible, first)
        # What an arm adds alone bounds what it adds to any set.
        upper, assumed = first.alone.copy(), np.zeros(len(theta), bool)
        while len(order) and (allowed := feasible.extend(order)).any():
            now.limit(max(1, feasible.n_most - len(order)))
            worth, is_last = float(values[-1]), _is_last(feasible, order, len(theta))
            if np.isnan(worth) or is_last or not now.room():
                # Nothing can be evaluated, or nothing need be: the last arm that is left wins.
                certified &= is_last
                bounds = np.where(allowed, upper, -np.inf)
                winner, value = int(top_k(bounds, 1, rng=rng)[0]), np.nan
            else:
                closed = np.flatnonzero(~allowed)
                stage = Stage(np.sort(order), worth, theta, first.alone, upper, assumed, closed)
                certified &= now.settle(stage)
                winner = stage.winner(rng=rng)
                value = float(stage.exact[winner])
                if falls(value, worth) and may_end(feasible, order):
                    break
            order, values = np.append(order, winner), np.append(values, value)
        made, excluded = audits.made, audits.excluded
        if (alone := self._alone.report) is not None:  # None if no arm may be added
            made, excluded = made + alone.audits, max(excluded, alone.excluded)
        return LazyGreedyReport(order, values, now.evaluations, bool(certified), made, excluded)

    def _begin(
        self, now: GreedyRound, feasible: Any, first: _First
    ) -> tuple[IndexArray, FloatArray, bool]:
        """The arms to begin with: those that must be in or, without any, the best first arm."""
        must, empty = feasible.must, now.known.empty
        values = np.full(len(must), np.nan)
        if not len(first.arms):
            return must, values, True
        if len(must):
            if now.room() and empty is not None:
                values[-1] = now.value_of(must, now.theta[must])
            return must, values, True
        if empty is not None and falls(first.worth, empty) and may_end(feasible, must):
            return must, values, first.certified
        return first.arms, np.array([first.worth]), first.certified

    def _first(self, now: GreedyRound, feasible: Any, *, rng: np.random.Generator) -> _First:
        """The best first arm; if some arms must be in, only the bounds are of use."""
        theta, known = now.theta, now.known
        allowed = feasible.extend(feasible.must)
        if not allowed.any():
            return _First(np.zeros(0, np.intp), np.nan, True, theta)
        plain = is_uniform(feasible)
        steps = feasible.n_most if plain else max(2, feasible.n_most - len(feasible.must))
        now.limit(steps)
        one = KOfM(1, len(theta)) if plain else Feasible(1, available=allowed)
        arms, report = self._select_alone(now, one, rng)
        lower, upper = report.lower[arms[0]], report.upper[arms[0]]
        worth = float(lower) if lower == upper else np.nan
        # The set is complete, or only one arm is left to complete it.
        if plain and (steps == 1 or steps == len(theta) == 2):
            return _First(arms, worth, report.certified, report.upper)
        # Further arms are compared with the value of the first one, and bounded by what they add
        # alone.
        now.limit(1)
        if known.empty is None and now.room():
            known.empty = now.value_of(arms[:0], theta[:0])
        if known.empty is None:
            return _First(arms, np.nan, report.certified, report.upper)
        if np.isnan(worth) and now.room():
            worth = now.value_of(arms, theta[arms])
        return _First(arms, worth, report.certified, report.upper - known.empty)

    def _select_alone(
        self, now: GreedyRound, one: FeasibleSets, rng: np.random.Generator
    ) -> tuple[IndexArray, LazySingletonsReport]:
        """The arm worth most alone, and the bounds that show it."""
        self._alone.budget = None if self.budget is None else now.room()
        arms = self._alone.select(now.reward, now.theta, one, rng=rng)
        report: Any = self._alone.report
        now.evaluations += report.evaluations
        return arms, report


def _is_last(feasible: Any, order: IndexArray, n_arms: int) -> bool:
    """Whether the only arm that is left must be in the set."""
    return feasible.same_size and len(order) == n_arms - 1
