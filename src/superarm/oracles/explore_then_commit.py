"""Explore, then commit: every arm a few times, then one decision for all further rounds.

The simplest policy that can be analysed: Lattimore, Szepesvári: "Bandit algorithms", Cambridge
2020, chapter 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Oracle, Reward, as_feasible, as_selection
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.optional import check_sets
from superarm.core.showing import one_line
from superarm.oracles._sets import tie_noise
from superarm.oracles._state import check_state
from superarm.oracles.scheduled import Scheduled


def _never(t: int) -> bool:
    return False


class ExploreThenCommit:
    """Picks each arm ``n_explore`` times, the least picked first, and then always one set.

    Exploring takes ceil(n_explore · n_arms / k) rounds for a plain k, and no evaluation. Then
    another oracle runs once, and its set is repeated as by a `Scheduled` oracle that never runs
    again unless the problem is another one. Among other feasible sets, the undecided arms are
    explored: as many arms that lack rounds as fit into a set at a time. The numbers of picks
    decide, so ``state`` and ``load`` save them: 8 bytes per arm. A round of exploring takes
    O(n_arms) time.

    Parameters
    ----------
    oracle
        The oracle whose one set is committed to.
    n_explore
        How often every arm is picked first.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = ExploreThenCommit(sa.Singletons(), n_explore=2)
    >>> rng, reward, theta = np.random.default_rng(0), sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6]
    >>> picked = [oracle.select(reward, theta, 2, rng=rng).tolist() for _ in range(6)]
    >>> sorted(sum(picked[:4], [])), picked[4:]
    ([0, 0, 1, 1, 2, 2, 3, 3], [[1, 3], [1, 3]])
    """

    __repr__ = one_line

    def __init__(self, oracle: Oracle, n_explore: int) -> None:
        self.n_explore = as_count(n_explore, "n_explore")
        self._commit = Scheduled(oracle, when=_never)
        self._picked = np.zeros(0)
        # That of the oracle, from the round in which it ran. None from a round of exploring until
        # the oracle runs again: a set that is then repeated has no report of its own.
        self.report: Any = None

    @property
    def oracle(self) -> Oracle:
        """The oracle whose set is committed to."""
        return self._commit.oracle

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The least picked arms, or the set that was committed to."""
        theta, feasible = as_selection(reward, theta, k)
        picked, lacking = self._lacking(feasible, reward.n_arms)
        if lacking.any():
            arms = _least_picked(lacking, feasible, rng)
            picked[arms] += 1
            self._picked, self.report = picked, None
            return arms
        before = self._commit.report
        arms = self._commit.select(reward, theta, feasible, rng=rng)
        self._picked = picked
        if self._commit.report is not before:
            self.report = self._commit.report
        return arms

    def adopt(self, arms: IndexArray, k: KOrSets, n_arms: int) -> None:
        """Go on as if ``select`` had returned these arms, without running the oracle."""
        picked, lacking = self._lacking(as_feasible(k, n_arms), n_arms)
        if lacking.any():
            picked[arms] += 1
        else:
            self._commit.adopt(arms, k, n_arms)
        self._picked = picked

    @property
    def must_replay(self) -> bool:
        """Whether the other oracle must."""
        return self._commit.must_replay

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse what the other oracle refuses."""
        check_sets(self.oracle, feasible)

    def state(self) -> dict[str, Any]:
        """The picks per arm, the repeated set and the state of the oracle, as plain JSON."""
        return {
            "oracle": "ExploreThenCommit",
            "n_explore": self.n_explore,
            "picked": self._picked.tolist(),
            "commit": self._commit.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "ExploreThenCommit")
        n_explore = as_count(state.get("n_explore"), "state['n_explore']")
        given: Any = state.get("picked")
        picked = np.zeros(0)  # as before the first round
        if given != []:
            picked = as_finite(given, "state['picked']", ndim=1, least=0.0)
        commit: Any = state.get("commit")
        self._commit.load(commit)  # refuses what is not a state
        self.n_explore, self._picked = n_explore, picked
        self.report = None

    def forget(self) -> None:
        """Explore again, and let the oracle forget its reward."""
        self._picked, self.report = np.zeros(0), None
        self._commit.forget()

    def _lacking(self, feasible: FeasibleSets, n_arms: int) -> tuple[FloatArray, FloatArray]:
        """How often each arm was picked, and how many rounds it lacks."""
        picked = self._picked if len(self._picked) == n_arms else np.zeros(n_arms)
        lacking = np.maximum(self.n_explore - picked, 0)
        lacking[~feasible.undecided] = 0  # arms that are in every set or in none
        return picked, lacking


def _least_picked(
    lacking: FloatArray, feasible: FeasibleSets, rng: np.random.Generator
) -> IndexArray:
    """A feasible set in which arms lack as many rounds as possible; ties are broken at random."""
    # The noise of a whole set is below 1, so that it never outweighs a round that an arm lacks.
    noise = tie_noise(feasible, len(lacking), rng=rng) / (2 * max(1, feasible.n_most))
    return feasible.best(lacking + noise, rng=rng)
