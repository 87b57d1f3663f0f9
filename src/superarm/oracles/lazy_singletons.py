"""Oracle+'s decision from remembered answers, with a few evaluations a round.

A long file, because what is asked rests on what was declared and what is given up when an answer contradicts it. The
memory is in `remembered`, and what stands in the way within constraints in `_rivals`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Pools, Reward, Sample, Scores, as_selection
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.optional import is_concave
from superarm.oracles._rivals import best_and_rivals, last_place
from superarm.oracles.remembered import Remembered

# Two answers to the same question may differ by this share of their size: batches and single calls round differently.
_ROUNDING = 1e-9
# What the answers showed of the reward: part of the state.
_FOUND = ("monotone", "concave", "used", "warned")


@dataclass(frozen=True, eq=False)
class LazySingletonsReport:
    """What is known of the arms after a ``select``.

    Attributes
    ----------
    lower, upper
        Shape (n_arms,): bounds on what each arm is worth alone.
    evaluations
        How many evaluations it took.
    certified
        Whether the bounds prove that the set is Oracle+'s; False only where a budget ran out.
    """

    lower: FloatArray
    upper: FloatArray
    evaluations: int
    certified: bool

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The middles of the bounds."""
        middle = (self.lower + self.upper) / 2
        meaning = "worth alone, the middle of its bounds"
        return Scores(meaning, middle, lower=self.lower, upper=self.upper)


class LazySingletons:
    """The set that `Singletons` would pick, certified by bounds from remembered answers.

    Arm i alone is worth f_i(theta_i), and f_i does not change from round to round: answers already given bound it at
    the new theta (`Remembered`). The set is certified as soon as the worst lower bound in it is above the best upper
    bound outside, or both are known to be equal; until then the arms that stand in the way are evaluated. Among arms of
    exactly equal value at the k-th place chance may pick others than in `Singletons`.

    Uses what the reward declares: ``lipschitz``, for each arm if it can; ``monotone``; ``zero_is_absent``, which makes
    (0, r(empty)) a free point of every arm (without it every arm must be asked about once); and ``concave``, if it has
    that attribute: each arm's value alone is concave in its mean. If two answers contradict the declared B, one of the
    questions is asked again. The same answer means that B is too small: it is raised, with a warning. Another answer
    means a noisy or changing reward, which is an error. ``monotone`` and ``concave`` are given up, with a warning, when
    an answer contradicts them.

    Within `FeasibleSets` it picks what `Singletons` picks there. The set that is best by the middles of the bounds is
    certified when it is best even with its own arms at their lower bounds and all others at their upper ones; until
    then the arms that make the difference are evaluated, the least known first (as in CLUCB: Chen, Lin, King, Lyu, Chen
    2014). Arms that are decided without are never asked about.

    A round costs O(n_points · n_arms) time for the bounds and O(n_arms) for every batch of evaluations, whose number
    grows with the logarithm of the evaluations. Memory: 16 · n_points + 8 bytes an arm, 264 by default; it is only a
    cache: without it the answers are the same, but for chance among equals, and cost more. ``state`` and ``load`` save
    it, since answers may be dear.

    Parameters
    ----------
    n_points
        How many answers are remembered of each arm.
    batch
        How many arms are asked about together at least, if so many are in question: give it the number of workers of
        an executor. More evaluations, fewer batches.
    budget
        At most so many evaluations in a round; None for as many as it takes.

    Examples
    --------
    >>> import superarm as sa
    >>> reward, rng = sa.Counted(sa.LinearReward(1000)), np.random.default_rng(0)
    >>> lazy, plain = LazySingletons(), sa.Singletons()
    >>> for _ in range(200):
    ...     theta = rng.random(1000)
    ...     arms = lazy.select(reward, theta, 5, rng=rng)
    ...     assert np.array_equal(arms, plain.select(reward.uncounted, theta, 5, rng=rng))
    >>> reward.evaluations < 1000  # for 200 rounds; Oracle+ makes 1,000 in each
    True
    """

    def __init__(self, *, n_points: int = 16, batch: int = 1, budget: int | None = None) -> None:
        self.n_points = as_count(n_points, "n_points", least=4)
        self.batch = as_count(batch, "batch", least=1)
        self.budget = None if budget is None else as_count(budget, "budget", least=1)
        self.report: LazySingletonsReport | None = None
        self._reward: Reward | None = None
        self._memory: Remembered | None = None
        self._empty: float | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The k arms worth most alone."""
        theta, feasible = as_selection(reward, theta, k)
        if reward is not self._reward:
            self._meet(reward)
        self._asked = 0
        self._begin(theta, feasible)
        lower, upper = self._bounds(theta)
        moved = np.zeros(len(theta), bool)
        while True:
            bounds = (lower - self._base, upper - self._base) if self._base else (lower, upper)
            arms, contested, n_necessary = best_and_rivals(feasible, *bounds, rng=rng)
            if not len(contested) or not self._left():
                break
            size = min(max(self.batch, self._asked // 8, n_necessary), self._left())
            chosen = contested[:size]
            x = np.where(
                moved[chosen],
                theta[chosen],
                self._places(chosen, theta[chosen], lower, upper, feasible, arms),
            )
            moved[chosen] = True
            if self._ask(chosen, x):
                lower, upper = self._bounds(theta)
            else:
                lower[chosen], upper[chosen] = self._bounds(theta[chosen], chosen)
        self.report = LazySingletonsReport(lower, upper, self._asked, not len(contested))
        return arms

    def state(self) -> dict[str, Any]:
        """The remembered answers, and what they showed of the reward, as plain JSON."""
        state: dict[str, Any] = {
            "oracle": "LazySingletons",
            "n_points": self.n_points,
            "memory": None,
        }
        if self._memory is not None:
            state["memory"] = {**self._memory.state(), "lipschitz": self._lipschitz.tolist()}
            state.update({name: getattr(self, f"_{name}") for name in _FOUND})
            state["empty"] = self._empty
        return state

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described, for the reward that it is next asked about."""
        if (
            not isinstance(state, dict)
            or state.get("oracle") != "LazySingletons"
            or "memory" not in state
        ):
            raise ValueError(f"state must be that of a LazySingletons, got {state!r:.60}")
        if state["memory"] is None:
            self.forget()
            return
        if state.get("n_points") != self.n_points or any(name not in state for name in _FOUND):
            raise ValueError(
                f"state must have n_points={self.n_points} and {', '.join(_FOUND)}, "
                f"got n_points={state.get('n_points')} and {sorted(state)}"
            )
        memory = Remembered.of(state["memory"], self.n_points)
        lipschitz = as_finite(
            state["memory"].get("lipschitz", []), "state's lipschitz", ndim=1, least=0.0
        )
        if lipschitz.shape != memory.n.shape:
            raise ValueError(
                f"state must have a lipschitz for each of {len(memory.n)} arms, got {len(lipschitz)}"
            )
        self._reward, self._memory, self._lipschitz = None, memory, lipschitz
        self._monotone, self._concave, self._warned = (
            bool(state[name]) for name in ("monotone", "concave", "warned")
        )
        self._used = float(state["used"])
        self._empty = None if state.get("empty") is None else float(state["empty"])

    def forget(self) -> None:
        """Begin anew."""
        self._reward = self._memory = None

    def _meet(self, reward: Reward) -> None:
        """Begin anew for another reward; a loaded state takes any."""
        if self._reward is None and self._memory is not None:
            if len(self._memory.n) != reward.n_arms:
                raise ValueError(
                    f"the loaded state is of {len(self._memory.n)} arms, got a reward of {reward.n_arms}"
                )
            self._reward = reward
            return
        self._reward = reward
        self._memory = Remembered(reward.n_arms, self.n_points)
        self._lipschitz = np.array(np.broadcast_to(reward.lipschitz, reward.n_arms), np.float64)
        self._monotone = reward.monotone
        self._concave = is_concave(reward)
        self._used = 1.0  # how much of the declared B the answers make use of, on average
        self._warned = False
        self._empty = None

    def _begin(self, theta: FloatArray, feasible: FeasibleSets) -> None:
        """A first point for every arm: free where a mean of zero is an absent arm, and an evaluation each otherwise.

        Where sets differ in size, what the empty set is worth is needed besides.
        """
        unknown = np.flatnonzero(self._memory_is.n == 0)
        compared = not feasible.same_size
        if (
            self._empty is None
            and self._left()
            and (compared or (len(unknown) and self._reward_is.zero_is_absent))
        ):
            self._asked += 1
            self._empty = self._reward_is([], [])
        self._base = self._empty if compared and self._empty is not None else 0.0
        if len(unknown):
            unknown = unknown[feasible.undecided[unknown]]
        if len(unknown) and self._reward_is.zero_is_absent and self._empty is not None:
            self._memory_is.add_for_all(0.0, self._empty)
        elif len(unknown):
            likely = unknown[np.argsort(-theta[unknown], kind="stable")[: self._left()]]
            self._ask(likely, theta[likely])

    def _bounds(
        self, theta: FloatArray, arms: IndexArray | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._memory_is.bounds(
            theta, self._lipschitz[arms], monotone=self._monotone, concave=self._concave, arms=arms
        )
        # Where nothing is known, which only a budget leaves: assumption 4.
        known = np.isfinite(lower)
        return np.where(known, lower, 0.0), np.where(known, upper, self._reward_is.upper)

    def _places(
        self,
        arms: IndexArray,
        theta: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        feasible: FeasibleSets,
        set_: IndexArray,
    ) -> FloatArray:
        """Where to ask: at theta; but while an arm is new and B is plainly too large, at a point that serves longer.

        Judged by the slopes so far, an arm that will be left out can be asked about at a higher mean, and one that
        will be in at a lower one, and the answer settles all rounds in between.
        """
        fresh = self._memory_is.n[arms] <= 2
        if self._used > 0.5 or not fresh.any():
            return theta
        n, at = self._memory_is.n[arms], np.arange(len(arms))
        xs, fs = self._memory_is.x[:, arms], self._memory_is.f[:, arms]
        right = (xs <= theta).sum(axis=0)
        has_left = right > 0
        left = np.maximum(right - 1, 0)
        slope = np.maximum(self._used * self._lipschitz[arms], 1e-300)
        guess = fs[left, at] + slope * (theta - xs[left, at])
        low, high = last_place(feasible, lower, upper, set_)
        wanted = theta + 0.95 * (np.clip(guess, low, high) - guess) / slope
        ceiling = np.where(right < n, xs[np.minimum(right, len(xs) - 1), at], 1.0)
        x = np.clip(wanted, xs[left, at], np.minimum(ceiling, 1.0))
        return np.where(fresh & has_left, x, theta)

    def _ask(self, arms: IndexArray, x: FloatArray) -> bool:
        """Evaluate arms alone at the means ``x``, and remember. Whether a declaration turned out to be wrong."""
        means = np.zeros(self._reward_is.n_arms)
        means[arms] = x
        values = self._reward_is.batch(Pools.singletons(arms, len(means)), means)
        self._asked += len(arms)
        changed = self._concave and self._bent(arms, x, values)
        for arm, mean, value in zip(arms.tolist(), x.tolist(), values.tolist(), strict=True):
            for neighbour in self._memory_is.neighbours(arm, mean):
                changed |= self._compare(arm, (mean, value), neighbour)
            self._memory_is.add(arm, mean, value)
        return changed

    def _bent(self, arms: IndexArray, x: FloatArray, values: FloatArray) -> bool:
        """Whether an answer is on the wrong side of a chord, so that an arm is not concave after all."""
        slack = _ROUNDING * np.maximum(1.0, np.abs(values))
        lipschitz, monotone = self._lipschitz[arms], self._monotone
        lower, upper = self._memory_is.bounds(
            x, lipschitz, monotone=monotone, concave=True, arms=arms
        )
        wide_lower, wide_upper = self._memory_is.bounds(
            x, lipschitz, monotone=monotone, concave=False, arms=arms
        )
        off = (values < lower - slack) | (values > upper + slack)
        off &= (values >= wide_lower - slack) & (values <= wide_upper + slack)
        if off.any():
            arm = int(arms[np.argmax(off)])
            self._concave = False
            self._warn(
                f"the reward declares concave, but arm {arm} alone is worth {values[np.argmax(off)]!r} "
                f"at {x[np.argmax(off)]!r}, which is beyond a chord of its other values"
            )
        return bool(off.any())

    def _compare(self, arm: int, new: tuple[float, float], old: tuple[float, float]) -> bool:
        """Whether two answers contradict what the reward declares, which is then corrected."""
        (x, f), (x0, f0) = new, old
        rise, reach = f - f0, self._lipschitz[arm] * abs(x - x0)
        slack = _ROUNDING * max(1.0, abs(f), abs(f0))
        if reach > slack:
            self._used += 0.05 * (min(1.0, abs(rise) / reach) - self._used)
        too_steep = abs(rise) > reach + slack
        falling = self._monotone and rise * (x - x0) < 0 and abs(rise) > slack
        if not (too_steep or falling):
            return False
        again = f0
        if self._left():
            self._asked += 1
            again = self._reward_is([arm], [x0])
        if abs(again - f0) > slack:
            raise ValueError(
                f"the reward answered {f0!r} and then {again!r} for arm {arm} alone with mean {x0!r}: it is noisy or "
                f"changing (or declares zero_is_absent wrongly), so remembered answers prove nothing; use Singletons"
            )
        what = f"arm {arm} alone is worth {f0!r} at {x0!r} and {f!r} at {x!r}"
        if too_steep:
            factor = abs(rise) / reach if reach > 0 else 2.0
            self._lipschitz *= max(factor, 1.0) * (1 + 1e-9)
            self._warn(
                f"the declared lipschitz is too small, by a factor of {factor:.3g} at least: {what}"
            )
        if falling:
            self._monotone = False
            self._warn(f"the reward declares monotone, but {what}")
        return True

    def _warn(self, message: str) -> None:
        if not self._warned:
            warnings.warn(f"{message}. LazySingletons goes on with a corrected value", stacklevel=6)
        self._warned = True

    def _left(self) -> int:
        return self._reward_is.n_arms if self.budget is None else max(0, self.budget - self._asked)

    @property
    def _memory_is(self) -> Remembered:
        if self._memory is None:
            raise RuntimeError("select comes first")
        return self._memory

    @property
    def _reward_is(self) -> Reward:
        if self._reward is None:
            raise RuntimeError("select comes first")
        return self._reward
