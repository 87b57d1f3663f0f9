"""Epsilon-greedy: a random set now and then, whatever is believed.

The oldest way to explore. The schedule is that of Auer, Cesa-Bianchi, Fischer: "Finite-time
analysis of the multiarmed bandit problem", Machine Learning 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Oracle, Reward, as_selection
from superarm.core.arguments import IndexArray, as_count, as_fraction, as_positive
from superarm.core.optional import Adopts, check_sets
from superarm.core.replays import must_replay
from superarm.core.showing import one_line
from superarm.oracles._state import check_state, forget_inner, inner_state, load_inner
from superarm.oracles.random_sets import RandomSets


def decaying(c: float) -> Callable[[int], float]:
    """epsilon = min(1, c / t) in round t = 1, 2, ...: about c ln T random sets in T rounds.

    Examples
    --------
    >>> epsilon = decaying(5.0)
    >>> [epsilon(t) for t in (1, 5, 10, 100)]
    [1.0, 1.0, 0.5, 0.05]
    """
    c = as_positive(c, "c")

    def epsilon(t: int) -> float:
        return min(1.0, c / t)

    return epsilon


class EpsilonRandom:
    """A random set with probability epsilon, and another oracle's set otherwise.

    With `MeanBelief` this is epsilon-greedy. Random sets are those of `RandomSets` and cost no
    evaluation. One draw per round decides between the two, and none if epsilon is 0 or 1. If
    epsilon has a schedule, the round decides, so ``state`` and ``load`` save it.

    Parameters
    ----------
    oracle
        The oracle of the other rounds.
    epsilon
        A number in [0, 1], or ``epsilon(t)`` for round t = 1, 2, ...: see `decaying`.

    Examples
    --------
    >>> import numpy as np
    >>> import superarm as sa
    >>> belief, oracle = sa.beliefs.MeanBelief(50), EpsilonRandom(sa.Singletons(), 0.25)
    >>> policy, rng = sa.Policy(belief, oracle, sa.LinearReward(50), k=3), np.random.default_rng(0)
    >>> for _ in range(100):
    ...     arms = policy.ask(rng=rng)
    >>> policy.evaluations // 50  # rounds in which the other oracle ran
    79
    """

    __repr__ = one_line

    def __init__(self, oracle: Oracle, epsilon: float | Callable[[int], float] = 0.1) -> None:
        self.oracle = oracle
        self.epsilon = (
            epsilon if callable(epsilon) else as_fraction(epsilon, "epsilon", low="[", high="]")
        )
        self._round = 0
        # That of the oracle. None from a random set until the oracle reports again: the set that a
        # `Scheduled` oracle repeats in between has no report of its own.
        self.report: Any = None

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """A random set, or the oracle's."""
        t = self._round + 1
        epsilon = self.epsilon
        if callable(epsilon):
            epsilon = as_fraction(epsilon(t), f"epsilon({t})", low="[", high="]")
        theta, feasible = as_selection(reward, theta, k)
        asked = epsilon == 0 or (epsilon < 1 and rng.random() >= epsilon)
        picks: Oracle = self.oracle if asked else RandomSets()
        before = self.oracle.report
        arms = picks.select(reward, theta, feasible, rng=rng)
        self._round = t  # only now: a round that failed does not count
        if not asked:
            self.report = None
        elif self.oracle.report is not before:
            self.report = self.oracle.report
        return arms

    def adopt(self, arms: IndexArray, k: KOrSets, n_arms: int) -> None:
        """Go on as if ``select`` had returned these arms: count the round."""
        self._round += 1

    @property
    def must_replay(self) -> bool:
        """Whether the other oracle has a memory: the arms do not tell which rounds were random."""
        return isinstance(self.oracle, Adopts) or must_replay(self.oracle)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse what the other oracle refuses."""
        check_sets(self.oracle, feasible)

    def state(self) -> dict[str, Any]:
        """The round, and the state of the oracle if it has one, as plain JSON."""
        asked = inner_state(self.oracle)
        return {"oracle": "EpsilonRandom", "round": self._round, "asked": asked}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "EpsilonRandom")
        t = as_count(state.get("round"), "state['round']")
        load_inner(self.oracle, state.get("asked"))
        self._round = t

    def forget(self) -> None:
        """Let the oracle forget its reward; the rounds go on."""
        forget_inner(self.oracle)
