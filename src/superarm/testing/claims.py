"""How a check says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from superarm.core import KOfM, Oracle, Reward, Sample


def claim(holds: Any, message: str) -> None:
    """An AssertionError with this message, unless the claim holds."""
    # Not an assert statement: python -O removes these, and a check that checks nothing would pass.
    if not holds:
        raise AssertionError(message)


def claim_refused(action: Callable[[], Any], what: str) -> None:
    """The action must raise a ValueError or a TypeError."""
    try:
        action()
    # Other errors pass through: an IndexError deep inside numpy is no answer to a user.
    except (ValueError, TypeError):
        return
    raise AssertionError(f"{what} must be refused with a ValueError or TypeError")


def claim_arms(arms: Any, n_arms: int) -> None:
    """Arms must be an ascending array of distinct whole numbers below ``n_arms``."""
    # intp is what numpy indexes with; another type would be converted in every round.
    is_array = isinstance(arms, np.ndarray) and arms.dtype == np.intp
    claim(is_array, f"arms must be an intp array, got {arms!r}")
    claim((np.diff(arms) > 0).all(), f"arms must be distinct and ascending, got {arms}")
    inside = not len(arms) or (arms[0] >= 0 and arms[-1] < n_arms)
    claim(inside, f"arms must be between 0 and {n_arms - 1}, got {arms}")


def select_as_policy(
    oracle: Oracle, reward: Reward, theta: Sample, k: int, *, rng: np.random.Generator
) -> Any:
    """What an oracle selects in a `Policy`, which passes theta as a `Sample` and k as a `KOfM`."""
    try:
        return oracle.select(reward, theta, KOfM(k, reward.n_arms), rng=rng)
    except (TypeError, ValueError, AttributeError) as error:
        raise AssertionError(
            f"a Policy passes theta as a Sample and k as a KOfM, and {name_of(oracle)} raised "
            f"{error!r}; begin select with theta, feasible = as_selection(reward, theta, k)"
        ) from error


def claim_array(values: Any, shape: tuple[int, ...], what: str) -> None:
    """Values must be an array of this shape."""
    found = values.shape if isinstance(values, np.ndarray) else name_of(values)
    claim(found == shape, f"{what} must be an array of shape {shape}, got {found}")


def claim_unit(values: Any, what: str) -> None:
    """Values must be in [0, 1]."""
    claim(((values >= 0) & (values <= 1)).all(), f"{what} must be in [0, 1], got {values}")


def name_of(thing: object) -> str:
    """What errors call a part: its class."""
    return type(thing).__name__
