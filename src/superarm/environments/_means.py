"""The check that all environments make of their true means."""

from __future__ import annotations

from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_finite, as_unit


def as_means(mu: ArrayLike) -> FloatArray:
    """The true means, in [0, 1], as a read-only copy of shape (n_arms,)."""
    given = as_finite(mu, "mu", ndim=1)
    means = as_unit(given, "mu", given.shape)
    # Regret compares with the best set at these means, which is computed once.
    means.flags.writeable = False
    return means
