"""Greedy's decision from remembered answers, with fewer evaluations a round.

The longest of the oracles: what is asked, with and without constraints, and how a wrong declaration is given up, is one
story. Its parts that stand alone are in `_stage` (one step), `_gains` (the memory) and `_greedy_within` (constraints).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOfM, Pools, Reward, Sample, Scores, as_selection, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.optional import is_diminishing
from superarm.oracles._budget import as_budget
from superarm.oracles._gains import Base, RememberedGains, pack
from superarm.oracles._greedy_within import falls, greedy, scores_of_order
from superarm.oracles._sets import extendable, is_uniform
from superarm.oracles._stage import Stage
from superarm.oracles.lazy_singletons import LazySingletons
from superarm.sets.feasible import Feasible

# An answer may exceed its bound by this: batches and single calls round differently.
_ROUNDING = 1e-9
# Fewer answers than this are not worth the evaluation that it takes to make use of them.
_WORTH_KEEPING = 8
# What the answers showed of the reward: part of the state.
_FOUND = ("submodular", "diminishing", "warned", "factor", "empty")


@dataclass(frozen=True, eq=False)
class LazyGreedyReport:
    """How a set was found.

    Attributes
    ----------
    order
        Shape (k,): the arms as they were added.
    values
        Shape (k,): the set's value after each; NaN where it was not needed.
    evaluations
        How many evaluations it took.
    certified
        Whether the set is Greedy's, given what the reward declares; False only where a budget ran out.
    """

    order: IndexArray
    values: FloatArray
    evaluations: int
    certified: bool

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """What each arm added."""
        return scores_of_order(self.order, self.values, theta.n_arms)


class _First(NamedTuple):
    """The best first arm, if there is any: its worth (NaN if unknown), and whether it is proved.

    ``upper``, shape (n_arms,): upper bounds on what each arm adds alone.
    """

    any: bool
    arms: IndexArray
    worth: float
    upper: FloatArray
    certified: bool


class _ContradictionError(Exception):
    """An answer is above its upper bound."""


class LazyGreedy:
    """The set that `Greedy` would pick if the reward is submodular, certified by bounds from remembered answers.

    Assumes that the reward is submodular (no arm adds more to a larger set), and Lipschitz as declared. The first arm
    is that of `LazySingletons`. What an arm adds alone, or added to a smaller set in this or an earlier round, bounds
    what it adds now. An arm is added as soon as what it adds, which is asked, is above the bounds of all others; until
    then those that stand in the way are asked about. Among arms of equal value chance may pick others than in `Greedy`.

    Much is saved only where the reward declares ``diminishing``: raising a mean never lowers a value, and raises it by
    less where that mean or others are higher, an absent arm being one of mean 0. `LinearReward`, `AnySuccess`,
    `CoverageReward` and `NetworkReward` without negative weights are such. Then several arms are ruled out by one
    evaluation, if all of them together add less than the best one, and an answer at other means of the same set or of
    a subset of it is a bound after one evaluation for all. Otherwise such answers serve only as far as B reaches.

    When an answer is above its bound, the reward does not keep its word. What was declared is given up with a warning:
    ``diminishing`` first if the bound came from it, and otherwise submodularity, after which all rounds are plain
    Greedy's. The round at hand is Greedy's in full.

    A round takes about k evaluations at least. Where ever new sets are tried, as in the first rounds of a bandit, it
    takes many: a share of Greedy's. Time: O(n_answers · n_arms) for each of the k steps, O(n_arms) for every batch of
    evaluations. Memory: 16 · n_points + 8 + 24 · n_answers bytes an arm at most, 1,800 by default; it is only a cache:
    without it the answers are the same, but for chance among equals, and cost more. ``state`` and ``load`` save it.

    Within `FeasibleSets` it picks what Greedy picks there; where arms have weights, by Greedy's own evaluations.

    Parameters
    ----------
    n_points
        How many answers are remembered of each arm alone.
    n_answers
        How many answers are remembered of each arm with others, on average.
    batch
        How many arms are asked about together at least, if so many are in question: give it the number of workers of
        an executor. More evaluations, fewer batches.
    budget
        At most so many evaluations in a round; None for as many as it takes. It is shared among the steps, what one
        leaves going to the next. A step without evaluations adds the arm of the largest bound.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> lazy, plain, reward = LazyGreedy(), sa.Greedy(), sa.Counted(sa.CoverageReward(rng.random((200, 9))))
    >>> theta = rng.random(200)
    >>> for _ in range(50):
    ...     theta = np.clip(theta + rng.normal(0, 0.01, 200), 0, 1)
    ...     arms = lazy.select(reward, theta, 3, rng=rng)
    ...     assert np.array_equal(arms, plain.select(reward.uncounted, theta, 3, rng=rng))
    >>> reward.evaluations < 50 * 597 / 10  # Greedy makes 597 in each round
    True
    """

    def __init__(
        self, *, n_points: int = 16, n_answers: int = 64, batch: int = 1, budget: int | None = None
    ) -> None:
        self.n_points = as_count(n_points, "n_points", least=4)
        self.n_answers = as_count(n_answers, "n_answers")
        self.batch = as_count(batch, "batch", least=1)
        self.budget = as_budget(budget)
        self.report: LazyGreedyReport | None = None
        self._reward: Reward | None = None
        self._alone: LazySingletons | None = None
        self._empty: float | None = None
        self._shares: dict[int, float] = {}

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms that greedy adds."""
        theta, feasible = as_selection(reward, theta, k)
        extendable(self, feasible)
        if reward is not self._reward:
            self._meet(reward)
        self._asked = 0
        if self._submodular and feasible.weights is None:  # type: ignore[attr-defined]
            try:
                return self._lazily(theta, feasible, rng=rng)
            except _ContradictionError:
                pass
        left = None if self.budget is None else self.budget - self._asked
        found = greedy(reward, theta, feasible, left, rng=rng)
        asked = self._asked + found.evaluations
        self.report = LazyGreedyReport(found.order, found.values, asked, found.whole)
        return np.sort(found.order)

    def state(self) -> dict[str, Any]:
        """The remembered answers, and what they showed of the reward, as plain JSON."""
        state: dict[str, Any] = {"oracle": "LazyGreedy", "alone": None}
        if self._alone is None:
            return state
        found: dict[str, Any] = {name: getattr(self, f"_{name}") for name in _FOUND}
        found["shares"] = [[step, share] for step, share in self._shares.items()]
        found["lipschitz"] = self._lipschitz.tolist()
        found["bases"] = [base.state() for base in self._gains.bases]
        return {**state, "alone": self._alone.state(), **found}

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described, for the reward that it is next asked about."""
        if (
            not isinstance(state, dict)
            or state.get("oracle") != "LazyGreedy"
            or "alone" not in state
        ):
            raise ValueError(f"state must be that of a LazyGreedy, got {state!r:.60}")
        if state["alone"] is None:
            self.forget()
            return
        missing = [name for name in (*_FOUND, "shares", "lipschitz", "bases") if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        alone = LazySingletons(n_points=self.n_points, batch=self.batch)
        alone.load(state["alone"])
        lipschitz = as_finite(state["lipschitz"], "state['lipschitz']", ndim=1, least=0.0)
        gains = RememberedGains(self.n_answers * len(lipschitz))
        gains.bases = [Base.of(base, len(lipschitz)) for base in state["bases"]]
        self._reward, self._alone, self._lipschitz, self._gains = None, alone, lipschitz, gains
        self._shares = {int(step): float(share) for step, share in state["shares"]}
        self._submodular, self._diminishing, self._warned = (
            bool(state[name]) for name in _FOUND[:3]
        )
        self._factor, self._empty = float(state["factor"]), state["empty"]

    def forget(self) -> None:
        """Begin anew."""
        self._reward = self._alone = None

    def _meet(self, reward: Reward) -> None:
        """Begin anew for another reward; a loaded state takes any."""
        if self._reward is None and self._alone is not None:
            if len(self._lipschitz) != reward.n_arms:
                raise ValueError(
                    f"the loaded state is of {len(self._lipschitz)} arms, got a reward of {reward.n_arms}"
                )
            self._reward = reward
            return
        self._reward = reward
        self._alone = LazySingletons(n_points=self.n_points, batch=self.batch)
        self._empty = None
        self._gains = RememberedGains(self.n_answers * reward.n_arms)
        self._lipschitz = np.array(np.broadcast_to(reward.lipschitz, reward.n_arms), np.float64)
        self._submodular = True
        self._diminishing = is_diminishing(reward)
        self._warned = False
        # Guesses that decide only what to ask first: what an arm adds in each step as a share of what it adds alone,
        # and what a group of arms adds as a multiple of what was expected.
        self._shares = {}
        self._factor = 1.2

    def _lazily(self, theta: FloatArray, feasible: Any, *, rng: np.random.Generator) -> IndexArray:
        """Greedy's set by bounds."""
        first = self._first(theta, feasible, rng=rng)
        order, values, worth, certified = self._begin(theta, feasible, first)
        upper, assumed = first.upper.copy(), np.zeros(len(theta), bool)
        while len(order) and (allowed := feasible.extend(order)).any():
            self._limit(max(1, feasible.n_most - len(order)))
            last = feasible.same_size and len(order) == len(theta) - 1
            if np.isnan(worth) or last or not self._room():
                # Nothing can be asked, or nothing need be.
                certified &= last
                winner, value = int(top_k(np.where(allowed, upper, -np.inf), 1, rng=rng)[0]), np.nan
            else:
                closed = np.flatnonzero(~allowed)
                stage = Stage(np.sort(order), worth, theta, first.upper, upper, assumed, closed)
                certified &= self._settle(stage)
                winner = stage.winner(rng=rng)
                value = float(stage.exact[winner])
                if falls(value, worth) and _may_stop(feasible, order):
                    break
            order, values, worth = np.append(order, winner), np.append(values, value), value
        self.report = LazyGreedyReport(order, values, self._asked, bool(certified))
        return np.sort(order)

    def _begin(
        self, theta: FloatArray, feasible: Any, first: _First
    ) -> tuple[IndexArray, FloatArray, float, bool]:
        """The arms to begin with: those that must be in or, without any, the best first arm."""
        order: IndexArray = feasible.must
        if not first.any:
            return order, np.full(len(order), np.nan), np.nan, True
        if len(order):
            known = self._room() and self._empty is not None
            worth = self._ask_base(order, theta[order]) if known else np.nan
            values = np.full(len(order), np.nan)
            values[-1] = worth
            return order, values, worth, True
        empty = np.nan if self._empty is None else self._empty
        if falls(first.worth, empty) and _may_stop(feasible, order):
            return order, np.zeros(0), np.nan, first.certified
        return first.arms, np.array([first.worth]), first.worth, first.certified

    def _first(self, theta: FloatArray, feasible: Any, *, rng: np.random.Generator) -> _First:
        """The best first arm; if there are arms that must be in, only the bounds are of use."""
        allowed = feasible.extend(feasible.must)
        if not allowed.any():
            return _First(False, np.zeros(0, np.intp), np.nan, theta, True)
        one: FeasibleSets
        one, steps = Feasible(1, available=allowed), max(2, feasible.n_most - len(feasible.must))
        if is_uniform(feasible):
            one, steps = KOfM(1, len(theta)), feasible.n_most
        self._limit(steps)
        alone = self._alone
        if alone is None:
            raise RuntimeError("select comes first")
        alone.budget = None if self.budget is None else self._room()
        arms = alone.select(self._reward_is, theta, one, rng=rng)
        known = alone.report
        if known is None:
            raise RuntimeError("LazySingletons must report")
        self._asked += known.evaluations
        lower, upper = known.lower[arms[0]], known.upper[arms[0]]
        worth = float(lower) if lower == upper else float("nan")
        if is_uniform(feasible) and (steps == 1 or steps == len(theta) == 2):
            return _First(True, arms, worth, known.upper, known.certified)
        self._limit(1)
        if self._empty is None and self._room():
            self._empty = self._ask_base(arms[:0], theta[:0])
        if np.isnan(worth) and self._empty is not None and self._room():
            worth = self._ask_base(arms, theta[arms])
        empty = 0.0 if self._empty is None else self._empty
        if self._empty is None:
            worth = float("nan")
        return _First(True, arms, worth, known.upper - empty, known.certified)

    def _settle(self, stage: Stage) -> bool:
        """Ask until the best arm is known for certain. Whether it is: a budget may run out."""
        share, before, consulted = self._shares.get(len(stage.base), 0.5), self._asked, False
        while True:
            gain = float(stage.exact.max()) - stage.worth
            arms = np.flatnonzero(stage.in_question(gain))
            if len(arms) and gain > -np.inf and not consulted:
                self._consult(stage, gain)
                consulted = True
                continue
            if not len(arms) or not self._room():
                break
            expected = np.minimum(self._factor * share * stage.alone[arms], stage.upper[arms])
            weak = (expected < 0.9 * gain) & ~stage.tried[arms] & self._diminishing
            if weak.all():  # all that stand a chance have been asked about
                self._rule_out(stage, arms, expected, gain)
                continue
            strong = arms[~weak]
            urgent = np.argsort(-expected[~weak], kind="stable")
            size = min(max(self.batch, (self._asked - before) // 8), self._room())
            self._ask_exactly(stage, strong[urgent[:size]])
            best = int(np.argmax(stage.exact))
            if stage.alone[best] > 0:
                share = max(0.0, stage.exact[best] - stage.worth) / stage.alone[best]
        self._shares[len(stage.base)] = share
        if len(stage.here.arms) >= _WORTH_KEEPING:
            self._gains.use(stage.here)
        return not len(arms)

    def _consult(self, stage: Stage, gain: float) -> None:
        """Bounds from earlier rounds, as long as an evaluation rules out more than one arm."""
        theta, diminishing = stage.theta, self._diminishing
        open_to = stage.in_question(gain)
        hopes = []
        for known in self._gains.within(stage.base):
            bounds = known.upper(theta, self._lipschitz, known.value, diminishing=diminishing)
            hope = known.arms[(bounds < gain) & open_to[known.arms]]
            if len(hope) > 1:
                hopes.append((known, hope))
        for known, hope in sorted(hopes, key=lambda pair: -len(pair[1])):
            if not self._room():
                break
            if len(np.unique(hope[stage.in_question(gain)[hope]])) < 2:
                continue
            at = known.where(theta, diminishing=diminishing)
            if np.array_equal(at, known.at):
                worth = known.value
            elif len(at) == len(stage.base) and np.array_equal(at, theta[stage.base]):
                worth = stage.worth
            else:
                worth = self._ask_base(known.base, at)
            bounds = known.upper(theta, self._lipschitz, worth, diminishing=diminishing)
            stage.lower(known.arms, bounds, assumed=True)
            self._gains.use(known)

    def _ask_exactly(self, stage: Stage, arms: IndexArray) -> None:
        values = self._ask(stage, arms, np.arange(len(arms) + 1))
        gains = values - stage.worth
        off = gains > stage.upper[arms] + _ROUNDING * max(1.0, abs(stage.worth))
        stage.exact[arms] = values
        stage.lower(arms, gains)
        stage.here.add(arms, stage.theta[arms], values)
        if off.any():
            self._give_up(stage, int(arms[np.argmax(off)]))

    def _rule_out(self, stage: Stage, arms: IndexArray, expected: FloatArray, gain: float) -> None:
        """Ask about groups of arms that should add less than the best one, even together."""
        groups = pack(arms, expected, 0.97 * gain)[: self._room()]
        members = np.concatenate([np.array(group, np.intp) for group in groups])
        sizes = np.array([len(group) for group in groups])
        values = self._ask(stage, members, np.concatenate([np.zeros(1, np.intp), np.cumsum(sizes)]))
        bounds = np.repeat(values, sizes)
        stage.tried[members] = True
        stage.lower(members, bounds - stage.worth, assumed=True)
        stage.here.add(members, stage.theta[members], bounds)
        each = np.zeros(len(stage.theta))
        each[arms] = expected
        hoped = np.add.reduceat(each[members], np.cumsum(sizes) - sizes)
        self._factor *= 1.0 + 0.2 * (float(np.mean(values - stage.worth > hoped)) - 0.4)

    def _ask(self, stage: Stage, arms: IndexArray, offsets: IndexArray) -> FloatArray:
        """The values of the base with each group of arms; ``offsets`` say where a group begins."""
        n_base, n_groups = len(stage.base), len(offsets) - 1
        members = np.concatenate([np.tile(stage.base, n_groups), arms])
        group = np.concatenate(
            [
                np.repeat(np.arange(n_groups), n_base),
                np.repeat(np.arange(n_groups), np.diff(offsets)),
            ]
        )
        self._asked += n_groups
        pools = Pools(
            members[np.lexsort((members, group))],
            offsets + n_base * np.arange(n_groups + 1),
            len(stage.theta),
        )
        return self._reward_is.batch(pools, stage.theta)

    def _ask_base(self, arms: IndexArray, means: FloatArray) -> float:
        self._asked += 1
        return float(self._reward_is(arms, means))

    def _give_up(self, stage: Stage, arm: int) -> None:
        what = f"arm {arm} adds {stage.exact[arm] - stage.worth:.6g} to the arms {stage.base}, which is more than"
        if self._diminishing and stage.assumed[arm]:
            self._diminishing, self._gains = False, RememberedGains(self._gains.n_answers)
            message = f"the reward declares diminishing, but {what} other answers allow"
        else:
            self._submodular = False
            message = f"the reward is not submodular, or not lipschitz as declared: {what} it can"
        if not self._warned:
            warnings.warn(f"{message}. LazyGreedy goes on without that assumption", stacklevel=6)
        self._warned = True
        raise _ContradictionError

    def _limit(self, steps: int) -> None:
        """Set how much of the budget is for the step at hand, so many steps being left."""
        left = 0 if self.budget is None else max(0, self.budget - self._asked)
        self._until = self._asked + -(-left // steps)

    def _room(self) -> int:
        return self._reward_is.n_arms if self.budget is None else max(0, self._until - self._asked)

    @property
    def _reward_is(self) -> Reward:
        if self._reward is None:
            raise RuntimeError("select comes first")
        return self._reward


def _may_stop(feasible: Any, order: IndexArray) -> bool:
    return not feasible.same_size and feasible.is_feasible(order)
