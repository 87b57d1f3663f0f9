"""A belief and an oracle, joined by a reward; and the one place where evaluations are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_k, as_unit
from superarm.core.pools import Pools
from superarm.core.protocols import Belief, Choices, Oracle, Reward
from superarm.core.sample import Draw


class Counted:
    """A reward that counts the sets it is asked about, and refuses answers that are not numbers.

    The only place where evaluations are counted: `Policy` wraps it around the reward that it is given.
    """

    def __init__(self, reward: Reward) -> None:
        self.uncounted = reward
        self.evaluations = 0

    n_arms = property(lambda self: self.uncounted.n_arms)
    lipschitz = property(lambda self: self.uncounted.lipschitz)
    upper = property(lambda self: self.uncounted.upper)
    monotone = property(lambda self: self.uncounted.monotone)
    zero_is_absent = property(lambda self: self.uncounted.zero_is_absent)
    additive = property(lambda self: self.uncounted.additive)
    concave = property(lambda self: getattr(self.uncounted, "concave", False))
    diminishing = property(lambda self: getattr(self.uncounted, "diminishing", False))

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; counts one."""
        self.evaluations += 1
        value = float(self.uncounted(arms, means))
        if not np.isfinite(value):
            raise ValueError(
                f"a reward must be a finite number, got {value} for the arms {_shown(arms)}"
            )
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; counts each."""
        self.evaluations += len(pools)
        values = np.asarray(self.uncounted.batch(pools, theta), np.float64)
        if values.shape != (len(pools),):
            raise ValueError(
                f"a reward's batch must have shape ({len(pools)},), one value a pool, got {values.shape}"
            )
        if not np.isfinite(values).all():
            worst = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"a reward must be a finite number, got {values[worst]} for the arms {_shown(pools[worst])}"
            )
        return values


@dataclass
class Policy:
    """A belief and an oracle, joined by a reward: asks for ``k`` arms, and is told what they did.

    Attributes
    ----------
    belief, oracle
        What guesses the means, and what picks the set.
    reward
        The reward that was given, wrapped in `Counted`.
    k
        How many arms a set has, the paper's K; or `Choices`, such as a `Feasible`.

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
    k: int | Choices

    def __post_init__(self) -> None:
        if isinstance(self.reward, Counted):
            self.reward = self.reward.uncounted
        if self.belief.n_arms != self.reward.n_arms:
            raise ValueError(
                f"belief and reward must be about the same arms, "
                f"got a belief of {self.belief.n_arms} and a reward of {self.reward.n_arms}"
            )
        self.k = _as_choices(self.k, self.reward.n_arms)
        self.reward = Counted(self.reward)

    @property
    def evaluations(self) -> int:
        """For how many sets the reward has been evaluated so far."""
        return self.reward.evaluations

    def ask(self, *, rng: np.random.Generator, feasible: int | Choices | None = None) -> IndexArray:
        """The k arms to pull now, ascending; ``feasible`` takes the place of ``k`` in this round."""
        return self.decide(rng=rng, feasible=feasible)[0]

    def decide(
        self, *, rng: np.random.Generator, feasible: int | Choices | None = None
    ) -> tuple[IndexArray, Draw]:
        """The same as ``ask``, and theta as far as the oracle looked at it."""
        k = self.k if feasible is None else _as_choices(feasible, self.reward.n_arms)
        with Draw(self.belief, rng) as theta:  # a sample, once the oracle looks at it
            arms = self.oracle.select(self.reward, theta, k, rng=rng)
        if not isinstance(k, int) and not k.is_feasible(arms):
            raise ValueError(
                f"{type(self.oracle).__name__} must pick a set that is feasible for {k}, got {_shown(arms)}"
            )
        return arms, theta

    def tell(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn what arms did, one outcome in [0, 1] each. Any distinct arms, not only those last asked for."""
        self.belief.update(arms, outcomes, rng=rng)


def lipschitz_constant(reward: Reward) -> float:
    """The reward's B as one number: the largest where it declares one for each arm."""
    declared = reward.lipschitz
    return float(declared if isinstance(declared, float) else np.max(declared))


@overload
def as_request(reward: Reward, theta: ArrayLike, k: int | Choices) -> tuple[FloatArray, int]: ...
@overload
def as_request(
    reward: Reward, theta: ArrayLike, k: int | Choices, *, constraints: Literal[True]
) -> tuple[FloatArray, int | Choices]: ...
def as_request(
    reward: Reward, theta: ArrayLike, k: int | Choices, *, constraints: bool = False
) -> tuple[FloatArray, int | Choices]:
    """What every oracle checks before it spends an evaluation.

    ``constraints``: the oracle can do with `Choices` in place of k. Without it they are refused.
    """
    n_arms = reward.n_arms
    return as_unit(theta, "theta", (n_arms,)), _as_choices(k, n_arms) if constraints else as_k(
        k, n_arms
    )


def _as_choices(k: int | Choices, n_arms: int) -> int | Choices:
    return as_k(k, n_arms) if isinstance(k, int) or not hasattr(k, "over") else k.over(n_arms)


def _shown(arms: ArrayLike) -> str:
    return np.array2string(np.asarray(arms), threshold=10)
