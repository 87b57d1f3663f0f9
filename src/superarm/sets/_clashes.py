"""Groups of arms, and the checks of constraints: each message says which constraints clash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count
from superarm.core.showing import one_line
from superarm.sets._overlapping import Overlapping
from superarm.sets._quotas import Quotas
from superarm.sets.clash import ClashError, unbraced

# Weights of this many budgets are as good as any larger ones.
_ENORMOUS = 1e6


@dataclass(frozen=True, eq=False)
class Group:
    """Arms of which a set has at least ``least`` and at most ``most``; None for no upper limit.

    Errors call the group by its ``name``.
    """

    arms: ArrayLike
    least: int = 0
    most: int | None = None
    name: str = ""

    __repr__ = one_line


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
) -> tuple[Quotas | Overlapping, list[str]]:
    """The quotas of some groups, and what errors call the groups.

    If no arm is in two groups, the arms in no group are the last group.
    """
    n_arms, n_groups = len(possible), len(groups)
    group, n_times = np.full(n_arms, n_groups, np.intp), np.zeros(n_arms, np.intp)
    least, most = np.zeros(n_groups + 1, np.intp), np.full(n_groups + 1, n_arms, np.intp)
    found = []
    names = [
        f"the group {one.name!r}" if one.name else f"group {number}"
        for number, one in enumerate(groups)
    ]
    for number, (one, name) in enumerate(zip(groups, names, strict=True)):
        found.append(_named_arms(one.arms, n_arms, name))
        group[found[-1]] = number
        n_times[found[-1]] += 1
        least[number] = as_count(one.least, f"least of {name}")
        if one.most is not None:
            most[number] = as_count(one.most, f"most of {name}")
        if least[number] > most[number]:
            raise ValueError(
                f"{name} must have least <= most, got {least[number]} and {most[number]}"
            )
    if n_times.max(initial=0) <= 1:
        return Quotas(possible, must, group, least, most, k, at_most), names
    member = np.zeros((n_groups, n_arms), bool)
    for number, arms in enumerate(found):
        member[number, arms] = True
    return Overlapping(possible, must, member, least[:-1], most[:-1], k, at_most), names


def refuse_clashes(
    quotas: Quotas | Overlapping,
    here: NDArray[np.bool_],
    outside: NDArray[np.bool_],
    names: list[str],
) -> None:
    """Say which constraints clash, if no set fulfils all of them; the budget is not checked."""
    must, k = np.flatnonzero(quotas.must), quotas.k
    if outside[must].any():
        raise ClashError.of("must and must_not clash: arms {} are in both", must[outside[must]])
    if not here[must].all():
        text = "must and available clash: arms {} must be in, but are not available"
        raise ClashError.of(text, must[~here[must]])
    if len(must) > k:
        raise ValueError(f"must and k clash: {len(must)} arms must be in, but a set has {k}")
    # How many arms of each group must be in, and can be in.
    inside, there = quotas.counts(must), quotas.counts(quotas.possible)
    for number, name in enumerate(names):
        if inside[number] > quotas.most[number]:
            groups, places = quotas.members(must)
            mine = must[places[groups == number]]
            most = f"{quotas.most[number]} arm(s)"
            text = f"must and {unbraced(name)} clash: it may have at most {most}, got arms "
            raise ClashError.of(text + "{} in must", mine)
        if there[number] < quotas.least[number]:
            raise ValueError(
                f"available, must_not and {name} clash: it must have at least "
                f"{quotas.least[number]} arm(s), but {there[number]} of its arms can be in"
            )
    if isinstance(quotas, Overlapping):
        _refuse_together(quotas, names)
        return
    # Required arms count towards the lower quota of their group.
    needed = int(np.maximum(quotas.least, inside).sum())
    if needed > k:
        raise ValueError(
            f"must, the groups' least and k clash: together they need {needed} arms or more, "
            f"but a set has {k}"
        )
    # The largest set that the groups and the availability allow.
    largest = int(np.minimum(quotas.most, there).sum())
    if largest < k and not quotas.at_most:
        raise _too_few(k, "available, must_not and the groups' most", largest)


def _refuse_together(quotas: Overlapping, names: list[str]) -> None:
    """Say which groups clash, if no set fulfils the quotas of all of them."""
    if quotas.has_sets():
        return
    clash = []
    # A group belongs to the clash if there is a set without its quota.
    for number, name in enumerate(names):
        without = quotas.without(number)
        if without.has_sets():
            clash.append(name)
        else:
            quotas = without
    if not clash:  # there is no set without any quota either
        raise _too_few(quotas.k, "available and must_not", int(quotas.possible.sum()))
    size = f"at most {quotas.k}" if quotas.at_most else f"{quotas.k}"
    raise ValueError(
        f"the quotas of {', '.join(clash)} clash with one another, or with must, "
        f"available or k: no set of {size} arms fulfils all of them"
    )


def _too_few(k: int, others: str, largest: int) -> ValueError:
    return ValueError(
        f"k clashes with {others}: a set must have {k} arms, "
        f"but only {largest} can be in one together; at_most=True allows fewer"
    )


def refuse_heavy(
    quotas: Quotas | Overlapping, weights: FloatArray, limit: float, budget: float
) -> None:
    """Say so if even the lightest set is heavier than the budget."""
    # The solver cannot tell small weights apart beside enormous ones.
    capped = np.minimum(weights, _ENORMOUS * limit) if limit else weights
    found = quotas.lightest(capped, quotas.must)
    lightest = found[0] if isinstance(found, tuple) else found
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
