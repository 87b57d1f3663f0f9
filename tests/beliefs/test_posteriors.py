"""Posteriors of single arms."""

import numpy as np
from scipy import stats

import superarm as sa
from superarm.beliefs.posteriors import BetaMixturePosterior, BetaPosterior


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


def test_a_mixture_is_the_sum_of_its_parts():
    """The slow twin adds the distribution functions of scipy at the ends of the intervals."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(3), 20)
    a, b = 10 ** rng.uniform(-1, 2, (2, 20, 3))
    law = BetaMixturePosterior(weights, a, b)
    np.testing.assert_allclose(law.mean(), (weights * stats.beta(a, b).mean()).sum(axis=1))
    low, high = law.interval(0.9)
    below = (weights * stats.beta(a, b).cdf(low[:, None])).sum(axis=1)
    above = (weights * stats.beta(a, b).sf(high[:, None])).sum(axis=1)
    np.testing.assert_allclose(below, 0.05, rtol=1e-6)
    np.testing.assert_allclose(above, 0.05, rtol=1e-6)
    # Parts of weight 0 do not count.
    alone = BetaMixturePosterior(np.array([[1.0, 0.0]]), a[:1, :2], b[:1, :2])
    np.testing.assert_allclose(alone.interval(), BetaPosterior(a[:1, 0], b[:1, 0]).interval())
