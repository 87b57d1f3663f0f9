"""The vocabulary of superarm: read this first.

One round of a combinatorial semi-bandit is four lines, and every noun in them is a Protocol below:

    theta    = belief.sample(rng=rng)                    # what the means might be, (n_arms,)
    arms     = oracle.select(reward, theta, k, rng=rng)  # the set that looks best, (k,)
    outcomes = environment.pull(arms, rng=rng)           # what the picked arms did, (k,)
    belief.update(arms, outcomes, rng=rng)               # learn

`Policy` joins a belief, an oracle and a reward into ``ask`` and ``tell``, and counts the
evaluations of the reward. It passes theta as a `Sample`, which is drawn when the oracle looks at
it. It passes k as `FeasibleSets`, the sets to choose from: a number k stands for all sets of k
arms.

Parts may offer more than these Protocols; `optional` lists what. Randomness is always the keyword
``rng``: no part keeps a generator.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.pools import Pools


@runtime_checkable
class Reward(Protocol):
    """r(S; theta): the value of a set of arms if their means were theta.

    May be a black box that is expensive to evaluate. It sees only the arms of its set and *their*
    means, so the paper's assumption 1 holds by construction. A reward declares what else the paper
    assumes.
    """

    @property
    def n_arms(self) -> int:
        """How many arms there are, the paper's m."""

    @property
    def lipschitz(self) -> float | FloatArray:
        """B of assumption 2, one number or one per arm.

        |r(S; theta) - r(S; theta')| <= sum over S of B_i |theta_i - theta'_i|.
        """

    @property
    def upper(self) -> float:
        """M of assumption 4: 0 <= r(S; theta) <= M for every subset S of the arms."""

    @property
    def monotone(self) -> bool:
        """Whether the value of each single arm is non-decreasing in its mean."""

    @property
    def zero_is_absent(self) -> bool:
        """Whether an arm of mean 0 is worth the same as an absent one."""

    @property
    def additive(self) -> bool:
        """Whether the reward is a sum with equal weights: the order of theta is that of value."""

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; ``means[j]`` is the mean of ``arms[j]``."""

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, shape (len(pools),), for the means theta of all arms."""


@runtime_checkable
class Belief(Protocol):
    """What is known about the means of the arms."""

    @property
    def n_arms(self) -> int:
        """How many arms it is about."""

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """Means that might be true, shape (n_arms,), each in [0, 1]."""

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn one outcome in [0, 1] for each of some distinct arms.

        Arms may come in any order. If the place of an arm matters, the order is as they were shown.
        """

    def state(self) -> dict[str, Any]:
        """All it knows, as plain JSON."""

    def load(self, state: dict[str, Any]) -> None:
        """Become exactly what ``state()`` described."""


@runtime_checkable
class FeasibleSets(Protocol):
    """The sets to choose from: `KOfM` for a plain k, `Feasible` and the rest of `superarm.sets`."""

    @property
    def n_most(self) -> int:
        """How many arms the largest set has, or a bound on it."""

    @property
    def same_size(self) -> bool:
        """Whether all sets have ``n_most`` arms."""

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Shape (n_arms,): the arms that are in some sets and perhaps not in all.

        Oracles need not evaluate other arms.
        """

    def for_arms(self, n_arms: int) -> FeasibleSets:
        """These sets for a problem of ``n_arms`` arms; refused if they are for another number."""

    # The one question that every kind of sets answers: oracles that need more say so (`optional`).
    def best(self, values: ArrayLike, *, rng: np.random.Generator) -> IndexArray:
        """The set of the largest sum of values, which have shape (n_arms,); ascending."""

    def is_feasible(self, arms: ArrayLike) -> bool:
        """Whether a set may be chosen."""


# What a user may give for k; `as_selection` makes feasible sets of either.
KOrSets = int | FeasibleSets


@runtime_checkable
class Oracle(Protocol):
    """Picks the set that looks best for given means."""

    @property
    def report(self) -> Any:
        """What the last ``select`` found out: a `Report`, or None if there is nothing to tell."""

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """One of the feasible sets, ascending: k distinct arms for a plain k.

        Ties are broken at random by ``rng``, which is not used otherwise. Begin with
        `as_selection`, which checks theta and turns k into feasible sets.
        """


@runtime_checkable
class Environment(Protocol):
    """What the arms really do."""

    @property
    def n_arms(self) -> int:
        """How many arms it has."""

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome in [0, 1] per arm, in the order of the arms; NaN if it is not seen."""
