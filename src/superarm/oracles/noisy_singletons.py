"""Oracle+'s decision when answers are noisy, certified with an error probability.

The arms that decide are evaluated: the weakest arm in the set and the strongest arm outside, as in
LUCB (Kalyanakrishnan, Tewari, Auer, Stone: "PAC subset selection in stochastic multi-armed
bandits", ICML 2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import KOrSets, Pools, Reward, as_k_of_m, as_selection, top_k
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_finite,
    as_fraction,
    as_positive,
)
from superarm.core.showing import one_line
from superarm.oracles._bounds import BoundsReport
from superarm.oracles._noisy_answers import Answers, radius
from superarm.oracles._state import check_loaded, check_state

# An arm is evaluated this share of its answers of the round once more, so that steps are few.
_SHARE_PER_STEP = 1 / 5
_AT_LEAST = 3  # one answer proves next to nothing
# Of two arms in doubt, the one with the narrower bounds is evaluated, too, from this share on.
_AS_WIDE = 0.9
# The share of the evaluations of a round that go to the empty set, if that bounds the arms.
_SHARE_EMPTY = 1 / 32


class NoisySingletonsReport(BoundsReport):
    """What is known about the arms after a ``select``: the attributes are those of `BoundsReport`.

    ``evaluations`` counts answers.
    """


class NoisySingletons:
    """The k arms worth most alone, certified although every answer has noise.

    Arm i alone is worth f_i(theta_i), and f_i does not change from round to round. An answer is
    f_i(theta_i) plus noise. In each round the weakest arm in the set and the strongest arm outside
    are evaluated, until no arm outside is worth more than an arm inside by more than
    ``tolerance``. Then the set is certified. Answers of earlier rounds bound f_i at the new theta
    through ``lipschitz``, ``monotone`` and ``zero_is_absent``; ``concave`` is not used.

    **All certified sets of a run are right with probability 1 - delta**, whenever it is stopped, if
    the reward is as declared, and if the noise has mean 0 and is sub-Gaussian with ``noise_std``,
    given all that happened before. Proof: the answers of an arm are put into groups, by a rule that
    does not look at the answer. For each group one boundary holds at all sizes with probability
    1 - alpha (see ``superarm.oracles._noisy_answers``). There are two kinds of groups. The
    intervals of the mean in which the answers of all rounds are added up have half of delta, shared
    equally among arms and levels. The answers of one round have the other half: the j-th round in
    which an arm is evaluated has delta / 2 · 6 / (pi² j² n_arms). The alphas add up to delta. If no
    boundary is crossed, all bounds hold, and so does what they certify.

    The union costs evaluations: they grow with log(n_arms j² / delta), where one comparison of two
    arms in one round would need log(1 / delta).

    Time per round: O(2^n_levels · n_arms), and O(n_arms) per step. Memory: 40 · 2^n_levels bytes
    per arm. Choose among all sets of k arms only; the reward should be separable, as for
    `Singletons`.

    Parameters
    ----------
    delta
        The probability that any certified set of the run is wrong.
    noise_std
        A bound on the standard deviation of the noise of one answer (its sub-Gaussian parameter).
        The default is half of ``reward.upper``, which is right if answers are in [0, upper], and
        often far too large. Give a smaller one if you know it: evaluations grow with its square.
    tolerance
        By how much an arm outside may be worth more than an arm in a certified set. With 0, arms of
        equal value are never told apart, and use up the budget.
    budget
        The largest number of evaluations per round. When it is used up, the set is the best guess,
        and ``report.certified`` is False.
    n_levels
        How finely answers of earlier rounds are remembered, as 2^(n_levels - 1) intervals.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> noisy = sa.BlackBox(
    ...     lambda arms, means: means.sum() + rng.normal(0, 0.05), n_arms=30, lipschitz=1.0,
    ...     upper=30.0, monotone=True, zero_is_absent=True, noisy=True,
    ... )
    >>> oracle, theta = NoisySingletons(noise_std=0.05, tolerance=0.01), rng.random(30)
    >>> arms = oracle.select(noisy, theta, 3, rng=rng)
    >>> oracle.report.certified, np.array_equal(arms, np.sort(np.argsort(theta)[-3:]))
    (True, True)
    """

    report: NoisySingletonsReport | None = None

    __repr__ = one_line

    def __init__(
        self,
        delta: float = 0.05,
        *,
        noise_std: float | None = None,
        tolerance: float = 0.0,
        budget: int = 100_000,
        n_levels: int = 7,
    ) -> None:
        self.delta = as_fraction(delta, "delta")
        self.noise_std = None if noise_std is None else as_positive(noise_std, "noise_std")
        self.tolerance = float(as_finite([tolerance], "tolerance", ndim=1, least=0.0)[0])
        self.budget = as_count(budget, "budget", least=1)
        self.n_levels = as_count(n_levels, "n_levels", least=1)
        self._reward: Reward | None = None
        self._known: tuple[Answers, FloatArray] | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms worth most alone."""
        theta, _ = as_selection(reward, theta, k)
        size = as_k_of_m(k, reward.n_arms).k
        answers, rounds = self._meet(reward)
        std = reward.upper / 2 if self.noise_std is None else self.noise_std
        now = _Round(reward, answers, rounds, theta, self.delta, std)
        while True:
            arms = top_k(now.lower + now.upper, size, rng=rng)
            pair = _in_doubt(arms, now.lower, now.upper, self.tolerance)
            if not len(pair) or now.evaluations >= self.budget:
                break
            now.step(pair, self.budget)
        self.report = NoisySingletonsReport(now.lower, now.upper, now.evaluations, not len(pair))
        return arms

    def state(self) -> dict[str, Any]:
        """The answers so far as plain JSON."""
        known = self._known
        memory = None if known is None else {**known[0].state(), "rounds": known[1].tolist()}
        return {"oracle": "NoisySingletons", "n_levels": self.n_levels, "memory": memory}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, for the reward of the next ``select``."""
        check_state(state, "NoisySingletons", "memory", "n_levels")
        if state["n_levels"] != self.n_levels:
            raise ValueError(f"state must have n_levels={self.n_levels}, got {state['n_levels']}")
        memory = state["memory"]
        self.forget()
        if memory is not None:
            self._known = Answers.of(memory), np.array(memory["rounds"], np.float64)

    def forget(self) -> None:
        """Forget the reward and its answers."""
        self._reward = self._known = None

    def _meet(self, reward: Reward) -> tuple[Answers, FloatArray]:
        """The answers about this reward, and in how many rounds each arm was evaluated."""
        if self._known is None or (self._reward is not None and reward is not self._reward):
            # The last row is the empty set.
            n_rows = reward.n_arms + 1
            self._known = Answers.none(n_rows, self.n_levels), np.zeros(reward.n_arms)
        check_loaded(len(self._known[1]), reward)
        self._reward = reward
        return self._known


@dataclass(eq=False)
class _Round:
    """One round: the evaluations, and the bounds that all answers give, shape (n_arms,)."""

    reward: Reward
    answers: Answers
    rounds: FloatArray  # in how many rounds each arm was evaluated, with this one
    theta: FloatArray
    delta: float
    std: float
    evaluations: int = 0
    n_empty: int = 0
    lower: FloatArray = field(init=False)
    upper: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        n_arms = len(self.theta)
        self.lipschitz = np.broadcast_to(np.asarray(self.reward.lipschitz, np.float64), n_arms)
        self.n, self.sum_y = np.zeros(n_arms), np.zeros(n_arms)  # of the answers of this round
        self.lower, self.upper = np.zeros(n_arms), np.full(n_arms, float(self.reward.upper))
        self._update(np.arange(n_arms))
        self._use_empty()

    def step(self, pair: IndexArray, budget: int) -> None:
        """Evaluate the arms in doubt, and now and then the empty set."""
        for arm in pair.tolist():
            more = max(_AT_LEAST, int(_SHARE_PER_STEP * self.n[arm]))
            more = min(more, budget - self.evaluations)
            if more > 0:
                self._evaluate(arm, more)
        self._update(pair)
        wanted = math.ceil(_SHARE_EMPTY * self.evaluations) - self.n_empty
        more = min(wanted, budget - self.evaluations)
        if self.reward.zero_is_absent and more > 0:
            pools = Pools(np.zeros(0, np.intp), np.zeros(more + 1, np.intp), len(self.theta))
            self.answers.add(len(self.theta), 0.0, self.reward.batch(pools, self.theta))
            self.n_empty += more
            self.evaluations += more
            self._use_empty()

    def _evaluate(self, arm: int, times: int) -> None:
        pools = Pools(np.full(times, arm), np.arange(times + 1), len(self.theta))
        values = np.asarray(self.reward.batch(pools, self.theta), np.float64)
        self.rounds[arm] += self.n[arm] == 0
        self.n[arm] += times
        self.sum_y[arm] += values.sum()
        self.answers.add(arm, float(self.theta[arm]), values)
        self.evaluations += times

    def _update(self, arms: IndexArray) -> None:
        """Tighten the bounds of some arms by the answers of all rounds, and of this one."""
        lower, upper = self.answers.bounds(
            arms,
            self.theta[arms],
            lipschitz=self.lipschitz[arms],
            monotone=self.reward.monotone,
            delta=self.delta / 2,
            std=self.std,
        )
        self._tighten(arms, lower, upper)
        arms = arms[self.n[arms] > 0]
        n = self.n[arms]
        # The answers of this round are all at theta: no slope is needed, but a boundary of its own.
        alpha = self.delta / 2 * 6 / (np.pi * self.rounds[arms]) ** 2 / len(self.theta)
        middle, off = self.sum_y[arms] / n, radius(n, alpha, self.std)
        self._tighten(arms, middle - off, middle + off)

    def _use_empty(self) -> None:
        """A mean of 0 is an absent arm: B says how far the arm can be from the empty set."""
        if not (self.reward.zero_is_absent and self.answers.n[-1, 0]):
            return
        zero, empty = np.zeros(1), np.array([len(self.theta)])
        least, most = self.answers.bounds(
            empty, zero, lipschitz=zero, monotone=True, delta=self.delta / 2, std=self.std
        )
        reach = self.lipschitz * self.theta
        lower = least - (0.0 if self.reward.monotone else reach)
        self._tighten(np.arange(len(self.theta)), lower + 0 * reach, most + reach)

    def _tighten(self, arms: IndexArray, lower: FloatArray, upper: FloatArray) -> None:
        # Bounds hold at all times, so the tightest of a round hold, too.
        self.lower[arms] = np.maximum(self.lower[arms], lower)
        self.upper[arms] = np.minimum(self.upper[arms], upper)


def _in_doubt(
    arms: IndexArray, lower: FloatArray, upper: FloatArray, tolerance: float
) -> IndexArray:
    """The less known of the weakest arm in the set and the strongest one outside.

    Both if they are about equally known, and none if the set is certified.
    """
    outside = np.ones(len(lower), bool)
    outside[arms] = False
    others = np.flatnonzero(outside)
    if not len(others):
        return others
    weakest, rival = arms[lower[arms].argmin()], others[upper[others].argmax()]
    if upper[rival] - lower[weakest] <= tolerance:
        return others[:0]
    pair = np.array([weakest, rival])
    width = upper[pair] - lower[pair]
    # The arm at the border meets many rivals. It must not be evaluated again for each of them.
    return pair[width >= _AS_WIDE * width.max()]
