"""What oracles ask of feasible sets, beyond what all feasible sets can answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core import FeasibleSets, is_uniform
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import Completable, Enumerable, Extendable
from superarm.sets import Feasible

# Which types are known to offer which Protocol, since asking takes longer than a step of greedy.
_ABLE: set[tuple[type, Any]] = set()


def extendable(oracle: object, feasible: FeasibleSets) -> Any:
    """These feasible sets, if they can be built arm by arm; refused otherwise."""
    return _able(oracle, feasible, Extendable, "extend, must and weights")


def completable(oracle: object, feasible: FeasibleSets) -> Any:
    """These feasible sets, if they can exchange an arm; refused otherwise."""
    return _able(oracle, feasible, Completable, "completed_by")


def enumerable(oracle: object, feasible: FeasibleSets) -> Any:
    """These feasible sets, if they can be listed; refused otherwise."""
    return _able(oracle, feasible, Enumerable, "n_candidates and blocks")


def as_required_and_open(
    oracle: object, feasible: Any
) -> tuple[IndexArray, NDArray[np.bool_], int]:
    """The required arms, the arms to choose from, shape (n_arms,), and how many of these.

    For oracles that choose among all sets of k arms: arms may be required or unavailable, and
    other constraints are refused.
    """
    if not (is_uniform(feasible) or (isinstance(feasible, Feasible) and feasible.is_k_of_open)):
        raise TypeError(
            f"{type(oracle).__name__} knows no constraints but available, must and must_not, got "
            f"{feasible!r}; use NoisyGreedy or NoisyLocalSearch"
        )
    return feasible.must, feasible.undecided, feasible.n_most - len(feasible.must)


def tie_noise(
    feasible: FeasibleSets, n_arms: int, *, rng: np.random.Generator
) -> FloatArray | float:
    """Numbers in [0, 1) that make equal arms equally likely to be in the best set.

    0, without a draw, where ``best`` does this already. Matchings, paths and trees need not.
    """
    return 0.0 if is_uniform(feasible) else rng.random(n_arms)


def unseen_first(
    theta: FloatArray, counts: FloatArray, feasible: FeasibleSets, *, rng: np.random.Generator
) -> IndexArray | None:
    """`most_unseen`, or None, without a draw, if no choice between sets lacks feedback."""
    # Arms that are in every set or in none need no feedback.
    unseen = (counts == 0) & feasible.undecided
    return most_unseen(theta, unseen, feasible, rng) if unseen.any() else None


def most_unseen(
    theta: FloatArray, unseen: NDArray[np.bool_], feasible: FeasibleSets, rng: np.random.Generator
) -> IndexArray:
    """As many arms without feedback as a set can have, and the largest means for the rest."""
    # More than all means of a set together, so that no means outweigh an arm without feedback.
    first = 2.0 + feasible.n_most + tie_noise(feasible, len(theta), rng=rng) / 2
    return feasible.best(np.where(unseen, first, theta), rng=rng)


def _able(oracle: object, feasible: FeasibleSets, protocol: Any, members: str) -> Any:
    if (type(feasible), protocol) in _ABLE:
        return feasible
    if not isinstance(feasible, protocol):
        raise TypeError(
            f"{type(oracle).__name__} needs feasible sets that have {members}, which "
            f"{type(feasible).__name__} do not; use TopK, Singletons, LazySingletons or "
            "GroupTesting, which need best() only"
        )
    _ABLE.add((type(feasible), protocol))
    return feasible
