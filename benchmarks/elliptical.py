"""A reference for approximate posteriors: elliptical slice sampling (Murray, Adams, MacKay 2010).

The prior is Gaussian, and there is nothing to tune.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def simulated(
    log_likelihood: Callable[[Array], Array],
    stds: Array,
    *,
    n_chains: int = 150,
    n_steps: int = 1200,
    n_first: int = 300,
    rng: np.random.Generator,
) -> Array:
    """Draws from the posterior of weights with priors N(0, stds²), from many chains.

    Parameters
    ----------
    log_likelihood
        Takes weights of shape (n_chains, d), and returns shape (n_chains,).
    stds
        Shape (d,).
    n_chains, n_steps, n_first
        How many chains, steps of each, and first steps that are left out. Every third step counts.
    """
    here = 0.3 * stds * rng.standard_normal((n_chains, len(stds)))
    height, draws = log_likelihood(here), []
    for step in range(n_steps):
        other = stds * rng.standard_normal(here.shape)
        least = height + np.log(rng.random(n_chains))
        angle = 2 * np.pi * rng.random(n_chains)
        low, high = angle - 2 * np.pi, angle.copy()
        new, found, left = here.copy(), height.copy(), np.arange(n_chains)
        while len(left):  # only these chains have not found their next place
            turned = angle[left, None]
            there = np.cos(turned) * here[left] + np.sin(turned) * other[left]
            value = log_likelihood(there)
            accepted = value > least[left]
            new[left[accepted]], found[left[accepted]] = there[accepted], value[accepted]
            left, tried = left[~accepted], angle[left[~accepted]]
            high[left] = np.where(tried > 0, tried, high[left])
            low[left] = np.where(tried <= 0, tried, low[left])
            angle[left] = low[left] + rng.random(n_chains)[left] * (high[left] - low[left])
        here, height = new, found
        if step >= n_first and step % 3 == 0:
            draws.append(here)
    return np.concatenate(draws)
