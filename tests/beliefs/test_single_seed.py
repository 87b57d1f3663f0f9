"""One uniform number for all arms: each arm has its posterior, all arms have the same level."""

import numpy as np
from scipy import stats

from superarm.beliefs import SingleSeedBelief


def seeded():
    belief = SingleSeedBelief(4, prior=([1.0, 0.5, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0]))
    for outcome in (1.0, 1.0, 0.0, 1.0):
        belief.update([0], [outcome], rng=np.random.default_rng(0))
    return belief


def test_single_seed_samples_have_the_posterior_law_each():
    """Kolmogorov-Smirnov of 4,000 samples against each arm's Beta; error 1e-6 each."""
    belief, rng = seeded(), np.random.default_rng(0)
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm, (a, b) in enumerate([(4, 2), (0.5, 2), (1, 1), (1, 1)]):
        assert stats.kstest(draws[:, arm], stats.beta(a, b).cdf).pvalue > 1e-6


def test_single_seed_draws_one_level_for_all_arms():
    belief, rng, twin = seeded(), np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(50):
        theta, u = belief.sample(rng=rng), twin.random()
        expected = [stats.beta(a, b).ppf(u) for a, b in [(4, 2), (0.5, 2), (1, 1), (1, 1)]]
        np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-12)
        assert theta[2] == theta[3]  # equal posteriors, equal values
        assert rng.bit_generator.state == twin.bit_generator.state
