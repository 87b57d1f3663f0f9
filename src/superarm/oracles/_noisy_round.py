"""One round of `NoisySingletons`: which arms are evaluated, and what their answers prove."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray, as_values
from superarm.core.declarations import is_concave
from superarm.oracles._noise import N_WARM_UP, Noise
from superarm.oracles._noise_checks import warn_of_few_values
from superarm.oracles._noisy_answers import Answers
from superarm.oracles._noisy_guess import halve

# An arm is evaluated this share of its answers of the round once more, so that steps are few.
_SHARE_PER_STEP = 1 / 5
_AT_LEAST = 3  # one answer proves next to nothing
# Of two arms in doubt, the one with the narrower bounds is evaluated, too, from this share on.
_AS_WIDE = 0.9
# The share of the answers of a round that go to the empty set, if that bounds the arms.
_SHARE_EMPTY = 1 / 32


@dataclass(eq=False)
class NoisyRound:
    """One round: how many answers it took, and the bounds of all answers, shape (n_arms,)."""

    reward: Reward
    answers: Answers
    rounds: FloatArray  # in how many rounds each arm was evaluated, with this one
    theta: FloatArray
    delta: float
    noise: Noise
    k: int  # how many of the arms below are picked
    is_open: NDArray[np.bool_]  # the arms whose membership the constraints do not decide
    n_rounds: int | None  # with this one; None without bounds of differences
    n_answers: int = 0
    n_empty: int = 0
    lower: FloatArray = field(init=False)
    upper: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        n_arms = len(self.theta)
        self.lipschitz = np.broadcast_to(np.asarray(self.reward.lipschitz, np.float64), n_arms)
        # Of the answers of this round.
        self.n, self.sum_y, self.v = (np.zeros(n_arms) for _ in range(3))
        self.lower, self.upper = np.zeros(n_arms), np.full(n_arms, float(self.reward.upper))
        # The share of the single arms of this round. Bounds of differences take half of it.
        self.share = self.delta / (2 if self.n_rounds is None else 4)
        self.at_zero = 0.0  # at most the value of an arm of mean 0
        self._use_empty()
        self._update(np.arange(n_arms))

    def step(self, pair: IndexArray, n_most: int) -> None:
        """Evaluate the arms in doubt, and now and then the empty set; n_most answers in all."""
        if self.noise.is_cold:
            self._warm_up(pair, min(N_WARM_UP, n_most))
            return
        for arm in pair.tolist():
            more = max(self._n_least(arm), int(_SHARE_PER_STEP * self.n[arm]))
            more = min(more, n_most - self.n_answers)
            if more > 0:
                self._evaluate(arm, more)
        self._update(pair)
        wanted = math.ceil(_SHARE_EMPTY * self.n_answers) - self.n_empty
        more = min(wanted, n_most - self.n_answers)
        if self.reward.zero_is_absent and more > 0:
            pools = Pools(np.zeros(0, np.intp), np.zeros(more + 1, np.intp), len(self.theta))
            values = as_values(self.reward.batch(pools, self.theta), pools)
            self.answers.add(len(self.theta), 0.0, values, self.noise)
            self.n_empty += more
            self.n_answers += more
            self._use_empty()

    def n_free(self, n_most: int) -> int:
        """How many of n_most answers need not be kept for a guess.

        A guess needs one answer about each arm that may be in the set, and of which no answer near
        theta is known; at most half of all answers.
        """
        half = n_most - n_most // 2
        if self.n_answers < half:
            return half  # that many are free in any case
        n_wanted = int((np.isnan(self.estimates()) & self._may_be_in()).sum())
        return n_most - min(n_wanted, n_most // 2)

    def room(self, n_most: int) -> float:
        """How often n_most answers give every arm that may be in the set the least it needs."""
        missing = self._missing().sum()
        return n_most / (missing + N_WARM_UP * self.noise.is_cold) if missing else math.inf

    def begin_evenly(self, n_most: int) -> None:
        """Evaluate every arm that may be in the set as often as its bounds need at least."""
        missing = self._missing()
        if self.noise.is_cold:
            order = np.argsort(-self.theta, kind="stable")
            self._warm_up(order[self.is_open[order]], min(N_WARM_UP, n_most))
        for arm in missing.nonzero()[0].tolist():
            self._evaluate(arm, int(missing[arm]))
        self._update(missing.nonzero()[0])

    def halve(self, n_most: int) -> FloatArray:
        """What each arm seems to be worth, if all answers go to a guess."""
        seen: dict[int, list[float]] = {}
        is_cold = self.noise.is_cold

        def evaluate(arm: int, times: int) -> None:
            # Bounds need a guess of the variance from before their first answer. Without one, the
            # answers are for this guess only, and for the variance in later rounds.
            values = self._ask(arm, times) if is_cold else self._evaluate(arm, times)
            seen.setdefault(arm, []).extend(values.tolist())

        def looks() -> FloatArray:
            found = self.estimates()
            for arm, values in seen.items():
                found[arm] = np.mean(values)
            return np.where(np.isnan(found), self.lower, found)

        order = np.lexsort((-self.theta, -self.upper))
        rivals = order[self._may_be_in()[order]]
        halve(evaluate, looks, rivals, self.k, n_most - self.n_answers)
        found = looks()
        if not is_cold:
            self._update(np.array(sorted(seen), np.intp))
        elif seen and len(most := np.array(max(seen.values(), key=len))) >= _AT_LEAST:
            warn_of_few_values(self.reward, most)
            self.noise.warm_up(most, float(self.reward.upper))
        return found

    def guess(self, n_most: int) -> FloatArray:
        """What each arm seems to be worth. Takes the answers that are left, for unknown arms."""
        unknown = np.flatnonzero(np.isnan(self.estimates()) & self.is_open)
        # The most promising first, and those with the largest theta among them.
        order = np.lexsort((-self.theta[unknown], -self.upper[unknown]))
        looked = unknown[order][: max(0, n_most - self.n_answers)]
        for arm in looked.tolist():
            self._evaluate(arm, 1)
        self._update(looked)
        found = self.estimates()
        return np.where(np.isnan(found), self.lower, found)

    def estimates(self) -> FloatArray:
        """The average answers about each arm near its theta, within its bounds; NaN without any."""
        near = self.answers.near(self.theta)
        found = np.where(self.n > 0, self.sum_y / np.maximum(self.n, 1), near)
        return np.clip(found, self.lower, self.upper)

    def in_doubt(self, arms: IndexArray, tolerance: float) -> IndexArray:
        """The less known of an arm in the set and of its strongest rival outside.

        Both if they are about equally known, and none if the set is certified.
        """
        inside, others, excess = self._excess(arms, tolerance)
        if not excess.size or excess.max() <= tolerance:
            return others[:0]
        i, j = np.unravel_index(excess.argmax(), excess.shape)
        pair = np.array([inside[i], others[j]])
        width = self.upper[pair] - self.lower[pair]
        # The arm at the border meets many rivals. It must not be evaluated again for each of them.
        return pair[width >= _AS_WIDE * width.max()]

    def undecided(self, tolerance: float) -> str:
        """How many arms may still be in the set, or out of it, as words."""
        # The k arms that look best, without a draw among equal ones.
        looks = np.argsort(self.lower + self.upper, kind="stable")
        looks = looks[self.is_open[looks]]
        _, _, excess = self._excess(np.sort(looks[len(looks) - self.k :]), tolerance)
        doubts = excess > tolerance
        n = int(doubts.any(axis=0).sum() + doubts.any(axis=1).sum())
        return f"{n:,} of {len(looks):,} arms" if n else ""

    def _excess(
        self, arms: IndexArray, tolerance: float
    ) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Some arms in the set, some outside, and how much more the latter may be worth.

        The excess has shape (arms in the set, arms outside). No other pair is in doubt.
        """
        outside = self.is_open.copy()
        outside[arms] = False
        others = np.flatnonzero(outside)
        if not len(arms) or not len(others):
            return arms, others, np.zeros((len(arms), len(others)))
        weakest, rival = self.lower[arms].min(), self.upper[others].max()
        arms = arms[rival - self.lower[arms] > tolerance]
        others = others[self.upper[others] - weakest > tolerance]
        excess = self.upper[others] - self.lower[arms][:, None]
        if self.n_rounds is not None:
            excess = np.minimum(excess, self._differences(arms, others, self.n_rounds))
        return arms, others, excess

    def _differences(self, arms: IndexArray, others: IndexArray, n_rounds: int) -> FloatArray:
        """How much more arms outside may be worth, by the answers of this round about both arms."""
        k, both = len(arms), np.concatenate([arms, others])
        has = self.n[both] > 0
        n, v = self.n[both[has]], self.v[both[has]]
        n_pairs = self.k * (int(self.is_open.sum()) - self.k)
        alpha = self.delta / 4 * 6 / (np.pi * n_rounds) ** 2 / n_pairs
        middle = np.zeros(len(both))
        middle[has] = self.sum_y[both[has]] / n
        # Nothing is known about a pair with an arm that has no answer in this round.
        s, logs = np.full(len(both), np.inf), np.ones(len(both))
        reach = np.abs(middle[has]) + float(self.reward.upper)
        s[has], logs[has] = self.noise.parts(n, v, alpha, reach)
        off = np.sqrt((s[:k, None] + s[k:]) * (logs[:k, None] + logs[k:]))
        return middle[k:] - middle[:k, None] + off

    def _n_least(self, arm: int) -> int:
        """Fewer answers would prove nothing. All answers about an arm are in its first interval."""
        alpha = self.share * 6 / np.pi**2 / len(self.theta)
        return max(_AT_LEAST, self.noise.n_first(alpha) - int(self.answers.n[arm, 0]))

    def _warm_up(self, pair: IndexArray, times: int) -> None:
        """The first answers of a run only say how large the noise is, about."""
        values = self._ask(int(pair[0]), times)
        if times > 1:
            warn_of_few_values(self.reward, values)
            self.noise.warm_up(values, float(self.reward.upper))

    def _ask(self, arm: int, times: int) -> FloatArray:
        pools = Pools(np.full(times, arm), np.arange(times + 1), len(self.theta))
        self.n_answers += times
        # A NaN among the answers that are added up would spoil all later rounds.
        return as_values(self.reward.batch(pools, self.theta), pools)

    def _evaluate(self, arm: int, times: int) -> FloatArray:
        values = self._ask(arm, times)
        self.rounds[arm] += self.n[arm] == 0
        one = slice(arm, arm + 1)
        self.v[one] = self.noise.grown(self.v[one], self.n[one], self.sum_y[one], values)
        self.n[arm] += times
        self.sum_y[arm] += values.sum()
        self.answers.add(arm, float(self.theta[arm]), values, self.noise)
        return values

    def _missing(self) -> FloatArray:
        """How many answers about each arm are missing before its bounds can say anything."""
        alpha = self.share * 6 / np.pi**2 / len(self.theta)
        n_least = self.noise.n_least(alpha, float(self.reward.upper))
        if n_least == 1:
            return np.zeros(len(self.theta))
        return np.maximum(0, n_least - self.answers.n[:-1, 0]) * self._may_be_in()

    def _may_be_in(self) -> NDArray[np.bool_]:
        """The arms that may be in the set by their bounds, shape (n_arms,)."""
        if not self.k:
            return np.zeros(len(self.theta), bool)
        kth = np.partition(self.lower[self.is_open], -self.k)[-self.k]
        return self.is_open & (self.upper >= kth)

    def _update(self, arms: IndexArray) -> None:
        """Tighten the bounds of some arms by the answers of all rounds, and of this one."""
        lower, upper = self.answers.bounds(
            arms,
            self.theta[arms],
            lipschitz=self.lipschitz[arms],
            monotone=self.reward.monotone,
            delta=self.delta / 2,
            noise=self.noise,
            upper=float(self.reward.upper),
            concave=is_concave(self.reward),
            at_zero=self.at_zero,
        )
        self._tighten(arms, lower, upper)
        arms = arms[self.n[arms] > 0]
        n = self.n[arms]
        # The answers of this round are all at theta: no slope is needed, but a boundary of its own.
        alpha = self.share * 6 / (np.pi * self.rounds[arms]) ** 2 / len(self.theta)
        middle = self.sum_y[arms] / n
        reach = np.abs(middle) + float(self.reward.upper)
        off = self.noise.off(n, self.v[arms], alpha, reach, 0.0)
        self._tighten(arms, middle - off, middle + off)

    def _use_empty(self) -> None:
        """A mean of 0 is an absent arm: B says how far the arm can be from the empty set."""
        if not (self.reward.zero_is_absent and self.answers.n[-1, 0]):
            return
        zero, empty = np.zeros(1), np.array([len(self.theta)])
        least, most = self.answers.bounds(
            empty,
            zero,
            lipschitz=zero,
            monotone=True,
            delta=self.delta / 2,
            noise=self.noise,
            upper=float(self.reward.upper),
        )
        self.at_zero = max(self.at_zero, float(least[0]))
        reach = self.lipschitz * self.theta
        lower = least - (0.0 if self.reward.monotone else reach)
        self._tighten(np.arange(len(self.theta)), lower + 0 * reach, most + reach)

    def _tighten(self, arms: IndexArray, lower: FloatArray, upper: FloatArray) -> None:
        # Bounds hold at all times, so the tightest of a round hold, too.
        self.lower[arms] = np.maximum(self.lower[arms], lower)
        self.upper[arms] = np.minimum(self.upper[arms], upper)
