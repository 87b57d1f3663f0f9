"""What is refused of constraints: each message says which of them clash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import IndexArray, as_arms, as_count
from superarm.sets._quotas import Quotas


def named_arms(given: Any, n_arms: int, name: str) -> IndexArray:
    try:
        return as_arms(given, n_arms)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def grouped(
    groups: Sequence[Any], n_arms: int
) -> tuple[IndexArray, IndexArray, IndexArray, list[str]]:
    """The group of each arm, and the quotas of each group; the last group is that of arms in none."""
    group = np.full(n_arms, len(groups), np.intp)
    least, most = np.zeros(len(groups) + 1, np.intp), np.full(len(groups) + 1, n_arms, np.intp)
    names = [
        f"the group {one.name!r}" if one.name else f"group {number}"
        for number, one in enumerate(groups)
    ]
    for number, one in enumerate(groups):
        arms = named_arms(one.arms, n_arms, names[number])
        twice = arms[group[arms] != len(groups)]
        if len(twice):
            raise ValueError(
                f"groups must be disjoint, got arm {twice[0]} in {names[group[twice[0]]]} and in {names[number]}"
            )
        group[arms] = number
        least[number] = as_count(one.least, f"least of {names[number]}")
        if one.most is not None:
            most[number] = as_count(one.most, f"most of {names[number]}")
        if least[number] > most[number]:
            raise ValueError(
                f"{names[number]} must have least <= most, got {least[number]} and {most[number]}"
            )
    return group, least, most, names


def refuse_clashes(
    quotas: Quotas, here: NDArray[np.bool_], outside: NDArray[np.bool_], names: list[str]
) -> None:
    """Say which constraints clash, if no set fulfils all but the budget."""
    must, k = np.flatnonzero(quotas.must), quotas.k
    if outside[must].any():
        raise ValueError(f"must and must_not clash: arms {must[outside[must]]} are in both")
    if not here[must].all():
        raise ValueError(
            f"must and available clash: arms {must[~here[must]]} must be in, but are not available"
        )
    if len(must) > k:
        raise ValueError(f"must and k clash: {len(must)} arms must be in, but a set has {k}")
    inside, there = quotas.counts(must), quotas.counts(quotas.possible)
    for number, name in enumerate(names):
        if inside[number] > quotas.most[number]:
            mine = must[quotas.group[must] == number]
            raise ValueError(
                f"must and {name} clash: it may have {quotas.most[number]} arm(s) at most, got must arms {mine} in it"
            )
        if there[number] < quotas.least[number]:
            raise ValueError(
                f"available, must_not and {name} clash: it must have {quotas.least[number]} arm(s) at least, "
                f"but {there[number]} of its arms can be in"
            )
    needed = int(np.maximum(quotas.least, inside).sum())
    if needed > k:
        raise ValueError(
            f"must, the groups' least and k clash: together they need {needed} arms at least, but a set has {k}"
        )
    most = int(np.minimum(quotas.most, there).sum())
    if most < k and not quotas.at_most:
        raise ValueError(
            f"k clashes with available, must_not and the groups' most: a set must have {k} arms, "
            f"but only {most} can be in one together; at_most=True allows fewer"
        )
