"""What a session may choose from: constraints by name, without the arms that are retired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core import FeasibleSets, KOfM, as_feasible
from superarm.sessions.decisions import Name
from superarm.sets.feasible import Feasible, Group


def without(k: int | FeasibleSets, retired: NDArray[np.bool_]) -> FeasibleSets:
    """The same choices, but for the retired arms."""
    k = as_feasible(k, len(retired))
    if not retired.any():
        return k
    if isinstance(k, KOfM):
        return Feasible(k.k, available=~retired)
    if not isinstance(k, Feasible):
        raise ValueError(
            f"arms can be retired where sets are those of a number or a Feasible, got {type(k).__name__}; restore the "
            f"retired arms, or make the structure without them"
        )
    return k.but(available=k.available & ~retired)


def by_name(
    k: int,
    numbers: Callable[[Iterable[Name]], list[int]],
    n_arms: int,
    *,
    available: Iterable[Name] | None = None,
    must: Iterable[Name] = (),
    must_not: Iterable[Name] = (),
    groups: Iterable[Group] = (),
    weights: Mapping[Name, float] | None = None,
    budget: float | None = None,
    at_most: bool = False,
) -> Feasible:
    """A `Feasible` from names; arms without a weight weigh nothing."""
    heavy: Any = None
    if weights is not None:
        heavy = np.zeros(n_arms)
        heavy[numbers(weights)] = list(weights.values())
    return Feasible(
        k,
        at_most=at_most,
        available=None if available is None else numbers(available),
        must=numbers(must),
        must_not=numbers(must_not),
        groups=[
            Group(numbers(group.arms), group.least, group.most, group.name) for group in groups
        ],  # type: ignore[arg-type]
        weights=heavy,
        budget=budget,
        n_arms=n_arms,
    )
