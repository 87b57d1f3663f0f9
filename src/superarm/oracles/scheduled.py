"""An oracle that runs only in some rounds, and its last answer in between.

Few runs of the oracle need not increase regret: "adaptively rare oracle queries", arXiv 2510.21431,
needs O(log log T) of them. The schedules here are the simplest of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import (
    FeasibleSets,
    KOrSets,
    Oracle,
    Reward,
    as_feasible,
    as_selection,
    is_uniform,
)
from superarm.core.arguments import IndexArray, as_arms, as_count
from superarm.core.optional import check_sets
from superarm.core.replays import must_replay
from superarm.core.showing import one_line
from superarm.core.states import refusing
from superarm.oracles._state import forget_inner, inner_state, load_inner

# "Rarely" is the name of this oracle in files of earlier versions.
_KINDS = ("Scheduled", "Rarely")
# log(t) / log(factor) may be this much below a whole number by rounding.
_ROUNDING = 1e-9


def growing(factor: float = 1.1) -> Callable[[int], bool]:
    """A schedule of rounds that are a factor apart: O(log T) of the first T rounds.

    Examples
    --------
    >>> when = growing(2.0)
    >>> [t for t in range(1, 40) if when(t)]
    [1, 2, 4, 8, 16, 32]
    """
    if not factor > 1:
        raise ValueError(f"factor must be above 1, got {factor!r}")

    def power(t: int) -> int:
        return int(np.log(t) / np.log(factor) + _ROUNDING)

    def when(t: int) -> bool:
        return t == 1 or power(t) > power(t - 1)

    return when


class Scheduled:
    """Runs another oracle only in some rounds, and repeats its last set in between.

    It also runs the oracle if the last set is not feasible, or if the problem is another one:
    another number of arms, or all sets of k arms after a set that was chosen within constraints.
    The set that is repeated decides, so ``state`` and ``load`` save it.

    Parameters
    ----------
    oracle
        The oracle that runs in some rounds.
    when
        A whole number n, to run the oracle in every n-th round; or ``when(t) -> bool`` for round
        t = 1, 2, ...: see `growing`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.cts(sa.LinearReward(50), 3, oracle=Scheduled(sa.Singletons(), when=10))
    >>> for _ in range(100):
    ...     arms = policy.ask(rng=np.random.default_rng(0))
    >>> policy.evaluations
    500
    """

    __repr__ = one_line

    def __init__(self, oracle: Oracle, when: int | Callable[[int], bool]) -> None:
        self.oracle = oracle
        self.when = when if callable(when) else as_count(when, "when", least=1)
        self._round = 0
        self._arms: IndexArray | None = None
        self._n_arms = 0
        self._within = False

    @property
    def report(self) -> Any:
        """The report of the oracle, from the last round in which it ran."""
        return self.oracle.report

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The oracle's set, new or repeated."""
        theta, feasible = as_selection(reward, theta, k)
        arms = self._arms
        if arms is None or self._is_due(arms, feasible, reward.n_arms):
            # An oracle may return a list.
            arms = as_arms(self.oracle.select(reward, theta, feasible, rng=rng), reward.n_arms)
            self._keep(arms, feasible, reward.n_arms)
        self._round += 1  # only now: a round in which the oracle failed does not count
        return arms.copy()

    def adopt(self, arms: IndexArray, k: int | FeasibleSets, n_arms: int) -> None:
        """Go on as if ``select`` had returned these arms, without running the oracle."""
        feasible = as_feasible(k, n_arms)
        if self._arms is None or self._is_due(self._arms, feasible, n_arms):
            self._keep(arms.copy(), feasible, n_arms)
        self._round += 1

    @property
    def must_replay(self) -> bool:
        """Whether the other oracle must."""
        return must_replay(self.oracle)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse what the other oracle refuses."""
        check_sets(self.oracle, feasible)

    def state(self) -> dict[str, Any]:
        """The round, the set that is repeated, and the state of the oracle, as plain JSON."""
        state = {
            "oracle": "Scheduled",
            "round": self._round,
            "arms": None if self._arms is None else self._arms.tolist(),
            "n_arms": self._n_arms,
            "asked": inner_state(self.oracle),
        }
        return {**state, "within": True} if self._within else state

    @refusing("Scheduled")
    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        if not isinstance(state, dict) or state.get("oracle") not in _KINDS:
            raise ValueError(f"state must be that of a Scheduled, got {state!r:.60}")
        n_arms = as_count(state["n_arms"], "state['n_arms']")
        arms = None if state["arms"] is None else as_arms(state["arms"], n_arms)
        t = as_count(state["round"], "state['round']")
        load_inner(self.oracle, state.get("asked"))
        self._round, self._arms, self._n_arms = t, arms, n_arms
        self._within = bool(state.get("within", False))

    def forget(self) -> None:
        """Run the oracle in the next round, and let it forget its reward."""
        self._arms = None
        forget_inner(self.oracle)

    def _is_due(self, arms: IndexArray, feasible: FeasibleSets, n_arms: int) -> bool:
        """Whether the oracle has to run: by the schedule, or since the last set does not fit."""
        t = self._round + 1
        due = self.when(t) if callable(self.when) else (t - 1) % self.when == 0
        # A set chosen within constraints is not repeated when there are none.
        other = n_arms != self._n_arms or (self._within and is_uniform(feasible))
        return due or other or not feasible.is_feasible(arms)

    def _keep(self, arms: IndexArray, feasible: FeasibleSets, n_arms: int) -> None:
        self._arms, self._n_arms, self._within = arms, n_arms, not is_uniform(feasible)
