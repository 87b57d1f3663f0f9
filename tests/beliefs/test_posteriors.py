"""Posteriors of single arms."""

import numpy as np
from scipy import stats

import superarm as sa


def test_posteriors_are_those_of_scipy():
    arms = np.array([0, 2, 3])
    belief = sa.BetaBelief(4, prior=([0.5, 1, 2, 300], [3, 1, 2, 40]))
    law = stats.beta(belief.a[arms], belief.b[arms])
    posterior = belief.posterior(arms)
    np.testing.assert_allclose(posterior.mean(), law.mean(), rtol=1e-12)
    np.testing.assert_allclose(posterior.interval(), law.interval(0.95), rtol=1e-9)
    gaussian = sa.GaussianBelief(4)
    for _ in range(9):
        gaussian.update([0, 2], [1.0, 0.25], rng=np.random.default_rng(0))
    location, std = gaussian.location()[arms], np.sqrt(gaussian.var()[arms])
    law = stats.truncnorm(-location / std, (1 - location) / std, location, std)
    posterior = gaussian.posterior(arms)
    np.testing.assert_allclose(posterior.mean(), law.mean(), rtol=1e-9)
    np.testing.assert_allclose(posterior.interval(0.8), law.interval(0.8), rtol=1e-9)
