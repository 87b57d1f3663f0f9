"""What the beliefs with Beta posteriors share: checks of priors and counts.

Beliefs with the attributes ``a`` and ``b`` take over `mean`, `posterior` and `sample` as methods.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import ArrayLike

from superarm.beliefs._scores import beta_draw
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite, refuse_masked


class HasBetas(Protocol):
    """A belief with one Beta distribution per arm."""

    a: FloatArray
    b: FloatArray


class SharesScores(HasBetas, Protocol):
    """A belief with Beta distributions whose arms may share a part of the draw."""

    shared: float


def mean(self: HasBetas) -> FloatArray:
    """The posterior means, shape (n_arms,)."""
    return self.a / (self.a + self.b)


def posterior(self: HasBetas, arms: IndexArray) -> BetaPosterior:
    """The posteriors of some arms at this moment. Later updates do not change the answer."""
    return BetaPosterior(self.a[arms], self.b[arms])


def sample(self: SharesScores, *, rng: np.random.Generator) -> FloatArray:
    """One draw from every arm's Beta distribution, in the order of the arms."""
    return beta_draw(self.a, self.b, self.shared, rng=rng)


def as_prior(prior: tuple[ArrayLike, ArrayLike], n_arms: int) -> tuple[FloatArray, FloatArray]:
    """The a and b of every arm, shape (n_arms,) each, from numbers or arrays above 0; copies."""
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise TypeError(f"prior must be a pair (a, b), got {prior!r}")
    for name, value in zip("ab", prior, strict=True):
        if isinstance(value, MaskedArray):
            refuse_masked(value, f"prior {name}")
        given = np.asarray(value)
        if given.shape not in ((), (n_arms,)) or given.dtype.kind not in "iuf":
            raise ValueError(
                f"prior {name} must be a number or have shape ({n_arms},), got {value!r}"
            )
        if not (given.min() > 0 and np.isfinite(given.max())):
            raise ValueError(f"prior {name} must be finite and above 0, got {given.min()}")
    return np.full(n_arms, prior[0], np.float64), np.full(n_arms, prior[1], np.float64)


def as_counts(
    successes: ArrayLike, trials: ArrayLike, strength: Any
) -> tuple[FloatArray, FloatArray]:
    """Successes and failures, shape (n_arms,) each, both multiplied by ``strength``."""
    won = as_finite(successes, "successes", ndim=1, least=0.0)
    tried = as_finite(trials, "trials", ndim=1, least=0.0)
    if won.shape != tried.shape:
        raise ValueError(
            "successes and trials must have one number per arm, "
            f"got {len(won)} and {len(tried)} numbers"
        )
    if (won > tried).any():
        arm = int(np.flatnonzero(won > tried)[0])
        raise ValueError(
            f"trials must be at least the successes, got {won[arm]:g} successes in "
            f"{tried[arm]:g} trials of arm {arm}; trials are successes and failures together"
        )
    factor = float(as_finite([strength], "strength", ndim=1, least=0.0)[0])
    return factor * won, factor * (tried - won)


def grown(
    n: Any,
    prior: tuple[ArrayLike, ArrayLike] | None,
    a: FloatArray,
    b: FloatArray,
    *counts: FloatArray,
) -> tuple[FloatArray, ...]:
    """The priors a and b and the counts, with n more arms at the end; their counts are 0."""
    n = as_count(n, "n", least=1)
    new_a, new_b = as_prior((1.0, 1.0) if prior is None else prior, n)
    longer = (np.append(each, np.zeros(n)) for each in counts)
    return (np.append(a, new_a), np.append(b, new_b), *longer)
