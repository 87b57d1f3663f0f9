"""The variances of linear models, learned from the data by marginal likelihood.

MacKay ("Bayesian interpolation", 1992): at the maximum of the marginal likelihood, a variance is
the sum of squares of its parameters divided by their effective number, which is how many of them
the data determine. Repeating this needs a few steps, where EM needs many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray, as_positive

# Before any outcome: coins of mean 1/2, and arms with the variance of uniform means.
_COIN_VAR, _UNIFORM_VAR = 0.25, 1 / 12
# The variance of the intercept about 1/2. It is not learned, because there is only one.
INTERCEPT_VAR = 0.25
# Variances that are expected beforehand, as multiples of the noise variance, each worth one
# parameter: of the arms' own deviations, and of what the columns of a block explain together. The
# second is smaller, so that columns have to prove useful.
_OWN, _COLUMNS = 0.04, 0.01
# A column is centred, and has a variance of at most 1/4: see `Scaling`.
_COLUMN_VAR = 0.25
# The noise variance that is expected beforehand, worth two outcomes, and the least one.
_NOISE, _NOISE_WEIGHT, _LEAST_NOISE = 0.02, 2.0, 1e-6
# After this many outcomes the variances are learned first, and again when they are a quarter more.
_FIRST_FIT, _GROWTH = 8, 1.25


# The blocks of coefficients that have a variance each, in the order of their numbers: what a
# context does to all arms says little about what it does to some of them.
BLOCKS = ("weights", "context", "products")


@dataclass(frozen=True)
class Variances:
    """What a linear model supposes: coefficients, own deviations of arms, and noise.

    Attributes
    ----------
    weights
        The variance of each coefficient of a feature; with "disjoint", of a number of the context,
        about the mean of all arms.
    own
        The variance of the deviations of arms from what their columns say.
    noise
        The variance of an outcome about its mean.
    context, products
        The variances of the coefficients of the context that all arms have in common, and of those
        of products of features and context.
    """

    weights: float
    own: float = _UNIFORM_VAR
    noise: float = _COIN_VAR
    context: float = _COLUMNS
    products: float = _COLUMNS

    @classmethod
    def at_first(cls, blocks: IndexArray) -> Variances:
        """Before the first outcomes, for columns of these blocks besides the intercept."""
        return cls(**_per_column(_COIN_VAR, np.bincount(blocks, minlength=len(BLOCKS))))

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Variances:
        """The ``variances`` of the state of a model. Older files have fewer of them."""
        return cls(**{name: as_positive(one, name) for name, one in state["variances"].items()})

    def of(self, blocks: IndexArray) -> FloatArray:
        """The variance of each coefficient."""
        return np.array([getattr(self, name) for name in BLOCKS])[blocks]

    def learned(self, found: Squares) -> Variances:
        """One step towards the variances that make the data most likely."""
        n_weights = float(found.n_weights.sum())
        n_free = max(0.0, found.n_outcomes - n_weights - found.n_own - found.n_means)
        noise = (found.residuals + _NOISE_WEIGHT * _NOISE) / (n_free + _NOISE_WEIGHT)
        noise = max(noise, _LEAST_NOISE)
        own = (found.own + _OWN * noise) / (max(0.0, found.n_own) + 1)
        expected = np.array(list(_per_column(noise, found.n_columns).values()))
        new = (found.weights + expected) / (np.maximum(0.0, found.n_weights) + 1)
        return Variances(own=own, noise=noise, **dict(zip(BLOCKS, new.tolist(), strict=True)))


@dataclass(frozen=True, eq=False)
class Squares:
    """What one step needs: sums of squares at the posterior means, and effective numbers.

    Attributes
    ----------
    weights, n_weights, n_columns
        Shape (3,), one number per block: the sums of squares of the coefficients, how many of them
        the data determine, and how many columns there are.
    own, n_own
        The sum of squares of the own deviations, and how many of them the data determine.
    n_means
        How many intercepts the data determine.
    residuals, n_outcomes
        The sum of squares of the outcomes about their posterior means, and their number.
    """

    weights: FloatArray
    n_weights: FloatArray
    n_columns: IndexArray
    own: float
    n_own: float
    n_means: float
    residuals: float
    n_outcomes: float


def _per_column(noise: float, n_columns: IndexArray) -> dict[str, float]:
    """The variance that is expected of each coefficient, by block."""
    of_all = _COLUMNS * noise / _COLUMN_VAR
    return {name: of_all / max(1, int(n)) for name, n in zip(BLOCKS, n_columns, strict=True)}


def is_due(n_outcomes: float, n_fitted: float, n_kept: float) -> bool:
    """Whether there are enough outcomes to learn the variances again.

    There were ``n_outcomes`` in all, and ``n_fitted`` of them at the last time. ``n_kept`` is what
    they are worth now, which stops growing if old ones are forgotten.
    """
    more = (_GROWTH - 1) * min(n_fitted, n_kept)
    return n_outcomes >= max(_FIRST_FIT, n_fitted + more)
