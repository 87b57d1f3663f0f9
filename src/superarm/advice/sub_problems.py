"""A recommended oracle against all sets, on random sub-problems that are small enough for that."""

from __future__ import annotations

import contextlib
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from superarm.advice.asking import Probe, batch, probe
from superarm.advice.evaluator import Evaluator
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.sub_results import SubProblems
from superarm.core import Oracle, Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles import Greedy, LocalSearch, Singletons

_MOST_SETS = 128  # of at most k arms, in one sub-problem
_MOST_K = 5  # larger sets would leave too few of them
_ALONE = "Singletons"
# None of them remembers answers, which would be at other means.
_CHECKED: dict[str, Oracle] = {
    _ALONE: Singletons(),
    "Greedy": Greedy(),
    "LocalSearch": LocalSearch(Singletons()),
}
# These oracles pick the same sets. TopK's are those of Singletons if the reward is additive.
_SAME = {"LazySingletons": _ALONE, "LazyGreedy": "Greedy", "TopK": _ALONE}


def size(n_arms: int, k: int) -> tuple[int, int, int]:
    """Arms and arms per set of a sub-problem, and how many evaluations it takes at most.

    Examples
    --------
    >>> size(1000, 3), size(1000, 50), size(6, 3)
    ((8, 3, 93), (7, 5, 120), (6, 3, 42))
    """
    few = min(k, _MOST_K)
    n = min(n_arms, few + 1)
    while n < n_arms and _n_sets(n + 1, few) <= _MOST_SETS:
        n += 1
    return n, few, _n_sets(n, few)


def _n_sets(n_arms: int, k: int) -> int:
    return sum(math.comb(n_arms, size) for size in range(k + 1))


class UnansweredError(Exception):
    """The reward failed for a set of a sub-problem."""


class SubProblem:
    """A reward with a few of its arms, at one theta; every set is evaluated once."""

    monotone = zero_is_absent = additive = False

    def __init__(
        self, reward: Reward, arms: IndexArray, theta: FloatArray, evaluate: Evaluator
    ) -> None:
        self.n_arms, self.upper = len(arms), reward.upper
        self.lipschitz = np.broadcast_to(np.asarray(reward.lipschitz), reward.n_arms)[arms]
        self.arms, self.theta = arms, theta
        self._evaluate, self._known = evaluate, dict[tuple[int, ...], float]()

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set. The means are those of the sub-problem."""
        return float(self.batch(Pools.of([np.asarray(arms, np.intp)], self.n_arms), [])[0])

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, each evaluated once."""
        keys = [tuple(sorted(arms.tolist())) for arms in pools]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            sets = [self.arms[np.array(key, np.intp)] for key in new]
            (values,) = self._evaluate.answer([batch(sets, self.theta, split=True)])
            if np.isnan(values).any():
                raise UnansweredError
            self._known.update(zip(new, values.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])


class SubChecks:
    """Random sub-problems, and what the sets of several oracles are worth in them.

    Attributes
    ----------
    ratios
        By oracle: the value of its set divided by the value of the best set, per sub-problem.
    better
        The sub-problem in which the arms worth most alone lose most against another set; None
        without a sub-problem.
    """

    def __init__(self, reward: Reward, evaluate: Evaluator, draw: RandomInputs) -> None:
        self.ratios: dict[str, list[float]] = {name: [] for name in _CHECKED}
        self.better: Probe | None = None
        self._reward, self._evaluate, self._draw = reward, evaluate, draw
        self.n_arms, self.k, self.evaluations = size(draw.n_arms, draw.k)
        self.whole_k = draw.k

    def run(self, n: int) -> None:
        """Check n sub-problems more."""
        for _ in range(n):
            draw = self._draw
            arms = np.sort(draw.arms(self.n_arms))
            theta = np.zeros(draw.n_arms)
            top = draw.rng.random() < 0.5
            theta[arms] = draw.top_means(len(arms)) if top else draw.inner_means(len(arms))
            with contextlib.suppress(UnansweredError):
                self._compare(SubProblem(self._reward, arms, theta, self._evaluate))

    def _compare(self, small: SubProblem) -> None:
        theta = small.theta[small.arms]
        sets = [
            np.array(one, np.intp)
            for of in range(self.k + 1)
            for one in itertools.combinations(range(self.n_arms), of)
        ]
        # All of them, so that the cost is known before.
        values = small.batch(Pools.of(sets, self.n_arms), theta)
        full = len(sets) - math.comb(self.n_arms, self.k)
        best = full + int(np.argmax(values[full:]))
        for name, ratios in self.ratios.items():
            picked = _CHECKED[name].select(small, theta, self.k, rng=self._draw.rng)
            pair = [small(picked, theta[picked]), float(values[best])]
            lost = pair[1] - pair[0]
            ratios.append(1 - lost / max(abs(pair[1]), np.finfo(float).tiny))
            if name == _ALONE and (self.better is None or lost > self.better.excess):
                both = [small.arms[picked], small.arms[sets[best]]]
                what = (
                    f"of {self.n_arms} arms, another set of {self.k} is better than the "
                    f"{self.k} that are worth most alone"
                )
                self.better = probe(both, [small.theta[one] for one in both], pair, lost, what)

    def of(self, oracle: str) -> SubProblems | None:
        """What the checks say about an oracle; None without a sub-problem."""
        ratios = self.ratios.get(_SAME.get(oracle, oracle), [])
        if not ratios:
            return None
        others = {name: float(np.mean(of)) for name, of in self.ratios.items()}
        mean, worst = float(np.mean(ratios)), min(ratios)
        return SubProblems(oracle, len(ratios), self.n_arms, self.k, mean, worst, others)
