"""The policy to be evaluated: the probability that it picks each arm and each set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Policy
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_k, as_unit
from superarm.core.contexts import uses_contexts
from superarm.offpolicy.log import Log
from superarm.offpolicy.sampling import Propensities, propensities

SetProbability: TypeAlias = Callable[[tuple[int, ...]], float]
FixedTarget: TypeAlias = "Target | Propensities | ArrayLike"
AnyTarget: TypeAlias = "FixedTarget | Policy | Callable[[Any], FixedTarget]"
_SHOWN = 8  # probabilities in a repr
# Samples of a policy in each context, and in all of them. In many contexts a few samples of each
# are enough, since their errors are independent.
_MOST_SAMPLES, _LEAST_SAMPLES, _ALL_SAMPLES = 1000, 50, 20_000


class Target:
    """A policy with the same probabilities in every round, or in every round of one context.

    It can be a fixed set, random sets, or the present state of a policy that learns.

    Parameters
    ----------
    arms
        Shape (n_arms,): the probability that an arm is in the set. The sum is the mean size of
        the sets, so it need not be 1.
    set_probability
        The probability of a set, given as its arms, ascending. None if only the probabilities of
        arms are known.
    sampled
        The samples that both are shares of, if they are. Their sampling error is then part of the
        standard error of an estimate.

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
                f"the target must be probabilities of arms, shape (n_arms,), one of them above 0, "
                f"got shape {self.arms.shape} and the sum {self.arms.sum():g}; Target.fixed takes "
                f"the arms of a set"
            )
        self.set_probability = set_probability
        self.sampled = sampled

    @classmethod
    def fixed(cls, arms: ArrayLike, n_arms: int) -> Target:
        """Always the same set."""
        picked = np.sort(as_arms(arms, n_arms))
        probabilities = np.zeros(n_arms)
        probabilities[picked] = 1.0
        always = tuple(picked.tolist())
        return cls(probabilities, lambda found: float(found == always))

    @classmethod
    def uniform(cls, k: int, n_arms: int) -> Target:
        """Random sets of k arms, as `RandomSets` picks them."""
        k = as_k(k, n_arms)
        each = 1 / math.comb(n_arms, k)
        return cls(np.full(n_arms, k / n_arms), lambda found: each if len(found) == k else 0.0)

    @classmethod
    def of(cls, found: Propensities) -> Target:
        """A policy as it was when its `propensities` were sampled."""
        return cls(found.arms, found.set_probability, sampled=found)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.arms)

    @property
    def size(self) -> float:
        """The mean number of arms in a set."""
        return float(self.arms.sum())

    def __repr__(self) -> str:
        shown = " ".join(f"{p:.2f}" for p in self.arms[:_SHOWN])
        return f"Target({shown}{' ...' if self.n_arms > _SHOWN else ''})"


@dataclass(frozen=True, eq=False)
class Targets:
    """The target in the contexts of a log.

    Attributes
    ----------
    each
        The target in each distinct context; only one if it is the same in all of them.
    which
        Shape (n_rounds,): which of them is that of a round.
    """

    each: list[Target]
    which: IndexArray

    @cached_property
    def arms(self) -> FloatArray:
        """Shape (len(each), n_arms): the probability that an arm is in the set."""
        return np.array([one.arms for one in self.each])

    @cached_property
    def rounds(self) -> list[IndexArray]:
        """The rounds of each of them, ascending."""
        order = np.argsort(self.which, kind="stable")
        ends = np.bincount(self.which, minlength=len(self.each)).cumsum()
        return np.split(order, ends[:-1])


def as_targets(target: AnyTarget, log: Log) -> Targets:
    """The target in each context of the log.

    A policy is sampled in each of them. A function gets the context.
    """
    given: Any = _sampled(target, log) if isinstance(target, Policy) else target
    if isinstance(given, Target | Propensities) or not callable(given):
        return Targets([_as_target(given, log.n_arms)], np.zeros(len(log), np.intp))
    contexts, which = log.distinct_contexts
    if contexts is None:
        raise ValueError(
            "the log must have contexts for a target that depends on them, got none; "
            "give Log(..., contexts=...), or the probabilities of the arms as a target"
        )
    return Targets([_as_target(given(context), log.n_arms) for context in contexts], which)


def _sampled(policy: Policy, log: Log) -> Propensities | Callable[[FloatArray], Propensities]:
    """The propensities of a policy, by context if its belief knows any."""
    rng = np.random.default_rng(0)  # its draws decide nothing
    if not uses_contexts(policy.belief) or log.contexts is None:
        return propensities(policy, _MOST_SAMPLES, rng=rng)
    in_each = _ALL_SAMPLES // (log.distinct_contexts[1].max() + 1)
    n_samples = int(np.clip(in_each, _LEAST_SAMPLES, _MOST_SAMPLES))
    return lambda context: propensities(policy, n_samples, rng=rng, context=context)


def _as_target(target: FixedTarget, n_arms: int) -> Target:
    """A target for a log of ``n_arms`` arms. An array has the probabilities of the arms."""
    if isinstance(target, Propensities):
        found = Target.of(target)
    else:
        found = target if isinstance(target, Target) else Target(target)
    if found.n_arms != n_arms:
        raise ValueError(
            f"the target must be of the log's {n_arms} arms, got one of {found.n_arms}"
        )
    return found
