"""Groups of arms, and the checks of constraints: each message says which constraints clash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count
from superarm.sets._quotas import Quotas


@dataclass(frozen=True, eq=False)
class Group:
    """Arms of which a set has at least ``least`` and at most ``most``; None for no upper limit.

    Errors call the group by its ``name``.
    """

    arms: ArrayLike
    least: int = 0
    most: int | None = None
    name: str = ""


def named_mask(given: Any, n_arms: int, name: str) -> NDArray[np.bool_]:
    """Shape (n_arms,): True for the given arms; errors begin with the name."""
    mask = np.zeros(n_arms, bool)
    mask[_named_arms(given, n_arms, name)] = True
    return mask


def quotas_of(
    possible: NDArray[np.bool_],
    must: NDArray[np.bool_],
    groups: Sequence[Group],
    k: int,
    at_most: bool,
) -> tuple[Quotas, list[str]]:
    """The quotas of some groups, and what errors call the groups.

    The arms in no group are the last group.
    """
    n_arms, n_groups = len(possible), len(groups)
    group = np.full(n_arms, n_groups, np.intp)
    least, most = np.zeros(n_groups + 1, np.intp), np.full(n_groups + 1, n_arms, np.intp)
    names = [
        f"the group {one.name!r}" if one.name else f"group {number}"
        for number, one in enumerate(groups)
    ]
    for number, (one, name) in enumerate(zip(groups, names, strict=True)):
        arms = _named_arms(one.arms, n_arms, name)
        # Arms that an earlier group has already.
        twice = arms[group[arms] != n_groups]
        if len(twice):
            raise ValueError(
                f"groups must be disjoint, got arm {twice[0]} in {names[group[twice[0]]]} "
                f"and in {name}"
            )
        group[arms] = number
        least[number] = as_count(one.least, f"least of {name}")
        if one.most is not None:
            most[number] = as_count(one.most, f"most of {name}")
        if least[number] > most[number]:
            raise ValueError(
                f"{name} must have least <= most, got {least[number]} and {most[number]}"
            )
    return Quotas(possible, must, group, least, most, k, at_most), names


def refuse_clashes(
    quotas: Quotas, here: NDArray[np.bool_], outside: NDArray[np.bool_], names: list[str]
) -> None:
    """Say which constraints clash, if no set fulfils all of them; the budget is not checked."""
    must, k = np.flatnonzero(quotas.must), quotas.k
    if outside[must].any():
        raise ValueError(f"must and must_not clash: arms {must[outside[must]]} are in both")
    if not here[must].all():
        raise ValueError(
            f"must and available clash: arms {must[~here[must]]} must be in, but are not available"
        )
    if len(must) > k:
        raise ValueError(f"must and k clash: {len(must)} arms must be in, but a set has {k}")
    # How many arms of each group must be in, and can be in.
    inside, there = quotas.counts(must), quotas.counts(quotas.possible)
    for number, name in enumerate(names):
        if inside[number] > quotas.most[number]:
            mine = must[quotas.group[must] == number]
            raise ValueError(
                f"must and {name} clash: it may have at most {quotas.most[number]} arm(s), "
                f"got arms {mine} in must"
            )
        if there[number] < quotas.least[number]:
            raise ValueError(
                f"available, must_not and {name} clash: it must have at least "
                f"{quotas.least[number]} arm(s), but {there[number]} of its arms can be in"
            )
    # Required arms count towards the lower quota of their group.
    needed = int(np.maximum(quotas.least, inside).sum())
    if needed > k:
        raise ValueError(
            f"must, the groups' least and k clash: together they need {needed} arms or more, "
            f"but a set has {k}"
        )
    # The largest set that the groups and the availability allow.
    most = int(np.minimum(quotas.most, there).sum())
    if most < k and not quotas.at_most:
        raise ValueError(
            f"k clashes with available, must_not and the groups' most: a set must have {k} arms, "
            f"but only {most} can be in one together; at_most=True allows fewer"
        )


def refuse_heavy(quotas: Quotas, weights: FloatArray, limit: float, budget: float) -> None:
    """Say so if even the lightest set is heavier than the budget."""
    lightest = quotas.lightest(weights, quotas.must)[0]
    if lightest > limit:
        hint = "" if quotas.at_most else f"; at_most=True lets sets be below {quotas.k}"
        raise ValueError(
            "budget and the other constraints clash: the lightest set that they allow weighs "
            f"{lightest:g}, got a budget of {budget:g}{hint}"
        )


def _named_arms(given: Any, n_arms: int, name: str) -> IndexArray:
    try:
        return as_arms(given, n_arms)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
