"""What oracles that read the counts of a belief have in common."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, as_selection
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import CountsOutcomes
from superarm.oracles._sets import unseen_first


class ReadsCounts(Protocol):
    """An oracle that reads the counts of the belief of its policy."""

    belief: Any
    report: Any


def as_counting(belief: Any) -> CountsOutcomes:
    """The belief, if it counts its outcomes."""
    if not isinstance(belief, CountsOutcomes):
        raise TypeError(
            f"belief must have outcomes, as MeanBelief has, got a {type(belief).__name__}"
        )
    return belief


def outcomes_of(oracle: object, belief: CountsOutcomes, reward: Reward) -> Any:
    """The counts and sums of the arms of a reward, which must be additive."""
    if not reward.additive:
        raise ValueError(
            f"reward must be additive, since {type(oracle).__name__} is about sums of means, got "
            "one that does not declare it; use cts or cucb"
        )
    outcomes = belief.outcomes
    if len(outcomes.counts) != reward.n_arms:
        raise ValueError(
            f"belief must be about the reward's {reward.n_arms} arms, "
            f"got one of {len(outcomes.counts)}"
        )
    return outcomes


def begun(
    oracle: ReadsCounts, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator
) -> tuple[FloatArray, FeasibleSets, Any, IndexArray | None]:
    """theta, the feasible sets, the outcomes so far, and the set to pick if arms have none yet.

    There is no report on such a set. It is None once all arms that matter have outcomes.
    """
    theta, feasible = as_selection(reward, theta, k)
    outcomes = outcomes_of(oracle, oracle.belief, reward)
    first = unseen_first(theta, outcomes.counts, feasible, rng=rng)
    if first is not None:
        oracle.report = None
    return theta, feasible, outcomes, first
