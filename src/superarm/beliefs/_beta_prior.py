"""The prior that Beta posteriors began with, so that outcomes can be told from it."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray

# (a, b): one number for all arms, which takes no memory per arm, or one per arm.
Prior: TypeAlias = tuple[FloatArray, FloatArray]
_ROUNDING = 1e-6  # a prior of 0.1 plus 10^6 coins is no whole number more than 0.1


def kept_prior(prior: tuple[ArrayLike, ArrayLike]) -> Prior:
    """A copy of the prior as arrays, of shape () or (n_arms,)."""
    return np.array(prior[0], np.float64), np.array(prior[1], np.float64)


def longer_prior(
    prior: Prior, new: tuple[ArrayLike, ArrayLike] | None, n_arms: int, n_grown: int
) -> Prior:
    """The prior of n_arms arms, and of new ones up to n_grown; (1, 1) if that is None."""
    added = kept_prior((1.0, 1.0) if new is None else new)
    if all(old.ndim == one.ndim == 0 and old == one for old, one in zip(prior, added, strict=True)):
        return prior
    a, b = (
        np.append(np.broadcast_to(old, n_arms), np.broadcast_to(one, n_grown - n_arms))
        for old, one in zip(prior, added, strict=True)
    )
    return a, b


def since(prior: Prior, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """How many coins were flipped since the prior, and how many showed 1, shape (n_arms,) each.

    None if the differences are no counts of coins.
    """
    ones, zeros = a - prior[0], b - prior[1]
    won, lost = np.round(ones), np.round(zeros)
    off = max(np.abs(ones - won).max(), np.abs(zeros - lost).max())
    if off > _ROUNDING * max(1.0, won.max(), lost.max()) or min(won.min(), lost.min()) < 0:
        return None
    return won + lost, won
