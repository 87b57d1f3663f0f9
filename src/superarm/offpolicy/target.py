"""The policy to be evaluated: with which probability it picks each arm, and each set."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_k, as_unit
from superarm.offpolicy.propensities import Propensities

SetProbability: TypeAlias = Callable[[tuple[int, ...]], float]


class Target:
    """A policy that picks in every round with the same probabilities: a fixed set, chance, or a policy frozen.

    Parameters
    ----------
    arms
        Shape (n_arms,): the probability that an arm is in the set. They need not sum to 1: the sum is the mean size.
    set_probability
        The probability of a set, given as its arms, ascending; None where only those of arms are known.
    sampled
        The samples that both are shares of, if they are. Their error is then part of an estimate's standard error.

    Examples
    --------
    >>> Target.fixed([0, 2], n_arms=4)
    Target(1.00 0.00 1.00 0.00)
    >>> Target.uniform(2, n_arms=4).size
    2.0
    """

    def __init__(
        self,
        arms: ArrayLike,
        set_probability: SetProbability | None = None,
        *,
        sampled: Propensities | None = None,
    ) -> None:
        self.arms: FloatArray = as_unit(arms, "the target's arms", np.shape(arms))
        if self.arms.ndim != 1 or not self.arms.sum() > 0:
            raise ValueError(
                f"the target must be probabilities of arms, shape (n_arms,), one of them above 0, got shape "
                f"{self.arms.shape} and the sum {self.arms.sum():g}; Target.fixed takes the arms of a set"
            )
        self.set_probability = set_probability
        self.sampled = sampled

    @classmethod
    def fixed(cls, arms: ArrayLike, n_arms: int) -> Target:
        """Always the same set."""
        picked = np.sort(as_arms(arms, n_arms))
        chances = np.zeros(n_arms)
        chances[picked] = 1.0
        always = tuple(picked.tolist())
        return cls(chances, lambda found: float(found == always))

    @classmethod
    def uniform(cls, k: int, n_arms: int) -> Target:
        """k arms at random, as `RandomSets` picks them."""
        k = as_k(k, n_arms)
        each = 1 / math.comb(n_arms, k)
        return cls(np.full(n_arms, k / n_arms), lambda found: each if len(found) == k else 0.0)

    @classmethod
    def of(cls, chances: Propensities) -> Target:
        """A policy as it was when its `propensities` were sampled. An estimator takes these as they are, too."""
        return cls(chances.arms, chances.set_probability, sampled=chances)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arms)

    @property
    def size(self) -> float:
        """How many arms its sets have in the mean."""
        return float(self.arms.sum())

    def __repr__(self) -> str:
        shown = " ".join(f"{p:.2f}" for p in self.arms[:8])
        return f"Target({shown}{' ...' if self.n_arms > 8 else ''})"


def as_target(target: Target | Propensities | ArrayLike, n_arms: int) -> Target:
    """A target for a log of so many arms; an array has the probabilities of the arms."""
    if isinstance(target, Propensities):
        found = Target.of(target)
    else:
        found = target if isinstance(target, Target) else Target(target)
    if found.n_arms != n_arms:
        raise ValueError(
            f"the target must be of the log's {n_arms} arms, got one of {found.n_arms}"
        )
    return found
