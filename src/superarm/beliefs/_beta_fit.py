"""The Beta distribution that the means of many arms come from, and the noise of their outcomes."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betaln, expit, log_expit, logit

# The search is over the logit of the prior's mean and the log of its strength a + b. Beyond these
# limits a posterior is the prior or the data alone, for any number of outcomes seen here.
_LARGEST_LOGIT = 12.0
_LOG_STRENGTH = (-3.0, 9.0)
# A weak prior of the smaller of a and b: log-normal about 1, and a factor of e^2 is one sigma. With
# 1, low rates differ from each other by about their mean, and so do rates of failure close to 0.
_SIGMA = 2.0
# Steps of the search, from first to last: 0.04 is far below the uncertainty of the estimate.
_FIRST_STEP, _LAST_STEP, _MOST_MOVES = 0.6, 0.04, 60
# With more distinct counts, this many arms stand for all: enough for two digits of a and b.
_MOST_ARMS = 10_000
# The share of arms from the wide prior is guessed as 1 in 10, with the weight of 10 arms.
_WIDE_ARMS, _GUESSED_ARMS = 1.0, 10.0
_N_SHARES = 20  # steps of its search, each of which closes most of the distance
# Noise counts as that of coins until outcomes say otherwise: weight of that guess, in variances.
_COINS = 2.0
# Outcomes with less noise than this share of a coin's would make counts overflow.
_LEAST_DISPERSION = 0.002
# The equation of the dispersion has it on both sides; steps from 1 that are enough to solve it.
_N_STEPS = 5
# The neighbours of a point, in steps.
_AROUND = np.array([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y], np.float64)

Beta = tuple[float, float]


def fit_beta(
    successes: FloatArray, failures: FloatArray, n_arms: FloatArray, start: Beta
) -> tuple[float, float]:
    """The (a, b) that make the counts most likely, if every arm's mean is Beta(a, b).

    The marginal likelihood of an arm with s successes and f failures is B(a + s, b + f) / B(a, b).
    A weak prior on the smaller of a and b, and a flat one on the mean, keep the estimate finite.

    Parameters
    ----------
    successes, failures, n_arms
        Shape (n,): distinct counts, ascending, and how many arms have them.
        Counts need not be whole. With very many, evenly spaced ones stand for their neighbours.
    start
        Where the search begins: the last estimate saves time.
    """
    if len(n_arms) > _MOST_ARMS:
        kept, n_arms = _thinned(n_arms)
        successes, failures = successes[kept], failures[kept]
    here = np.array([np.log(start[0] / start[1]), np.log(start[0] + start[1])])
    best, step = _log_posterior(here[None], successes, failures, n_arms)[0], _FIRST_STEP
    for _ in range(_MOST_MOVES):
        around = _inside(here + step * _AROUND)
        values = _log_posterior(around, successes, failures, n_arms)
        if values.max() > best:
            best, here = values.max(), around[values.argmax()]
        elif (step := step / 2) < _LAST_STEP:
            break
    strength = np.exp(here[1])
    return float(strength * expit(here[0])), float(strength * expit(-here[0]))


def fit_dispersion(
    counts: FloatArray, sums: FloatArray, n_arms: FloatArray, squares: float
) -> float:
    """The variance of outcomes within arms, relative to coins of the same means.

    Parameters
    ----------
    counts, sums, n_arms
        Shape (n,): distinct counts and sums of outcomes, and how many arms have them.
    squares
        The sum of the squares of all outcomes.
    """
    # With the variance d · mu (1 - mu), sum x^2 - s^2 / n is d (n - 1) mu (1 - mu) on average, and
    # s - s^2 / n is (n - d) mu (1 - mu). An arm with one outcome has weight 0.
    varies = squares - float((sums**2 / counts) @ n_arms)
    coins = (counts - 1) * (sums - sums**2 / counts) * n_arms
    found = 1.0
    for _ in range(_N_STEPS):
        expected = float((coins[counts > 1] / (counts - found)[counts > 1]).sum())
        # Rounded, so that coins have exactly 1.
        ratio = round((_COINS + varies) / (_COINS + expected), 9)
        found = min(1.0, max(_LEAST_DISPERSION, ratio))
    return found


def fit_wide_share(
    successes: FloatArray, failures: FloatArray, n_arms: FloatArray, prior: Beta
) -> float:
    """The share of arms whose means are uniform on [0, 1] and not from the ``prior``.

    By the EM algorithm: the share is the mean probability of arms to be such arms.
    """
    share, weight = _WIDE_ARMS / _GUESSED_ARMS, _GUESSED_ARMS + float(n_arms.sum())
    likelihoods = _likelihoods(successes, failures, prior)
    for _ in range(_N_SHARES):
        n_wide = float(_weight(share, *likelihoods) @ n_arms)
        share = (_WIDE_ARMS + n_wide) / weight
    return share


def wide_weight(
    successes: FloatArray, failures: FloatArray, prior: Beta, share: float
) -> FloatArray:
    """The probabilities that arms with these counts have means that are uniform on [0, 1]."""
    if share == 0:
        return np.zeros(len(successes))
    return _weight(share, *_likelihoods(successes, failures, prior))


def _likelihoods(
    successes: FloatArray, failures: FloatArray, prior: Beta
) -> tuple[FloatArray, FloatArray]:
    """The logarithms of the marginal likelihoods of counts: uniform means, and the prior's."""
    wide = betaln(1 + successes, 1 + failures)
    return wide, betaln(prior[0] + successes, prior[1] + failures) - betaln(*prior)


def _weight(share: float, wide: FloatArray, learned: FloatArray) -> FloatArray:
    """The probabilities of uniform means, from the ratio of the marginal likelihoods."""
    return np.asarray(expit(logit(share) + wide - learned), np.float64)


def _thinned(n_arms: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Which counts stay if arms are taken at even distances, and how many arms each stands for."""
    places = np.cumsum(n_arms)
    even = (np.arange(_MOST_ARMS) + 0.5) * places[-1] / _MOST_ARMS
    kept, times = np.unique(places.searchsorted(even, side="right"), return_counts=True)
    return kept, times * places[-1] / _MOST_ARMS


def _inside(points: FloatArray) -> FloatArray:
    low, high = _LOG_STRENGTH
    return np.clip(points, (-_LARGEST_LOGIT, low), (_LARGEST_LOGIT, high))


def _log_posterior(
    points: FloatArray, successes: FloatArray, failures: FloatArray, n_arms: FloatArray
) -> FloatArray:
    """The log marginal likelihood plus the log prior at some points, up to a constant."""
    middle, log_strength = points[:, 0], points[:, 1]
    a, b = np.exp(log_strength) * expit([middle, -middle])
    gain = betaln(a[:, None] + successes, b[:, None] + failures) - betaln(a, b)[:, None]
    # Beta(1, 1) for the mean, as a density of its logit.
    weak = log_expit(middle) + log_expit(-middle) - (np.log(np.minimum(a, b)) / _SIGMA) ** 2 / 2
    return np.asarray(gain @ n_arms + weak, np.float64)
