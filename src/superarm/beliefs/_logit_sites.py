"""Coins whose log-odds are Gaussian: the moments of the posterior, by adaptive quadrature.

The posterior of eta ~ N(location, var) after n coins of mean expit(eta) with s heads has one mode,
and is integrated by Gauss-Hermite quadrature about that mode (Naylor, Smith 1982).
"""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.core.special import expit, log_expit

# This many nodes give the moments to three digits, for any counts.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
# Newton's steps to the mode: how many, how long, and when it is close enough for the nodes.
_N_STEPS, _LONGEST, _CLOSE = 12, 2.0, 1e-3
_N_HALVINGS = 100  # at most: an interval of any two floats up to 1e15 is then below 1e-15


def tilted(
    location: FloatArray, var: FloatArray, n: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of eta after the coins; all arrays have shape (arms,)."""
    mode, curvature = _mode(location, var, n, s)
    std = 1 / np.sqrt(curvature)
    eta = mode[:, None] + std[:, None] * _NODES
    heads, tails = s[:, None], (n - s)[:, None]
    log_p = heads * log_expit(eta) + tails * log_expit(-eta)
    log_p -= (eta - location[:, None]) ** 2 / (2 * var[:, None])
    log_p += _NODES**2 / 2  # the nodes are those of the normal density, which is divided out
    weight = _WEIGHTS * np.exp(log_p - log_p.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    mean = (weight * eta).sum(1)
    return mean, (weight * (eta - mean[:, None]) ** 2).sum(1)


def sites(
    location: FloatArray, var: FloatArray, n: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The Gaussian in place of the coins that leads to the same moments: weight, weight · target.

    Coins only narrow a Gaussian, so weights are positive up to rounding.
    """
    mean, after = tilted(location, var, n, s)
    weight = np.maximum(1 / after - 1 / var, 0.0)
    return weight, mean * (1 / var + weight) - location / var


def mean_of_logit_normal(location: FloatArray, var: FloatArray) -> FloatArray:
    """The means of expit(eta) for eta ~ N(location, var)."""
    eta = location[:, None] + np.sqrt(var)[:, None] * _NODES
    return expit(eta) @ (_WEIGHTS / _WEIGHTS.sum())


def _mode(
    location: FloatArray, var: FloatArray, n: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The mode of eta after the coins, and minus the second derivative of the log density there."""
    # Begin between the prior and the log-odds of the coins, as if these were Gaussian.
    share = (s + 0.5) / (n + 1)
    weight = n * share * (1 - share)
    eta = (location / var + weight * np.log(share / (1 - share))) / (1 / var + weight)
    for _ in range(_N_STEPS):
        p = expit(eta)
        step = (s - n * p - (eta - location) / var) / (n * p * (1 - p) + 1 / var)
        eta = eta + np.clip(step, -_LONGEST, _LONGEST)
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    else:  # it is too far away for steps of that length, where coins surprise a sure belief
        far = np.flatnonzero(np.abs(step) >= _CLOSE)
        eta[far] = _far_mode(location[far], var[far], n[far], s[far])
    p = expit(eta)
    return eta, n * p * (1 - p) + 1 / var


def _far_mode(location: FloatArray, var: FloatArray, n: FloatArray, s: FloatArray) -> FloatArray:
    """The mode by Newton's steps of any length, or by halving where these leave its bounds."""
    # The slope s - n p - (eta - location) / var falls, and its sign is known at both ends.
    low, high = location - (n - s) * var, location + s * var
    eta = np.clip(0.0, low, high)
    for _ in range(_N_HALVINGS):
        p = expit(eta)
        slope = s - n * p - (eta - location) / var
        low, high = np.where(slope > 0, eta, low), np.where(slope > 0, high, eta)
        step = slope / (n * p * (1 - p) + 1 / var)
        moves, inside = np.abs(step) >= _CLOSE, (low < eta + step) & (eta + step < high)
        if not moves.any():
            break
        # A mode that is found stays: by rounding, its next step might seem to leave the bounds.
        eta = np.where(moves, np.where(inside, eta + step, (low + high) / 2), eta)
    return eta
