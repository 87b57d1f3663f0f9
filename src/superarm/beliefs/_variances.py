"""The variances of linear models, learned from the data by marginal likelihood.

MacKay ("Bayesian interpolation", 1992): at the maximum of the marginal likelihood, a variance is
the sum of squares of its parameters divided by their effective number, which is how many of them
the data determine. Repeating this needs a few steps, where EM needs many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Before any outcome: coins of mean 1/2, and arms with the variance of uniform means.
_COIN_VAR, _UNIFORM_VAR = 0.25, 1 / 12
# The variance of the intercept about 1/2. It is not learned, because there is only one.
INTERCEPT_VAR = 0.25
# Variances that are expected beforehand, as multiples of the noise variance, each worth one
# parameter: of the arms' own deviations, and of what all columns explain together. The second is
# smaller, so that columns have to prove useful.
_OWN, _COLUMNS = 0.04, 0.01
# A column is centred, and has a variance of at most 1/4: see `Scaling`.
_COLUMN_VAR = 0.25
# The noise variance that is expected beforehand, worth two outcomes, and the least one.
_NOISE, _NOISE_WEIGHT, _LEAST_NOISE = 0.02, 2.0, 1e-6
# The variances are learned first after so many outcomes, and again when they are a quarter more.
_FIRST_FIT, _GROWTH = 8, 1.25


@dataclass(frozen=True)
class Variances:
    """What a linear model supposes: coefficients, own deviations of arms, and noise.

    Attributes
    ----------
    weights
        The variance of each coefficient.
    own
        The variance of the deviations of arms from what their columns say.
    noise
        The variance of an outcome about its mean.
    """

    weights: float
    own: float = _UNIFORM_VAR
    noise: float = _COIN_VAR

    @classmethod
    def at_first(cls, n_columns: int) -> Variances:
        """Before the first outcomes, for rows of so many columns besides the intercept."""
        return cls(_COLUMNS * _COIN_VAR / (_COLUMN_VAR * max(1, n_columns)))

    def learned(self, found: Squares, n_columns: int) -> Variances:
        """One step towards the variances that make the data most likely."""
        n_free = max(0.0, found.n_outcomes - found.n_weights - found.n_own - found.n_means)
        noise = (found.residuals + _NOISE_WEIGHT * _NOISE) / (n_free + _NOISE_WEIGHT)
        noise = max(noise, _LEAST_NOISE)
        per_column = _COLUMNS * noise / (_COLUMN_VAR * max(1, n_columns))
        own = (found.own + _OWN * noise) / (max(0.0, found.n_own) + 1)
        weights = (found.weights + per_column) / (max(0.0, found.n_weights) + 1)
        return replace(self, weights=weights, own=own, noise=noise)


@dataclass(frozen=True)
class Squares:
    """What one step needs: sums of squares at the posterior means, and effective numbers.

    Attributes
    ----------
    weights, own
        Sums of squares of the coefficients, and of the own deviations.
    n_weights, n_own, n_means
        How many coefficients, deviations and intercepts the data determine.
    residuals, n_outcomes
        The sum of squares of the outcomes about their posterior means, and their number.
    """

    weights: float
    n_weights: float
    own: float
    n_own: float
    n_means: float
    residuals: float
    n_outcomes: float


def is_due(n_outcomes: float, n_fitted: float, n_kept: float) -> bool:
    """Whether there are enough outcomes to learn the variances again.

    There were ``n_outcomes`` in all, and ``n_fitted`` of them at the last time. ``n_kept`` is what
    they are worth now, which stops growing if old ones are forgotten.
    """
    more = (_GROWTH - 1) * min(n_fitted, n_kept)
    return n_outcomes >= max(_FIRST_FIT, n_fitted + more)
