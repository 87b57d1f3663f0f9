"""A belief and an oracle, joined by a reward; and the one place where evaluations are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import as_feasible
from superarm.core.optional import is_concave, is_diminishing
from superarm.core.pools import Pools
from superarm.core.protocols import Belief, FeasibleSets, Oracle, Reward
from superarm.core.sample import Sample


class Counted:
    """A reward that counts its evaluations, and refuses answers that are not finite numbers.

    `Policy` wraps it around the reward that it is given. Evaluations are counted nowhere else.
    """

    def __init__(self, reward: Reward) -> None:
        self.uncounted = reward
        self.n_arms = reward.n_arms
        self.evaluations = 0

    lipschitz = property(lambda self: self.uncounted.lipschitz)
    upper = property(lambda self: self.uncounted.upper)
    monotone = property(lambda self: self.uncounted.monotone)
    zero_is_absent = property(lambda self: self.uncounted.zero_is_absent)
    additive = property(lambda self: self.uncounted.additive)
    concave = property(lambda self: is_concave(self.uncounted))
    diminishing = property(lambda self: is_diminishing(self.uncounted))

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; counts one evaluation."""
        self.evaluations += 1
        value = float(self.uncounted(arms, means))
        if not np.isfinite(value):
            raise ValueError(
                f"a reward must be a finite number, got {value} for the arms {_shown(arms)}"
            )
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; counts one evaluation per set."""
        self.evaluations += len(pools)
        values = np.asarray(self.uncounted.batch(pools, theta), np.float64)
        if values.shape != (len(pools),):
            raise ValueError(
                f"a reward's batch must have shape ({len(pools)},), one value per pool, "
                f"got {values.shape}"
            )
        if not np.isfinite(values).all():
            worst = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"a reward must be a finite number, got {values[worst]} "
                f"for the arms {_shown(pools[worst])}"
            )
        return values


@dataclass
class Policy:
    """A belief and an oracle, joined by a reward: asks for ``k`` arms, and learns their outcomes.

    Attributes
    ----------
    belief, oracle
        What knows about the means, and what picks the set.
    reward
        The given reward, wrapped in `Counted`.
    k
        How many arms a set has, the paper's K; or `FeasibleSets`, such as a `Feasible`.
    feasible
        The sets to choose from: ``k``, for the arms of the reward.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> policy = Policy(sa.BetaBelief(6), sa.Singletons(), sa.LinearReward(6), k=2)
    >>> arms = policy.ask(rng=rng)
    >>> arms
    array([2, 3])
    >>> policy.tell(arms, [1.0, 0.0], rng=rng)
    >>> policy.belief.mean()[arms], policy.evaluations
    (array([0.66666667, 0.33333333]), 6)
    """

    belief: Belief
    oracle: Oracle
    reward: Any  # a Reward when given, a Counted from then on
    k: int | FeasibleSets
    feasible: FeasibleSets = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Each policy counts its own evaluations.
        if isinstance(self.reward, Counted):
            self.reward = self.reward.uncounted
        if self.belief.n_arms != self.reward.n_arms:
            raise ValueError(
                f"belief and reward must be about the same arms, "
                f"got a belief of {self.belief.n_arms} and a reward of {self.reward.n_arms}"
            )
        self.feasible = as_feasible(self.k, self.reward.n_arms)
        # What the user gave, but a numpy integer as a plain one, and sets for these arms.
        self.k = int(self.k) if isinstance(self.k, int | np.integer) else self.feasible
        self.reward = Counted(self.reward)

    @property
    def evaluations(self) -> int:
        """For how many sets the reward has been evaluated so far."""
        return self.reward.evaluations

    def ask(
        self, *, rng: np.random.Generator, feasible: int | FeasibleSets | None = None
    ) -> IndexArray:
        """The k arms to pull now, ascending; ``feasible`` replaces ``k`` in this round."""
        return self.decide(rng=rng, feasible=feasible)[0]

    def decide(
        self, *, rng: np.random.Generator, feasible: int | FeasibleSets | None = None
    ) -> tuple[IndexArray, Sample]:
        """The same as ``ask``, and theta as far as the oracle looked at it."""
        sets = self.feasible
        if feasible is not None:
            sets = as_feasible(feasible, self.reward.n_arms)
        with Sample(self.belief, rng) as theta:
            arms = self.oracle.select(self.reward, theta, sets, rng=rng)
        if not sets.is_feasible(arms):
            raise ValueError(
                f"{type(self.oracle).__name__} must pick a set that is feasible for {sets}, "
                f"got {_shown(arms)}"
            )
        return arms, theta

    def tell(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn what arms did, one outcome in [0, 1] per arm.

        Any distinct arms may be told about, not only those last asked for.
        """
        self.belief.update(arms, outcomes, rng=rng)


def _shown(arms: ArrayLike) -> str:
    return np.array2string(np.asarray(arms), threshold=10)
