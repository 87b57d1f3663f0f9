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
        todo, new, found = np.ones(n_chains, bool), here.copy(), height.copy()
        while todo.any():
            there = np.cos(angle)[:, None] * here + np.sin(angle)[:, None] * other
            value = log_likelihood(there)
            accepted = todo & (value > least)
            new[accepted], found[accepted] = there[accepted], value[accepted]
            todo &= ~accepted
            high, low = np.where(angle > 0, angle, high), np.where(angle <= 0, angle, low)
            angle = np.where(todo, low + rng.random(n_chains) * (high - low), angle)
        here, height = new, found
        if step >= n_first and step % 3 == 0:
            draws.append(here)
    return np.concatenate(draws)
