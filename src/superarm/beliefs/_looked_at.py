"""The posterior of arms that are looked at with known probabilities, as a Beta distribution."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.core.special import expit

# A handful of steps is enough. The limit only keeps rounding from looping for ever.
_MOST_NEWTON_STEPS = 200
# The peak only places the nodes of the quadrature: six digits of the odds are plenty.
_PEAK_PRECISION = 1e-6
# Nodes of the quadrature, and how far they reach: 16 standard deviations, and beyond these until
# the exponential tails have fallen by e^-40.
_NODES = 128
_STEPS = np.linspace(0, 1, _NODES)[:, None]
_REACH_STDS = 16
_REACH_LOGS = 40
# Stands for 0 where a logarithm needs a number above 0.
_TINY = 1e-300


def matched(
    won: FloatArray, lost: FloatArray, failures: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The a and b of the Beta distributions with the mean and variance of the posteriors.

    The posterior of an arm is proportional to
    theta^(won - 1) (1 - theta)^(lost - 1) prod_j (1 - w_j theta)^failures_j. Shapes: ``won`` and
    ``lost`` (n,), ``failures`` (n, n_weights), ``weights`` (n_weights,).
    """
    peak, std = _peak(won, lost, failures * weights, 1 - weights)
    # The density of the log odds x falls like e^(won x) to the left and like e^(-lost x) to the
    # right, and is about normal in between. Equal steps of t, with x = peak + std sinh(t),
    # resolve both tails and the middle.
    left, right = (np.arcsinh(_REACH_STDS + _REACH_LOGS / (rate * std)) for rate in (won, lost))
    t = -left + (left + right) * _STEPS  # (nodes, arms)
    x = peak + std * np.sinh(t)
    theta = expit(x)
    rest = np.maximum(expit(-x), _TINY)  # 1 - theta, with all its digits
    missed = np.log(1 - weights + weights * rest[..., None])  # log(1 - w theta)
    odds = np.logaddexp(0, x)  # -log(1 - theta)
    log = won * (x - odds) - lost * odds + (failures * missed).sum(axis=-1)
    mass = np.exp(log - log.max(axis=0)) * np.cosh(t)
    mass /= mass.sum(axis=0)
    mean = (mass * theta).sum(axis=0)
    var = (mass * (theta - mean) ** 2).sum(axis=0)
    # a + b of the Beta distribution with this mean and variance.
    size = mean * (1 - mean) / var - 1
    return mean * size, (1 - mean) * size


def _peak(
    won: FloatArray, lost: FloatArray, weighted: FloatArray, rest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The peak of the density of the log odds, and the standard deviation from its curvature there.

    In the odds u the peak is at won = lost u + sum_j weighted_j u / (1 + rest_j u). The right side
    is concave and increasing, so Newton's steps from below never pass the root.
    """
    odds = won / (lost + weighted.sum(axis=1))
    for _ in range(_MOST_NEWTON_STEPS):
        shares = 1 / (1 + rest * odds[:, None])
        slope = lost + (weighted * shares**2).sum(axis=1)
        step = (won - odds * (lost + (weighted * shares).sum(axis=1))) / slope
        if (step <= _PEAK_PRECISION * odds).all():
            break
        odds += np.maximum(step, 0.0)
    return np.log(odds), np.sqrt((1 + odds) / (odds * slope))
