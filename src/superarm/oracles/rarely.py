"""Rare asking: an oracle that is asked only now and then, and its last answer in between.

With few questions to the oracle over time regret need not suffer: "adaptively rare oracle queries", arXiv 2510.21431,
gets by with O(log log T) of them. The schedule here is the simplest of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Oracle, Reward, as_feasible, as_selection
from superarm.core.arguments import IndexArray, as_arms, as_count
from superarm.core.optional import Forgetful, Stateful
from superarm.oracles._sets import is_uniform


def growing(factor: float = 1.1) -> Callable[[int], bool]:
    """Ask in rounds 1, 2, 3, ... at first, and then at rounds that are a factor apart: O(log T) questions.

    Examples
    --------
    >>> ask = growing(2.0)
    >>> [t for t in range(1, 40) if ask(t)]
    [1, 2, 4, 8, 16, 32]
    """
    if not factor > 1:
        raise ValueError(f"factor must be above 1, got {factor!r}")

    def ask(t: int) -> bool:
        return t == 1 or int(np.log(t) / np.log(factor) + 1e-9) > int(
            np.log(t - 1) / np.log(factor) + 1e-9
        )

    return ask


class Rarely:
    """Asks another oracle only in some rounds, and repeats its last answer in between: no evaluations there.

    Also asks when the problem is another one: another k or another number of arms, or `FeasibleSets` that the last answer
    does not fit. What is repeated decides, so it is saved with ``state`` and ``load``.

    Parameters
    ----------
    oracle
        The oracle that is asked now and then.
    when
        A whole number n, to ask in every n-th round; or ``when(t) -> bool`` for round t = 1, 2, ...: see `growing`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.cts(sa.LinearReward(50), 3, oracle=Rarely(sa.Singletons(), when=10))
    >>> for _ in range(100):
    ...     arms = policy.ask(rng=np.random.default_rng(0))
    >>> policy.evaluations
    500
    """

    def __init__(self, oracle: Oracle, when: int | Callable[[int], bool]) -> None:
        self.oracle = oracle
        self.when = when if callable(when) else as_count(when, "when", least=1)
        self._round = 0
        self._arms: IndexArray | None = None
        self._n_arms = 0
        self._within = False

    @property
    def report(self) -> Any:
        """That of the oracle, from the round in which it was last asked."""
        return self.oracle.report

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The oracle's answer, new or repeated."""
        theta, feasible = as_selection(reward, theta, k)
        if self._arms is None or self._is_due(feasible, reward.n_arms):
            arms = self.oracle.select(reward, theta, feasible, rng=rng)
            self._keep(arms, feasible, reward.n_arms)
        self._round += 1  # only now: a round in which the oracle failed does not count
        return self._arms.copy()  # type: ignore[union-attr]

    def adopt(self, arms: IndexArray, k: int | FeasibleSets, n_arms: int) -> None:
        """A round whose answer is known, as from a log: nobody is asked."""
        feasible = as_feasible(k, n_arms)
        if self._is_due(feasible, n_arms):
            self._keep(arms.copy(), feasible, n_arms)
        self._round += 1

    def _is_due(self, feasible: FeasibleSets, n_arms: int) -> bool:
        """Whether the oracle has to be asked: by the schedule, or since the last set does not fit."""
        t = self._round + 1
        due = self.when(t) if callable(self.when) else (t - 1) % self.when == 0
        return due or self._arms is None or self._n_arms != n_arms or not self._fits(feasible)

    def _fits(self, feasible: FeasibleSets) -> bool:
        # A set chosen within constraints is not repeated when there are none.
        suits = not self._within or not is_uniform(feasible)
        return suits and feasible.is_feasible(self._arms)  # type: ignore[arg-type]

    def _keep(self, arms: IndexArray, feasible: FeasibleSets, n_arms: int) -> None:
        self._arms, self._n_arms = arms, n_arms
        self._within = not is_uniform(feasible)

    def state(self) -> dict[str, Any]:
        """The round, the set that is repeated, and the state of the oracle where it has one, as plain JSON."""
        arms = None if self._arms is None else self._arms.tolist()
        asked = self.oracle.state() if isinstance(self.oracle, Stateful) else None
        state = {
            "oracle": "Rarely",
            "round": self._round,
            "arms": arms,
            "n_arms": self._n_arms,
            "asked": asked,
        }
        return {**state, "within": True} if self._within else state

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        if not isinstance(state, dict) or state.get("oracle") != "Rarely":
            raise ValueError(f"state must be that of a Rarely, got {state!r:.60}")
        n_arms = as_count(state["n_arms"], "state['n_arms']")
        arms = None if state["arms"] is None else as_arms(state["arms"], n_arms)
        t = as_count(state["round"], "state['round']")
        if isinstance(self.oracle, Stateful) and state.get("asked") is not None:
            self.oracle.load(state["asked"])
        self._round, self._arms, self._n_arms = t, arms, n_arms
        self._within = bool(state.get("within", False))

    def forget(self) -> None:
        """Ask again in the next round, and have the oracle begin anew."""
        self._arms = None
        if isinstance(self.oracle, Forgetful):
            self.oracle.forget()
