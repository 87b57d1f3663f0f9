"""Epsilon-greedy: now and then a set at random, whatever is believed.

The oldest way to explore; the schedule is that of Auer, Cesa-Bianchi, Fischer: "Finite-time analysis of the multiarmed
bandit problem", Machine Learning 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Oracle, Reward, as_selection
from superarm.core.arguments import IndexArray, as_count, as_fraction, as_positive
from superarm.core.optional import Forgetful, Stateful
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
    """With probability epsilon a random set, and another oracle's otherwise. With `MeanBelief` that is epsilon-greedy.

    A random set is that of `RandomSets` and costs no evaluation. Draws one number a round to choose, none where epsilon
    is 0 or 1. The round decides where epsilon has a schedule, so it is saved with ``state`` and ``load``.

    Parameters
    ----------
    oracle
        Which oracle is asked otherwise.
    epsilon
        A number in [0, 1], or ``epsilon(t)`` for round t = 1, 2, ...: see `decaying`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.Policy(sa.beliefs.MeanBelief(50), EpsilonRandom(sa.Singletons(), 0.25), sa.LinearReward(50), k=3)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(100):
    ...     arms = policy.ask(rng=rng)
    >>> policy.evaluations // 50  # rounds in which the oracle was asked
    79
    """

    def __init__(self, oracle: Oracle, epsilon: float | Callable[[int], float] = 0.1) -> None:
        self.oracle = oracle
        self.epsilon = (
            epsilon if callable(epsilon) else as_fraction(epsilon, "epsilon", low="[", high="]")
        )
        self._round = 0
        self._asked = False

    @property
    def report(self) -> Any:
        """That of the oracle; None where the last set was a random one."""
        return self.oracle.report if self._asked else None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """A random set, or the oracle's."""
        t = self._round + 1
        epsilon = self.epsilon
        if callable(epsilon):
            epsilon = as_fraction(epsilon(t), f"epsilon({t})", low="[", high="]")
        theta, feasible = as_selection(reward, theta, k)
        asked = epsilon == 0 or (epsilon < 1 and rng.random() >= epsilon)
        picks: Oracle = self.oracle if asked else RandomSets()
        arms = picks.select(reward, theta, feasible, rng=rng)
        self._round, self._asked = t, asked  # only now: a request that failed was no round
        return arms

    def state(self) -> dict[str, Any]:
        """The round, and the state of the oracle where it has one, as plain JSON."""
        asked = self.oracle.state() if isinstance(self.oracle, Stateful) else None
        return {"oracle": "EpsilonRandom", "round": self._round, "asked": asked}

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        if not isinstance(state, dict) or state.get("oracle") != "EpsilonRandom":
            raise ValueError(f"state must be that of an EpsilonRandom, got {state!r:.60}")
        t = as_count(state.get("round"), "state['round']")
        if isinstance(self.oracle, Stateful) and state.get("asked") is not None:
            self.oracle.load(state["asked"])
        self._round = t

    def forget(self) -> None:
        """Have the oracle begin anew; the rounds go on."""
        if isinstance(self.oracle, Forgetful):
            self.oracle.forget()
