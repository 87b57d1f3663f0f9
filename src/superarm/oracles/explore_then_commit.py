"""Explore, then commit: every arm a few times, one decision, and no change of mind.

The simplest policy that can be analysed: Lattimore, Szepesvári: "Bandit algorithms", Cambridge 2020, chapter 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Oracle, Reward, as_selection
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.oracles._sets import tie_noise
from superarm.oracles.rarely import Rarely


def _never(t: int) -> bool:
    return False


class ExploreThenCommit:
    """Picks the arms that were picked least until each was picked ``n_explore`` times, and then one set for ever.

    Exploring takes ceil(n_explore · n_arms / k) rounds and no evaluation; then another oracle is asked once, and its
    answer repeated, as by a `Rarely` that never asks again unless the problem is another one. Within `FeasibleSets` the arms
    that are in some set are explored, as many of those that lack rounds as fit into a set at a time. What was picked
    decides, so it is saved with ``state`` and ``load``: 8 bytes an arm. A round of exploring costs O(n_arms).

    Parameters
    ----------
    oracle
        The oracle whose one answer is committed to.
    n_explore
        How often every arm is picked first.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle = ExploreThenCommit(sa.Singletons(), n_explore=2)
    >>> rng, reward = np.random.default_rng(0), sa.LinearReward(4)
    >>> picked = [oracle.select(reward, [0.1, 0.8, 0.3, 0.6], 2, rng=rng).tolist() for _ in range(6)]
    >>> sorted(sum(picked[:4], [])), picked[4:]
    ([0, 0, 1, 1, 2, 2, 3, 3], [[1, 3], [1, 3]])
    """

    def __init__(self, oracle: Oracle, n_explore: int) -> None:
        self.n_explore = as_count(n_explore, "n_explore")
        self._commit = Rarely(oracle, when=_never)
        self._picked = np.zeros(0)
        self._committed = False

    @property
    def oracle(self) -> Oracle:
        """The oracle whose answer is committed to."""
        return self._commit.oracle

    @property
    def report(self) -> Any:
        """That of the oracle, from the round in which it was asked; None while exploring."""
        return self._commit.report if self._committed else None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """The arms that were picked least, or the set that was committed to."""
        theta, feasible = as_selection(reward, theta, k)
        picked = self._picked if len(self._picked) == reward.n_arms else np.zeros(reward.n_arms)
        lacking = np.maximum(self.n_explore - picked, 0)
        lacking[~feasible.undecided] = 0  # arms that are in every set or in none
        if lacking.any():
            arms = _least_picked(lacking, feasible, rng)
            self._picked = picked
            self._picked[arms] += 1
            self._committed = False
            return arms
        arms = self._commit.select(reward, theta, feasible, rng=rng)
        self._picked, self._committed = picked, True
        return arms

    def state(self) -> dict[str, Any]:
        """How often each arm was picked, the set that is repeated and the state of the oracle, as plain JSON."""
        state = {
            "oracle": "ExploreThenCommit",
            "n_explore": self.n_explore,
            "picked": self._picked.tolist(),
        }
        return {**state, "committed": self._committed, "commit": self._commit.state()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        if not isinstance(state, dict) or state.get("oracle") != "ExploreThenCommit":
            raise ValueError(f"state must be that of an ExploreThenCommit, got {state!r:.60}")
        n_explore = as_count(state.get("n_explore"), "state['n_explore']")
        picked = state.get("picked")
        if picked == []:  # nothing was explored yet
            picked = np.zeros(0)
        else:
            picked = as_finite(picked, "state['picked']", ndim=1, least=0.0)  # type: ignore[arg-type]
        self._commit.load(state.get("commit"))  # type: ignore[arg-type]  # refuses what is no state
        self.n_explore, self._picked, self._committed = (
            n_explore,
            picked,
            bool(state.get("committed", False)),
        )

    def forget(self) -> None:
        """Explore anew, and have the oracle begin anew."""
        self._picked, self._committed = np.zeros(0), False
        self._commit.forget()


def _least_picked(
    lacking: FloatArray, feasible: FeasibleSets, rng: np.random.Generator
) -> IndexArray:
    """A feasible set in which arms lack as many rounds as possible; ties are broken at random."""
    # The noise of a whole set is below 1, so that it never outweighs a round that an arm lacks.
    noise = tie_noise(feasible, len(lacking), rng=rng) / (2 * max(1, feasible.n_most))
    return feasible.best(lacking + noise, rng=rng)
